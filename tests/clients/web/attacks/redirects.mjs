// After sign-in, and after any form, the browser stays here.
import assert from 'node:assert/strict';

import { fillIn, owner, press } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';

const elsewhere = ['//evil.example', '/\\evil.example', '\\\\evil.example', 'https://evil.example/', 'javascript:pwned=1',
  '/\t/evil.example', '/\n/evil.example', '/%09/evil.example/..//evil.example', '/..//evil.example', 'data:text/html,x', 'http:evil.example', '/@evil.example/..//evil.example'];

export async function redirects({ browser, server, cookie }) {
  for (const next of elsewhere) {
    await check(`redirects: sign-in with next=${JSON.stringify(next)} stays here`, async () => {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(next)}`);
      await fillIn(page, 'name', owner.name);
      await fillIn(page, 'password', owner.password);
      await press(page, 'Sign in', 'main');
      assert.equal(new URL(page.url()).origin, new URL(server.url).origin);
      // Somebody who is signed in already is sent on at once.
      await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(next)}`);
      assert.equal(new URL(page.url()).origin, new URL(server.url).origin);
      await context.close();
    });
    await check(`redirects: the theme's form with back=${JSON.stringify(next)} stays here`, async () => {
      const answer = await fetch(`${server.url}/theme`, {
        method: 'POST', redirect: 'manual', body: new URLSearchParams({ theme: 'dark', back: next }),
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
      });
      const to = answer.headers.get('location');
      assert.ok(to === null || new URL(to, server.url).origin === new URL(server.url).origin, to);
    });
  }
}
