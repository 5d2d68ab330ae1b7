// A picture of every kind of page, light and dark, wide and on a phone.
//
//     node screenshots.mjs [FOLDER [START...]]     only pages whose path starts so
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../lab/packages.mjs';
import { crawl } from './crawl.mjs';
import { noteAt, withSite } from './site.mjs';
import { shapes } from './vault.mjs';
import { openTab, views } from './visitor.mjs';

const [folder = join(root, 'target/screenshots'), ...only] = process.argv.slice(2);
const seeds = ['/', '/?q=coffee', '/?q=кофе', '/?q=水', '/?q=zzqqxx%20wwvvkk', '/?q=Why%20is%20coffee%20sour%3F&ask=1', '/no-such-page'];
mkdirSync(folder, { recursive: true });

await withSite({}, async site => {
  const { browser, context, server, cookie } = site;
  for (const path of shapes) seeds.push(await noteAt(site, path));
  for (const [who, mine] of [['owner', context], ['visitor', await browser.createBrowserContext()]]) {
    const start = who === 'owner' ? seeds : ['/', '/sign-in', '/?q=coffee'];
    const { pages } = await crawl(server, { seeds: start, cookie: who === 'owner' ? cookie : '', perShape: 2 });
    pages.push({ url: `${server.url}/no-such-page` });
    const tab = await openTab(mine, server);
    for (const { url } of pages) {
      const path = decodeURIComponent(url.slice(server.url.length));
      if (only.length > 0 && !only.some(prefix => path.startsWith(prefix))) continue;
      const name = `${who}${path.replace(/[^\p{L}\p{N}]+/gu, '-')}`.slice(0, 80).replace(/-$/, '');
      for (const view of views) {
        await tab.look(view);
        await tab.open(url);
        const file = join(folder, `${name} ${view.name.replace(', ', '-')}.png`);
        // A very long page is cut: a picture of it would be no use.
        const height = await tab.page.evaluate(() => document.documentElement.scrollHeight);
        await tab.page.screenshot({ path: file, clip: { x: 0, y: 0, width: view.width, height: Math.min(height, 4000) }, captureBeyondViewport: true });
        console.log(`pass ${file}`);
      }
    }
    await tab.close();
  }
});
process.exit(0);
