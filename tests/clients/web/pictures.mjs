// The pictures of the README: the search and a note, each as a reader's window shows it.
//
//     node pictures.mjs [FOLDER]
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../lab/packages.mjs';
import { noteAt, withSite } from './site.mjs';
import { openTab } from './visitor.mjs';

const [folder = join(root, 'docs/images')] = process.argv.slice(2);
const mostBytes = 150_000;
mkdirSync(folder, { recursive: true });

await withSite({}, async site => {
  const tab = await openTab(site.context, site.server);
  const pictures = [
    ['search', 'light', '/?q=coffee'],
    ['note', 'dark', await noteAt(site, 'guides/Home backup guide.md')],
  ];
  for (const [name, scheme, address] of pictures) {
    await tab.look({ scheme, width: 1280, height: 800 });
    await tab.open(address);
    await tab.page.evaluate(() => document.activeElement?.blur());
    const path = join(folder, `${name}.webp`);
    await tab.page.screenshot({ path, type: 'webp', quality: 85 });
    const { size } = statSync(path);
    console.log(`${size <= mostBytes ? 'pass' : 'fail'} ${path}, ${size} bytes`);
  }
  await tab.close();
});
process.exit(0);
