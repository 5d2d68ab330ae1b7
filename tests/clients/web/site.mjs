// A server with the fixture vault, its owner, and a browser in which the owner is signed in.
import { withBrowser } from '../lab/browser.mjs';
import { call } from '../lab/mcp.mjs';
import { owner, setUp } from '../lab/person.mjs';
import { startServer } from '../lab/server.mjs';
import { until } from '../lab/wait.mjs';
import { addHostilePeople, addPeople, fillHostileLibrary, fillLibrary, signInAs } from './library.mjs';
import { fillHostileMethods, fillMarket, fillMethods } from './market.mjs';
import { markup } from './payloads.mjs';
import { fillHostileVault, fillVault } from './vault.mjs';
import { cookieOf } from './visitor.mjs';

/** Whether every passage can be found, by words and by meaning. */
function isIndexed(server) {
  const { passages, behind, vectors } = JSON.parse(server.cli('status', '--json'));
  const [done, wanted] = vectors ?? [0, 0];
  return passages > 0 && behind === 0 && done === wanted;
}

/** The address of the note at a path. */
export async function noteAt({ server, token }, path) {
  const { pid } = await call(server, token, 'note_html', { path, format: 'markdown', max_tokens: 40 });
  return `/n/${pid}`;
}

/** Runs `work({ browser, context, server, token, cookie })`. */
export async function withSite({ hostile = false, config = '' } = {}, work) {
  // Vectors of the hostile vault would take minutes, and decide nothing.
  if (hostile) config += '[embed]\nprovider = "none"\n';
  config += '[oss]\nbuild = false\n';
  const fill = dir => {
    (hostile ? fillHostileVault : fillVault)(dir);
    (hostile ? fillHostileMethods : fillMethods)(dir);
  };
  await withBrowser(async browser => {
    const server = await startServer({ config, fill });
    try {
      const token = server.cli('token', 'create', '--scope', 'owner').trim().split(/\s+/).at(-1);
      await fillLibrary(server, token);
      if (hostile) await fillHostileLibrary(server, token);
      await until('the index', () => isIndexed(server), { seconds: 300, every: 500 });
      await fillMarket(server, { hostile });
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await setUp(page, server);
      await page.close();
      addPeople(server);
      if (hostile) {
        await addHostilePeople(server);
        for (const text of markup.slice(0, 6)) await signInAs(server, text.replace(/[^ -~]/g, ''), owner);
      }
      await work({ browser, context, server, token, cookie: await cookieOf(context) });
    } finally {
      await server.stop();
    }
  });
}
