// Forms posted from elsewhere: every form that any page has, in a request that only says where it comes
// from, and in a real browser whose owner is signed in.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

import { check } from '../../lab/report.mjs';
import { crawl } from '../crawl.mjs';

const origins = server => [
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['another site with our Origin', { 'sec-fetch-site': 'cross-site', origin: server.url }],
  ['a neighbour', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }],
  ['an address bar', { 'sec-fetch-site': 'none' }],
  ['an old browser elsewhere', { origin: 'https://evil.example' }],
  ['a page without origin', { origin: 'null' }],
  ['nobody', {}],
];

export async function formAttacks({ context, server, cookie }) {
  const { forms } = await crawl(server, { seeds: ['/', '/?q=coffee', '/cards', '/bookmarks', '/prompts', '/account', '/users', '/status', '/trends', '/market', '/market/books', '/market/payouts', '/reports'], cookie, perShape: 3 });
  const posts = forms.filter(form => form.method === 'post');
  await check('forms: there are some', () => assert.ok(posts.length > 2, posts.map(form => form.key).join(', ')));
  for (const form of posts) {
    await check(`forms: ${form.key} refuses what comes from elsewhere`, async () => {
      for (const [from, headers] of origins(server)) {
        const answer = await fetch(form.action, {
          method: 'POST', redirect: 'manual', body: new URLSearchParams(form.fields),
          headers: { ...headers, cookie, 'content-type': 'application/x-www-form-urlencoded' },
        });
        await answer.text();
        assert.ok([400, 403].includes(answer.status), `from ${from}: status ${answer.status}`);
      }
    });
    await check(`forms: ${form.key} takes no GET`, async () => {
      const url = new URL(form.action);
      for (const [name, value] of form.fields) url.searchParams.set(name, value);
      const answer = await fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
      const text = await answer.text();
      assert.ok(!answer.headers.has('set-cookie'), 'a GET sets a cookie');
      assert.ok(answer.status !== 204 && text !== undefined);
    });
  }
  await check('forms: a browser at another site is refused', async () => {
    const escape = text => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
    const site = createServer((request, response) => {
      const form = posts[Number(request.url.slice(1))];
      const fields = form.fields.map(([name, value]) => `<input name="${escape(name)}" value="${escape(value)}">`);
      response.setHeader('content-type', 'text/html');
      response.end(`<form id=f method=post action="${escape(form.action)}">${fields.join('')}</form><script>HTMLFormElement.prototype.submit.call(f)</script>`);
    });
    await new Promise(resolve => site.listen(0, '127.0.0.1', resolve));
    try {
      for (const [index, form] of posts.entries()) {
        const page = await context.newPage();
        // Another name of this machine is another site, another port only another origin.
        for (const host of ['localhost', '127.0.0.1']) {
          const answered = page.waitForResponse(response => response.request().method() === 'POST', { timeout: 20_000 });
          await page.goto(`http://${host}:${site.address().port}/${index}`).catch(() => {});
          const answer = await answered;
          assert.ok([400, 403].includes(answer.status()), `${form.key} from ${host}: status ${answer.status()}`);
        }
        await page.close();
      }
    } finally {
      site.close();
    }
  });
}
