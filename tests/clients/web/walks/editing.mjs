// Editing a note: by section, with a preview, taken back, and two people at once.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { call } from '../../lab/mcp.mjs';
import { fillIn, press } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { noteAt } from '../site.mjs';
import { openTab } from '../visitor.mjs';

const words = 'Поливать утром, 朝に水をやる, water in the morning.';

/** Puts `text` at the end of the editor's text. */
async function append(page, text) {
  await page.focus('#text');
  await page.$eval('#text', area => area.setSelectionRange(area.value.length, area.value.length));
  await page.keyboard.type(text);
}

export async function editing(site) {
  const { context, server, token } = site;
  const tab = await openTab(context, server);
  const { page } = tab;
  const file = join(server.dir, 'vault/garden/Garden log.md');
  const original = readFileSync(file, 'utf8');
  const note = await noteAt(site, 'garden/Garden log.md');

  await check('editing: a section, with a preview as one types', async () => {
    await tab.open(note);
    const link = await page.waitForSelector('.note h2 a.edit');
    await Promise.all([page.waitForNavigation(), link.click()]);
    await append(page, `\n\n${words}`);
    await until('the preview', () => page.$eval('#preview', view => view.textContent.includes('water in the morning')));
    await press(page, 'Save');
    assert.match(page.url(), /saved=\d+/);
    assert.ok(readFileSync(file, 'utf8').includes(words), 'the file has not changed');
    assert.ok(await page.$eval('.note', element => element.textContent.includes('water in the morning')));
    assert.deepEqual(tab.problems(), []);
  });
  await check('editing: undo brings back every byte', async () => {
    await press(page, 'Undo');
    await until('the old text', () => readFileSync(file, 'utf8') === original);
  });
  await check('editing: a stale edit shows both versions and loses none', async () => {
    await tab.open(`${note}/edit`);
    await append(page, '\n\nMine, from the browser.');
    const { etag } = await call(server, token, 'note_html', { path: 'garden/Garden log.md', format: 'markdown' });
    await call(server, token, 'edit_page', { path: 'garden/Garden log.md', op: 'append', text: 'Theirs, from an agent.', etag });
    await press(page, 'Save');
    const text = await page.$eval('main', main => main.textContent);
    assert.ok(text.includes('Theirs, from an agent.'), 'the other version is not shown');
    assert.ok((await page.$eval('#text', area => area.value)).includes('Mine, from the browser.'), 'my text is gone');
    assert.ok(await page.$('[role=alert]'), 'nothing says so');
    assert.ok(!readFileSync(file, 'utf8').includes('Mine'), 'it was saved all the same');
    await append(page, '\n\nTheirs, from an agent.');
    await press(page, 'Save');
    const saved = readFileSync(file, 'utf8');
    assert.ok(saved.includes('Mine, from the browser.') && saved.includes('Theirs, from an agent.'), saved);
  });
  await check('editing: history shows the changes, a diff, and brings a version back', async () => {
    await tab.open(`${note}/history`);
    assert.ok((await page.$$('.changes > li')).length >= 3, 'changes are missing');
    assert.deepEqual(tab.problems(), []);
  });
  await check('editing: a new note', async () => {
    await tab.open('/new?path=garden%2F');
    await page.$eval('[name=path]', field => { field.value = ''; });
    await page.type('[name=path]', 'garden/New bed.md');
    await page.focus('#text');
    await page.keyboard.type('# New bed\n\nNasturtiums.');
    await press(page, 'Save');
    assert.match(await page.$eval('h1', heading => heading.textContent), /New bed/);
    assert.ok(readFileSync(join(server.dir, 'vault/garden/New bed.md'), 'utf8').includes('Nasturtiums'));
  });
  await check('editing: a path outside the vault is refused, and the text is kept', async () => {
    await tab.open('/new');
    await page.type('[name=path]', '../outside.md');
    await page.focus('#text');
    await page.keyboard.type('escaped');
    await press(page, 'Save');
    assert.ok(await page.$('[role=alert]'), 'nothing says so');
    assert.ok((await page.$eval('#text', area => area.value)).includes('escaped'));
  });
  await check('editing: a note is renamed with its links, deleted, and both undone', async () => {
    const linking = join(server.dir, 'vault/garden/Links.md');
    const { etag } = await call(server, token, 'edit_page', { path: 'garden/Moved.md', op: 'create', text: '# Moved\n\nХодит. 移動。\n' });
    assert.ok(etag);
    await call(server, token, 'edit_page', { path: 'garden/Links.md', op: 'create', text: '# Links\n\n[[Moved]] and [it](Moved.md).\n' });
    const before = readFileSync(linking, 'utf8');
    for (const script of [true, false]) {
      const mover = await openTab(context, server, { script });
      const address = await noteAt(site, 'garden/Moved.md');
      await mover.open(address);
      const move = await mover.page.waitForSelector('.byline ::-p-xpath(.//a[.="Move or delete"])');
      await Promise.all([mover.page.waitForNavigation(), move.click()]);
      await fillIn(mover.page, 'to', 'сад/Перенесено 庭.md');
      await press(mover.page, 'Show what changes');
      assert.match(await mover.page.$eval('.panel', panel => panel.textContent), /2 links change/);
      assert.equal(readFileSync(linking, 'utf8'), before);
      await press(mover.page, 'Move');
      assert.ok(readFileSync(linking, 'utf8').includes('[[Перенесено 庭]]'), readFileSync(linking, 'utf8'));
      await press(mover.page, 'Undo');
      assert.equal(readFileSync(linking, 'utf8'), before);
      await mover.open(`${address}/move`);
      await press(mover.page, 'Delete this note…');
      assert.match(await mover.page.$eval('.panel', panel => panel.textContent), /Links\.md/);
      await press(mover.page, 'Delete');
      assert.ok(!existsSync(join(server.dir, 'vault/garden/Moved.md')));
      const undo = await mover.page.waitForSelector('.changes form button');
      await Promise.all([mover.page.waitForNavigation(), undo.click()]);
      assert.ok(existsSync(join(server.dir, 'vault/garden/Moved.md')));
      assert.deepEqual(mover.problems(), []);
      await mover.close();
    }
  });
  await check('editing: leaving with unsaved text asks first', async () => {
    await tab.open(`${note}/edit`);
    await append(page, 'x');
    const asked = new Promise(resolve => page.once('dialog', dialog => resolve(dialog.type())));
    await page.goto(`${server.url}/`).catch(() => {});
    assert.equal(await Promise.race([asked, new Promise(resolve => setTimeout(resolve, 5000, 'nothing'))]), 'beforeunload');
  });
  await check('editing: without JavaScript', async () => {
    const plain = await openTab(context, server, { script: false });
    await plain.open(`${note}/edit`);
    await plain.page.type('#text', 'Typed without a script. ');
    await press(plain.page, 'Preview');
    assert.ok(await plain.page.$eval('#preview', view => view.textContent.includes('without a script')));
    await press(plain.page, 'Save');
    assert.ok(readFileSync(file, 'utf8').includes('Typed without a script.'));
    await press(plain.page, 'Undo');
    assert.ok(!readFileSync(file, 'utf8').includes('Typed without a script.'));
    await plain.close();
  });
  await tab.close();
}
