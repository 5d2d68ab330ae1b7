// Prompts: find, edit with live rendering, history, and two people at once.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { call } from '../../lab/mcp.mjs';
import { fillIn, press } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { openTab } from '../visitor.mjs';

const shown = page => page.$eval('#rendered', view => view.textContent);

export async function prompts({ context, server, token }) {
  const tab = await openTab(context, server);
  const { page } = tab;
  const file = () => readFileSync(join(server.dir, 'data/prompts/user.jsonl'), 'utf8');
  await check('prompts: the list finds by words', async () => {
    await tab.open('/prompts?q=summary');
    const titles = await page.$$eval('.hit h2, .hit h3', found => found.map(title => title.textContent.trim()));
    assert.ok(titles.includes('Summary of a text'), `${titles}`);
    assert.deepEqual(tab.problems(), []);
  });
  await check('prompts: the text is rendered as one types', async () => {
    await tab.open('/prompts/of/summary');
    await fillIn(page, 'value-0', 'Длинный текст');
    await fillIn(page, 'value-1', '静かな');
    await until('the rendering', async () => (await shown(page)).includes('Длинный текст') && (await shown(page)).includes('静かな'));
    assert.deepEqual(tab.problems(), []);
  });
  await check('prompts: an edit is saved', async () => {
    await page.focus('[name=text-0]');
    await page.$eval('[name=text-0]', area => area.setSelectionRange(area.value.length, area.value.length));
    await page.keyboard.type('\n\nНе больше трёх предложений.');
    await press(page, 'Save');
    assert.ok(await page.$('[role=status]'));
    assert.ok(file().includes('Не больше трёх предложений.'), 'the file has not changed');
  });
  await check('prompts: a stale edit shows both versions', async () => {
    await tab.open('/prompts/of/summary');
    await call(server, token, 'update_prompt', { name: 'summary', description: 'Theirs, from an agent.' });
    await fillIn(page, 'description', 'Mine, from the browser.');
    await press(page, 'Save');
    assert.ok(await page.$('[role=alert]'), 'nothing says so');
    assert.equal(await page.$eval('[name=description]', area => area.value), 'Mine, from the browser.');
    assert.ok(file().includes('Theirs, from an agent.'));
    await press(page, 'Save');
    assert.ok(file().includes('Mine, from the browser.'));
  });
  await check('prompts: a bad name is refused, and the text is kept', async () => {
    await tab.open('/prompts/new');
    await fillIn(page, 'name', 'not a name!');
    await fillIn(page, 'title', 'Bad');
    await fillIn(page, 'text-0', 'kept text');
    await press(page, 'Save');
    assert.ok(await page.$('[role=alert]'));
    assert.equal(await page.$eval('[name=text-0]', area => area.value), 'kept text');
  });
  await check('prompts: history and delete with undo', async () => {
    await tab.open('/prompts/of/summary');
    const link = await page.waitForSelector('main a[href$="/history"]');
    await Promise.all([page.waitForNavigation(), link.click()]);
    assert.ok((await page.$$('.changes > li')).length >= 2);
    await tab.open('/prompts/of/summary');
    await press(page, 'Delete this prompt');
    assert.ok(!file().includes('"summary"'));
    await press(page, 'Undo');
    assert.ok(file().includes('"summary"'));
  });
  await check('prompts: without JavaScript', async () => {
    const plain = await openTab(context, server, { script: false });
    await plain.open('/prompts/of/summary');
    await plain.page.type('[name=value-0]', 'plain words');
    await press(plain.page, 'Preview');
    assert.ok((await shown(plain.page)).includes('plain words'));
    await plain.close();
  });
  await tab.close();
}
