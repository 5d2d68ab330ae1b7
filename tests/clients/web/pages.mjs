// Every page that links lead to, as the owner and as a visitor: light and dark, wide and on a phone.
//
//     node pages.mjs [START...]     only pages whose path starts so; `made` for those behind forms
import assert from 'node:assert/strict';

import { check, finish } from '../lab/report.mjs';
import { violationsOf } from './axe.mjs';
import { crawl } from './crawl.mjs';
import { faultsOf } from './html.mjs';
import { noteAt, withSite } from './site.mjs';
import { shapes } from './vault.mjs';
import { openTab, views } from './visitor.mjs';

const only = process.argv.slice(2);
const mostBytes = 40_000;

// Pages that no link may lead to but that must be there.
const seeds = ['/', '/?q=coffee', '/?q=молоко', '/?q=水', '/?q=zzqqxx%20wwvvkk', '/?q=coffee&ask=1', '/account', '/connect', '/status', '/doctor', '/users', '/audit', '/market', '/market?q=%D0%B2%D1%8B%D1%87%D0%B8%D1%82%D0%BA%D0%B0', '/market/credit', '/market/earnings?author=mira', '/market/books?check=1', '/market/payouts', '/market/topup', '/reports', '/sign-in', '/no-such-page'];

async function checkPage(tab, entry, view, { isLong }) {
  await tab.look(view);
  await checkAnswer(tab, await tab.open(entry.url), { isLong });
}

async function checkAnswer(tab, answer, { isLong = false } = {}) {
  assert.ok(answer.status() < 500, `status ${answer.status()}`);
  const faults = [...tab.problems()].filter(problem => !(answer.status() === 404 && problem.includes('404')));
  const [wide, widest] = await tab.page.evaluate(widths);
  if (wide > 0) faults.push(`the page is ${wide} px wider than the window: ${widest}`);
  if (!isLong && tab.weight() > mostBytes) faults.push(`${tab.weight()} bytes are transferred: ${tab.parts()}`);
  faults.push(...(await violationsOf(tab.page)));
  assert.deepEqual(faults, []);
}

/** In the page: how many pixels it is wider than the window, and what stands out. */
function widths() {
  const { scrollWidth, clientWidth } = document.documentElement;
  const out = [...document.body.querySelectorAll('*')].filter(element => element.getBoundingClientRect().right > clientWidth + 1);
  const name = element => `${element.localName}${element.className ? `.${element.className}` : ''} "${element.textContent.trim().slice(0, 30)}"`;
  return [scrollWidth - clientWidth, out.slice(0, 4).map(name).join(', ')];
}

/** Presses a button and returns the answer that follows. */
async function send(page, button) {
  const found = await page.waitForSelector(button, { timeout: 10_000 });
  return (await Promise.all([page.waitForNavigation(), found.click()]))[0];
}

/** Pages that no link leads to, each with the way there. */
const made = {
  'a new token': async (tab, { server }) => {
    await tab.open(`${server.url}/account`);
    await tab.page.$$eval('details.panel', panels => panels.forEach(panel => { panel.open = true; }));
    await tab.page.type('form[action="/account/token"] [name=name]', 'A token <b>');
    return send(tab.page, 'form[action="/account/token"] .primary');
  },
  'what a move changes': async (tab, site) => {
    await tab.open(`${await noteAt(site, 'coffee/Coffee brewing.md')}/move`);
    await tab.page.$eval('[name=to]', field => { field.value = 'кофе/コーヒー.md'; });
    return send(tab.page, 'button[value=show]');
  },
  'what a deletion breaks': async (tab, site) => {
    await tab.open(`${await noteAt(site, 'coffee/Coffee brewing.md')}/move`);
    return send(tab.page, 'button[value=show-trash]');
  },
  'a move that cannot be': async (tab, site) => {
    await tab.open(`${await noteAt(site, 'coffee/Coffee brewing.md')}/move`);
    await tab.page.$eval('[name=to]', field => { field.value = '../outside.md'; });
    return send(tab.page, 'button[value=show]');
  },
  'a user that is there already': async (tab, { server }) => {
    await tab.open(`${server.url}/users`);
    await tab.page.type('form[action="/users"] [name=name]', 'anna');
    return send(tab.page, 'form[action="/users"] .primary');
  },
};

async function checkHeaders({ headers }, isPrivate) {
  const policy = headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]) {
    assert.ok(policy.includes(part), `policy: ${policy}`);
  }
  assert.ok(!policy.includes('unsafe'), policy);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  // Pages to sign in keep their own Origin, which `no-referrer` would hide.
  assert.match(headers.get('referrer-policy') ?? '', /^(no-referrer|same-origin)$/);
  const cache = headers.get('cache-control') ?? '';
  if (isPrivate) assert.match(cache, /no-store/);
  else if (!/no-store/.test(cache)) assert.match(headers.get('vary') ?? '', /cookie/i, `cache-control: ${cache} without Vary: Cookie`);
}

await withSite({}, async site => {
  const { browser, context, server, cookie } = site;
  for (const path of shapes) seeds.push(await noteAt(site, path));
  for (const who of ['owner', 'visitor']) {
    const mine = who === 'owner' ? context : await browser.createBrowserContext();
    const { pages, broken } = await crawl(server, { seeds, cookie: who === 'owner' ? cookie : '', perShape: 3 });
    await check(`${who}: every link leads somewhere`, () => {
      const wrong = broken.filter(({ url, from }) => from !== 'the start').map(({ url, from, why }) => `${url} on ${from}: ${why}`);
      assert.deepEqual(wrong, []);
      assert.ok(pages.length > 3, `only ${pages.length} pages were found`);
    });
    const tab = await openTab(mine, server);
    for (const entry of pages) {
      const path = decodeURI(entry.url.slice(server.url.length));
      if (only.length > 0 && !only.some(start => path.startsWith(start))) continue;
      const isLong = entry.html.length > 300_000;
      await check(`${who} ${path}: HTML`, async () => assert.deepEqual(await faultsOf(entry.html), []));
      await check(`${who} ${path}: headers`, () => checkHeaders(entry, who === 'owner'));
      for (const view of views) {
        await check(`${who} ${path}: ${view.name}`, () => checkPage(tab, entry, view, { isLong }));
      }
    }
    for (const [name, go] of Object.entries(who === 'owner' && (only.length === 0 || only.includes('made')) ? made : {})) {
      for (const view of views.slice(0, 2)) {
        await check(`owner, ${name}: ${view.name}`, async () => {
          await tab.look(view);
          const answer = await go(tab, site);
          const refused = answer.status() === 422;
          if (refused) tab.forget();
          await checkAnswer(tab, answer);
        });
      }
    }
    await tab.close();
  }
});
finish();
