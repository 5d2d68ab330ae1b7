// The board of cards: make, tick, colour, pin, archive, order, delete and bring back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { call } from '../../lab/mcp.mjs';
import { fillIn, follow, press } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { openTab } from '../visitor.mjs';

const titles = page => page.$$eval('#board .card h3', found => found.map(title => title.textContent.trim()));
const cardOf = title => `#board ::-p-xpath(.//article[contains(@class,"card")][.//h3[contains(., "${title}")]])`;

/** Clicks a button of a card and waits for the board that the answer brings. */
async function act(page, title, value) {
  const card = await page.waitForSelector(cardOf(title));
  const more = await card.$('details.more');
  if (more) await more.evaluate(details => { details.open = true; });
  await page.$eval('#board', board => { board.dataset.old = '1'; });
  const button = await card.$(`button[value^="${value}"]`);
  assert.ok(button, `the card ${title} has no button ${value}`);
  await button.evaluate(element => element.click());
  await until('the board', () => page.evaluate(() => document.querySelector('#board') && !document.querySelector('#board').dataset.old));
}

export async function cards({ context, server, token }) {
  const tab = await openTab(context, server);
  const { page } = tab;
  const stored = async title => {
    const { notes } = await call(server, token, 'get_notes', { includeArchived: true, limit: 100 });
    return notes.find(note => note.title === title);
  };
  await check('cards: a new card with a checklist, in three languages', async () => {
    await tab.open('/cards');
    await page.click('.composer summary');
    await fillIn(page, 'title', 'Выходные', '.composer');
    await page.type('.composer [name=text]', 'Weekend. 週末の予定');
    await page.type('.composer [name=items]', 'buy soil\nпосадить лук\n水をやる');
    await page.type('.composer [name=labels]', 'garden, сад');
    const button = await page.$('.composer button.primary');
    await button.click();
    await page.waitForSelector(cardOf('Выходные'));
    const card = await stored('Выходные');
    assert.deepEqual(card.checkItems.map(item => item.text), ['buy soil', 'посадить лук', '水をやる']);
    assert.deepEqual([...card.labels].sort(), ['garden', 'сад']);
    assert.deepEqual(tab.problems(), []);
  });
  await check('cards: a tick is kept, and the focus stays', async () => {
    const card = await page.waitForSelector(cardOf('Выходные'));
    const item = await card.waitForSelector('.tick');
    await item.focus();
    await page.keyboard.press('Space');
    await until('the tick', async () => (await stored('Выходные')).checkItems[0].checked);
    await until('the focus', () => page.evaluate(() => document.activeElement?.getAttribute('aria-pressed') === 'true'));
  });
  await check('cards: colour, pin and archive', async () => {
    await act(page, 'Выходные', 'color ');
    await act(page, 'Выходные', 'pin');
    assert.ok((await stored('Выходные')).isPinned, 'it is not pinned');
    assert.ok((await titles(page)).indexOf('Выходные') < 2, `pinned cards come first: ${await titles(page)}`);
    await act(page, 'Выходные', 'archive');
    assert.ok((await stored('Выходные')).isArchived, 'it is not archived');
    assert.ok(!(await titles(page)).includes('Выходные'), 'it is still on the board');
    await tab.open('/cards?archived=1');
    await act(page, 'Выходные', 'archive');
    assert.ok(!(await stored('Выходные')).isArchived, 'it did not come back');
  });
  await check('cards: order by buttons', async () => {
    await tab.open('/cards');
    const before = await titles(page);
    const last = before.at(-1);
    await act(page, last.slice(0, 20), 'before ');
    const after = await titles(page);
    assert.equal(after.indexOf(last), before.length - 2, `${before} became ${after}`);
    await tab.open('/cards');
    assert.deepEqual(await titles(page), after, 'the order is not kept');
  });
  await check('cards: order by dragging', async () => {
    await tab.open('/cards');
    const before = await titles(page);
    const boards = await page.$$('[data-movable]');
    const found = await boards.at(-1).$$('.card');
    assert.ok(found.length > 1, 'one card cannot be ordered');
    const moved = await found[1].$eval('h3', title => title.textContent.trim());
    await page.$eval('#board', board => { board.dataset.old = '1'; });
    // A headless browser has no drags of its own, so the events are made here.
    await page.evaluate((held, over) => {
      const box = over.getBoundingClientRect();
      const dataTransfer = new DataTransfer();
      const send = (element, type) => element.dispatchEvent(new DragEvent(type, {
        bubbles: true, cancelable: true, dataTransfer, clientX: box.left + 4, clientY: box.top + 4,
      }));
      send(held, 'dragstart');
      send(over, 'dragover');
      send(held, 'drop');
      send(held, 'dragend');
    }, found[1], found[0]);
    await until('the board', () => page.evaluate(() => !document.querySelector('#board').dataset.old), { seconds: 8 });
    await tab.open('/cards');
    const after = await titles(page);
    assert.equal(after.indexOf(moved), before.indexOf(moved) - 1, `${before} became ${after}`);
  });
  await check('cards: deleting can be undone', async () => {
    await tab.open('/cards');
    await act(page, 'Выходные', 'delete');
    assert.equal(await stored('Выходные'), undefined);
    const undo = await page.waitForSelector('#board .notice button');
    await undo.click();
    await until('the card', async () => (await stored('Выходные')) !== undefined);
  });
  await check('cards: a stale edit shows both versions', async () => {
    const card = await stored('Выходные');
    await tab.open(`/cards/${card.id}`);
    await call(server, token, 'update_note', { id: card.id, content: 'Theirs, from an agent.' });
    await fillIn(page, 'text', 'Mine, from the browser.', 'form[data-card-form]');
    await follow(page, 'form[data-card-form] button.primary');
    const text = await page.$eval('main', main => main.textContent);
    assert.ok(text.includes('Theirs, from an agent.'), 'their version is missing');
    assert.ok((await page.$eval('form[data-card-form] [name=text]', area => area.value)).includes('Mine, from the browser.'), 'mine is missing');
    assert.ok(await page.$('[role=alert]'));
    assert.match((await stored('Выходные')).content, /Theirs/);
    await press(page, 'Save my version');
    assert.match((await stored('Выходные')).content, /Mine/);
  });
  await check('cards: a picture is shown, and a page that says it is one is refused', async () => {
    const card = await stored('Выходные');
    const picture = join(server.dir, 'vault/shapes/red.png');
    await tab.open(`/cards/${card.id}`);
    await (await page.$('input[type=file]')).uploadFile(picture);
    await press(page, 'Upload');
    await until('the picture', () => page.$$eval('main img', images => images.some(image => image.naturalWidth > 0)));
    const fake = join(server.dir, 'fake.png');
    writeFileSync(fake, '<!doctype html><script>pwned=1</script>');
    await (await page.$('input[type=file]')).uploadFile(fake);
    await press(page, 'Upload');
    assert.match(await page.$eval('main', main => main.textContent), /PNG|picture|image/i);
    const after = await call(server, token, 'get_note', { id: card.id, includeImages: true }).catch(() => call(server, token, 'get_note', { id: card.id }));
    assert.ok(!JSON.stringify(after).includes('pwned'), 'the page was stored');
  });
  await check('cards: without JavaScript', async () => {
    const plain = await openTab(context, server, { script: false });
    await plain.open('/cards');
    await plain.page.$eval('.composer', composer => { composer.open = true; });
    await plain.page.type('.composer [name=title]', 'No script');
    await plain.page.type('.composer [name=items]', 'one');
    await Promise.all([plain.page.waitForNavigation(), plain.page.click('.composer button.primary')]);
    const made = await plain.page.waitForSelector(cardOf('No script'));
    const tick = await made.waitForSelector('button[value^="tick"]');
    await Promise.all([plain.page.waitForNavigation(), tick.click()]);
    assert.ok((await stored('No script')).checkItems[0].checked);
    await plain.close();
  });
  await tab.close();
}
