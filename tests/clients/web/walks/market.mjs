// Buying and selling: credit through the payment provider, receipts, the books, a refund, a report.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fillIn, owner, press, setUp, signIn } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { startServer } from '../../lab/server.mjs';
import { key, secret, startStripe } from '../../lab/stripe.mjs';
import { until } from '../../lab/wait.mjs';
import { buyer, fillMarket, fillMethods } from '../market.mjs';

const text = page => page.$eval('main', main => main.innerText);

export async function market({ browser }) {
  let server;
  const stripe = await startStripe(() => server);
  const config = `[market.stripe]\nurl = "${stripe.url}"\nkey_file = "stripe.key"\nwebhook_secret_file = "stripe.secret"\n[oss]\nbuild = false\n`;
  server = await startServer({
    config,
    fill(dir) {
      fillMethods(dir);
      writeFileSync(join(dir, 'stripe.key'), key, { mode: 0o600 });
      writeFileSync(join(dir, 'stripe.secret'), secret, { mode: 0o600 });
    },
  });
  const [people, theirs] = [await browser.createBrowserContext(), await browser.createBrowserContext()];
  try {
    await until('the methods', async () => (await (await fetch(`${server.url}/market`)).text()).includes('4 methods'));
    await fillMarket(server);
    const desk = await theirs.newPage();
    await setUp(desk, server, owner);
    const page = await people.newPage();
    await check('market: a visitor finds a method and how to connect', async () => {
      for (const [question, title] of [['review of code', 'Strict review'], ['вычитать текст', 'Обзор текста'], ['文章の校正', '日本語の校正']]) {
        await page.goto(`${server.url}/market`);
        await fillIn(page, 'q', question, 'main');
        await press(page, 'Find', 'main');
        assert.equal(await page.$eval('.hit h2 a', link => link.textContent), title, question);
      }
      await Promise.all([page.waitForNavigation(), page.click('.hit h2 a')]);
      assert.match(await text(page), /0\.15 USD[^]*\/_system\/mcp\/mira/);
    });
    await check('market: a buyer pays on the page of the provider and has the credit', async () => {
      await signIn(page, server, buyer, '/market/topup');
      const before = /Your credit is (\S+) USD/.exec(await text(page))[1];
      await fillIn(page, 'amount', '10', 'main');
      await press(page, 'Go to payment', 'main');
      assert.ok(page.url().startsWith(`${stripe.url}/c/pay/`), page.url());
      await press(page, 'Pay', 'main');
      assert.equal(page.url(), `${server.url}/market/topup?state=paid`);
      const now = /Your credit is (\S+) USD/.exec(await text(page))[1];
      assert.equal(Number(now), Number(before) + 10);
      assert.deepEqual(stripe.faults, []);
    });
    await check('market: the same event again books nothing', async () => {
      const [session] = stripe.sessions.values();
      assert.equal((await stripe.report(session)).status, 200);
      await page.goto(`${server.url}/market/credit`);
      assert.equal((await text(page)).match(/top-up/g).length, 2, 'one by hand, one by card');
    });
    await check('market: a payment that is cancelled changes nothing', async () => {
      await page.goto(`${server.url}/market/topup`);
      await fillIn(page, 'amount', '20', 'main');
      await press(page, 'Go to payment', 'main');
      await press(page, 'Cancel', 'main');
      assert.match(await text(page), /cancelled[^]*Nothing was paid/);
      await page.goto(`${server.url}/market/credit`);
      assert.match(await text(page), /20\.00 USD: not paid yet/);
    });
    await check('market: calls have receipts', async () => {
      await page.goto(`${server.url}/market/credit`);
      assert.match(await text(page), /strict-review[^]*trial call, free/);
      assert.match(await text(page), /charged\s+0\.25/);
    });
    await page.close();
    await check('market: the owner refunds a charge, once', async () => {
      await desk.goto(`${server.url}/market/books?kind=capture`);
      await Promise.all([desk.waitForNavigation(), desk.click('main tbody td.number a[href^="/market/books/"]')]);
      const entry = desk.url();
      await desk.click('details.panel summary');
      await desk.click('[name=confirm]');
      await press(desk, 'Book the refund', 'main');
      assert.match(await text(desk), /The refund is booked/);
      await desk.goto(entry);
      assert.equal(await desk.$('details.panel'), null, 'it can be refunded again');
      await desk.goto(`${server.url}/market/books?check=1`);
      assert.match(await text(desk), /Every entry sums to zero/);
    });
    await check('market: earnings are plotted', async () => {
      await desk.goto(`${server.url}/market/earnings?author=mira`);
      assert.ok(await desk.$('svg.plot polyline'), 'no plot');
      await desk.click('.plots details summary');
      assert.match(await text(desk), /Answered calls by day/);
    });
    await check('reports: a finding has its file and line', async () => {
      await desk.goto(`${server.url}/reports`);
      await Promise.all([desk.waitForNavigation(), desk.click('main tbody a')]);
      assert.match(await text(desk), /score \d+ of 100/);
      await desk.$$eval('details.panel', panels => panels.forEach(panel => { panel.open = true; }));
      assert.match(await text(desk), /main\.py:2/);
    });
    await check('reports: an address that may not be asked is refused with its reason', async () => {
      await desk.goto(`${server.url}/reports`);
      await fillIn(desk, 'repo_url', 'https://evil.example/o/n', 'main');
      await press(desk, 'Verify', 'main');
      assert.ok(await desk.$('[role=alert]'));
      assert.equal(await desk.$eval('[name=repo_url]', field => field.value), 'https://evil.example/o/n');
    });
  } finally {
    await people.close();
    await theirs.close();
    stripe.stop();
    await server.stop();
  }
}
