// A server with the fixture vault, its owner, and a browser in which the owner is signed in.
import { withBrowser } from '../lab/browser.mjs';
import { setUp } from '../lab/person.mjs';
import { startServer } from '../lab/server.mjs';
import { until } from '../lab/wait.mjs';
import { fillHostileLibrary, fillLibrary } from './library.mjs';
import { fillHostileVault, fillVault } from './vault.mjs';
import { cookieOf } from './visitor.mjs';

/** Runs `work({ browser, context, server, token, cookie })`. */
export async function withSite({ hostile = false, config = '' } = {}, work) {
  await withBrowser(async browser => {
    const server = await startServer({ config, fill: hostile ? fillHostileVault : fillVault });
    try {
      const token = server.cli('token', 'create', '--scope', 'owner').trim().split(/\s+/).at(-1);
      await fillLibrary(server, token);
      if (hostile) await fillHostileLibrary(server, token);
      await until('the index', async () => (await fetch(`${server.url}/healthz`)).ok);
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await setUp(page, server);
      await page.close();
      await work({ browser, context, server, token, cookie: await cookieOf(context) });
    } finally {
      await server.stop();
    }
  });
}
