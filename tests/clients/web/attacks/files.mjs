// Files of a vault that are not what they say: they are shown as pictures or downloaded, never run.
import assert from 'node:assert/strict';

import { check } from '../../lab/report.mjs';
import { noteAt } from '../site.mjs';
import { openTab } from '../visitor.mjs';

/** The addresses of pictures and files on a page. */
const filesOn = page =>
  page.$$eval('main img, main a', elements => elements.map(element => element.src || element.href).filter(address => !/\.md$/.test(address)));

export async function fileAttacks(site) {
  const { context, server, cookie } = site;
  const tab = await openTab(context, server);
  await check('files: what a note embeds runs nothing', async () => {
    const address = await noteAt(site, 'hostile/Files.md');
    await tab.open(address);
    const files = (await filesOn(tab.page)).filter(file => file.startsWith(server.url) && /svg|png|html|passwd|\.db/.test(file));
    assert.ok(files.length >= 3, `only ${files}`);
    for (const file of files) {
      const answer = await fetch(file, { headers: { cookie }, redirect: 'manual' });
      const body = await answer.text();
      assert.ok(!body.includes('SQLite format'), `${file} is our database`);
      assert.ok(!body.includes('root:x:'), `${file} is a file of the machine`);
      if (answer.status !== 200) continue;
      const kind = answer.headers.get('content-type') ?? '';
      const policy = answer.headers.get('content-security-policy') ?? '';
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', file);
      const harmless = /^image\/(?!svg)/.test(kind) || /attachment/.test(answer.headers.get('content-disposition') ?? '') || /sandbox|script-src 'none'|default-src 'none'/.test(policy);
      assert.ok(harmless, `${file}: ${kind}, ${policy}`);
      await tab.page.goto(file).catch(() => {});
      assert.equal(await tab.page.evaluate(() => globalThis.pwned), undefined, `${file} runs`);
    }
  });
  await tab.close();
}
