// Our pages inside another site's frame.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

import { check } from '../../lab/report.mjs';

export async function framing({ context, server }) {
  for (const path of ['/', '/sign-in', '/cards', '/authorize?response_type=code', '/account', '/users']) {
    await check(`framing: ${path} shows nothing in a frame`, async () => {
      const site = createServer((_, response) => {
        response.setHeader('content-type', 'text/html');
        response.end(`<iframe src="${server.url}${path}"></iframe>`);
      });
      await new Promise(resolve => site.listen(0, '127.0.0.1', resolve));
      const page = await context.newPage();
      try {
        const refusals = [];
        page.on('console', message => refusals.push(message.text()));
        await page.goto(`http://localhost:${site.address().port}/`, { waitUntil: 'networkidle0' });
        const frames = page.frames().filter(frame => frame !== page.mainFrame());
        for (const frame of frames) {
          assert.ok(!frame.url().startsWith(server.url), `the frame shows ${frame.url()}`);
        }
        assert.ok(refusals.some(text => /frame-ancestors|X-Frame-Options/i.test(text)), refusals.join('\n'));
      } finally {
        await page.close();
        site.close();
      }
    });
  }
}
