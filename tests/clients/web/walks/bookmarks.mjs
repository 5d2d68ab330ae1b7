// Bookmarks: filters, decisions, adding, importing with progress, and trends as plots.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { call } from '../../lab/mcp.mjs';
import { fillIn, press } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { netscape } from '../exports.mjs';
import { openTab } from '../visitor.mjs';

const names = page => page.$$eval('.bookmarks h2', found => found.map(title => title.textContent.trim()));

export async function bookmarks({ context, server, token }) {
  const tab = await openTab(context, server);
  const { page } = tab;
  await check('bookmarks: filters narrow the list, and can be removed', async () => {
    await tab.open('/bookmarks');
    const all = await names(page);
    assert.ok(all.length > 5, `${all}`);
    await tab.open('/bookmarks?author=ivan');
    const some = await names(page);
    assert.ok(some.length > 0 && some.length < 24, `${some}`);
    const remove = await page.waitForSelector('.chip.on');
    await Promise.all([page.waitForNavigation(), remove.click()]);
    assert.equal(new URL(page.url()).searchParams.get('author'), null);
    assert.deepEqual(tab.problems(), []);
  });
  await check('bookmarks: grid', async () => {
    await tab.open('/bookmarks?view=grid');
    assert.ok((await page.$$('.board .card')).length > 5);
  });
  await check('bookmarks: what is decided is kept', async () => {
    await tab.open('/bookmarks');
    const first = await page.$eval('.bookmarks h2 a', link => link.getAttribute('href'));
    await tab.open(first);
    await fillIn(page, 'tags', 'решено, 決定, decided');
    await page.select('[name=action]', (await page.$$eval('[name=action] option', options => options.map(option => option.value)))[1]);
    await press(page, 'Save');
    assert.ok(await page.$('[role=status]'), 'nothing says that it was saved');
    const tags = await page.$eval('[name=tags]', field => field.value);
    for (const tag of ['решено', '決定', 'decided']) assert.ok(tags.includes(tag), tags);
    const found = await call(server, token, 'search', { query: 'vector', filters: { kind: 'bookmark', label: 'решено' } });
    assert.ok(found.results.length + (await call(server, token, 'search', { query: 'поиске', filters: { kind: 'bookmark', label: 'решено' } })).results.length > 0);
  });
  await check('bookmarks: added from a page, as the bookmarklet does', async () => {
    const query = new URLSearchParams({ url: 'https://example.org/shared?a=1&b=2', title: 'Страница <b>', text: '共有されたテキスト' });
    await tab.open(`/bookmarks/add?${query}`);
    assert.equal(await page.$eval('[name=title]', field => field.value), 'Страница <b>');
    await press(page, 'Save');
    await tab.open('/bookmarks');
    assert.ok((await names(page)).some(name => name.includes('Страница <b>')), `${await names(page)}`);
    assert.deepEqual(tab.problems(), []);
  });
  await check('bookmarks: an address that is none is refused', async () => {
    await tab.open('/bookmarks/add?url=javascript%3Apwned%3D1&title=x');
    await page.$eval('form[action="/bookmarks/add"]', form => { form.noValidate = true; });
    await press(page, 'Save');
    assert.match(await page.$eval('main', main => main.textContent), /address|url|http/i);
    assert.ok(!(await page.$$eval('main a', links => links.some(link => link.protocol === 'javascript:' && !('bookmarklet' in link.dataset)))));
  });
  await check('bookmarks: an import shows its progress and its result', async () => {
    const file = join(server.dir, 'export.html');
    writeFileSync(file, netscape(800));
    await tab.open('/bookmarks/import');
    await (await page.$('input[type=file]')).uploadFile(file);
    await press(page, 'Import', 'main');
    const region = await page.waitForSelector('[data-watch]');
    assert.ok(region);
    await until('the end of the import', () => page.$eval('[data-watch]', watched => watched.dataset.watch !== 'running'), { seconds: 120, every: 200 });
    const text = await page.$eval('[data-watch]', watched => watched.textContent);
    assert.match(text.replace(/[\s,]+/g, ''), /added80[01]/);
    assert.deepEqual(tab.problems(), []);
  });
  await check('bookmarks: the same file again adds nothing', async () => {
    await tab.open('/bookmarks/import');
    await (await page.$('input[type=file]')).uploadFile(join(server.dir, 'export.html'));
    await press(page, 'Import', 'main');
    await until('the end of the import', () => page.$eval('[data-watch]', watched => watched.dataset.watch !== 'running'), { seconds: 120, every: 200 });
    assert.match((await page.$eval('[data-watch]', watched => watched.textContent)).replace(/\s+/g, ''), /added0.*alreadythere80[01]/);
  });
  await check('bookmarks: a file that is no export says so', async () => {
    const file = join(server.dir, 'noise.bin');
    writeFileSync(file, Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 7919) % 256)));
    await tab.open('/bookmarks/import');
    await (await page.$('input[type=file]')).uploadFile(file);
    await press(page, 'Import', 'main');
    await until('the end of the import', () => page.evaluate(() => document.querySelector('[data-watch]')?.dataset.watch !== 'running'), { seconds: 60, every: 200 });
    assert.ok(await page.$('[role=alert]'), await page.$eval('main', main => main.textContent));
  });
  await check('bookmarks: trends are plots with their numbers as tables', async () => {
    await tab.open('/trends?period=3m');
    const plots = await page.$$eval('svg[role=img]', found => found.map(plot => ({ title: plot.querySelector('title')?.textContent, width: plot.getBoundingClientRect().width, marks: plot.querySelectorAll('path, rect, polyline, circle, line').length })));
    assert.ok(plots.length >= 2, `${plots.length} plots`);
    for (const plot of plots) {
      assert.ok(plot.title && plot.width > 200 && plot.marks > 0, JSON.stringify(plot));
    }
    const tables = await page.$$eval('details table', found => found.map(table => table.rows.length));
    assert.ok(tables.length >= plots.length && tables.every(rows => rows > 1), `${tables}`);
    const styled = await page.$$eval('svg [style]', found => found.length);
    assert.equal(styled, 0);
    assert.deepEqual(tab.problems(), []);
  });
  await check('bookmarks: without JavaScript', async () => {
    const plain = await openTab(context, server, { script: false });
    await plain.open('/bookmarks?q=vector');
    assert.ok((await plain.page.$$('.bookmarks h2')).length > 0);
    await plain.open('/bookmarks/import');
    await (await plain.page.$('input[type=file]')).uploadFile(join(server.dir, 'export.html'));
    await press(plain.page, 'Import', 'main');
    await until('the end of the import', async () => {
      await plain.page.reload();
      return plain.page.$eval('[data-watch]', watched => watched.dataset.watch !== 'running');
    }, { seconds: 60, every: 500 });
    await plain.close();
  });
  await tab.close();
}
