// Searching as one types, with the keyboard alone, in three languages.
import assert from 'node:assert/strict';

import { call } from '../../lab/mcp.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { openTab } from '../visitor.mjs';

const questions = [['en', 'coffee brewing'], ['ru', 'рецепт борща'], ['ja', '京都 紅葉']];
const titles = page => page.$$eval('.hit h2 a', links => links.map(link => link.textContent.trim()));

export async function search({ context, server, token }) {
  const tab = await openTab(context, server);
  const { page } = tab;
  for (const [language, words] of questions) {
    await check(`search: as you type, ${language}`, async () => {
      await tab.open('/');
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'q', 'the box has no focus');
      await page.keyboard.type(words);
      await until('results', async () => (await titles(page)).length > 0);
      await until('the address', async () => new URL(page.url()).searchParams.get('q') === words);
      await page.waitForNetworkIdle({ idleTime: 200 });
      assert.match(await page.$eval('#count', count => count.textContent), /\d/);
      const found = await titles(page);
      assert.ok(await page.$('.hit mark'), 'nothing is marked');
      // The address alone shows the same, without the script; the order is the tool's.
      await tab.open(page.url());
      assert.deepEqual(await titles(page), found);
      const answer = await call(server, token, 'search', { query: words });
      assert.deepEqual(found.slice(0, 5), answer.results.slice(0, 5).map(result => result.title.trim()));
      assert.deepEqual(tab.problems(), []);
    });
  }
  await check('search: keyboard from start to end', async () => {
    await tab.open('/');
    await page.keyboard.type('coffee tastes sour');
    await until('results', async () => (await titles(page)).length > 0);
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement?.closest('.hit') !== null), true);
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'q');
    await page.keyboard.press('ArrowDown');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    assert.match(page.url(), /\/n\//);
    await page.keyboard.down('Control');
    await page.keyboard.press('k');
    await page.keyboard.up('Control');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'q');
    await page.keyboard.type('tomato');
    await until('suggestions', () => page.$('[role=option]'));
    assert.equal(await page.$eval('#q', box => box.getAttribute('aria-expanded')), 'true');
    await page.keyboard.press('ArrowDown');
    assert.ok(await page.$eval('#q', box => document.getElementById(box.getAttribute('aria-activedescendant'))?.ariaSelected));
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    assert.match(page.url(), /\/n\//);
    assert.deepEqual(tab.problems(), []);
  });
  await check('search: Esc clears, and an empty box shows the start again', async () => {
    await tab.open('/');
    await page.keyboard.type('coffee');
    await until('results', async () => (await titles(page)).length > 0);
    await page.keyboard.press('Escape');
    await until('no results', async () => (await titles(page)).length === 0);
    assert.equal(new URL(page.url()).search, '');
  });
  await check('search: filters are chips that can be removed', async () => {
    await tab.open('/?q=search&kind=bookmark');
    const chips = await page.$$eval('.chips [aria-current], .chip.on', found => found.map(chip => chip.textContent));
    assert.ok(chips.some(chip => /bookmark/i.test(chip)), chips.join());
    const kinds = await page.$$eval('.hit .kind', found => found.map(kind => kind.textContent));
    assert.ok(kinds.length > 0 && kinds.every(kind => kind === 'bookmark'), kinds.join());
  });
  await check('search: nothing is found, and the page says so', async () => {
    await tab.open(`/?q=${encodeURIComponent('"zzqqxx wwvvkk"')}`);
    assert.equal((await titles(page)).length, 0);
    assert.match(await page.$eval('#count', count => count.textContent), /\S/);
  });
  await check('search: ask answers with sources that open at the passage', async () => {
    await tab.open(`/?q=${encodeURIComponent('What should I do when the coffee tastes sour?')}&ask=1`);
    const source = await page.waitForSelector('.answer .sources a', { timeout: 20_000 });
    await Promise.all([page.waitForNavigation(), source.click()]);
    assert.match(page.url(), /\/n\/.*#/);
    assert.ok(await page.$(':target'), 'the address names no passage of the page');
    assert.deepEqual(tab.problems(), []);
  });
  await check('search: without JavaScript', async () => {
    const plain = await openTab(context, server, { script: false });
    await plain.open('/');
    await plain.page.type('#q', 'coffee');
    await Promise.all([plain.page.waitForNavigation(), plain.page.keyboard.press('Enter')]);
    assert.ok((await plain.page.$$('.hit h2 a')).length > 0);
    const first = await plain.page.$('.hit h2 a');
    await Promise.all([plain.page.waitForNavigation(), first.click()]);
    assert.match(plain.page.url(), /\/n\//);
    await plain.close();
  });
  await tab.close();
}
