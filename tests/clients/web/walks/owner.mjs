// Running the library: people, what is shared with them, work that goes on, findings.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fillIn, press, signIn } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { netscape } from '../exports.mjs';
import { noteAt } from '../site.mjs';
import { openTab } from '../visitor.mjs';

const boris = { name: 'boris', password: 'staple battery horse' };

export async function owner(site) {
  const { browser, context, server } = site;
  const tab = await openTab(context, server);
  const { page } = tab;
  await check('owner: a user is added, given a part, and reads just that', async () => {
    await tab.open('/users');
    await fillIn(page, 'name', boris.name, 'form[action="/users"]');
    await fillIn(page, 'display_name', 'Борис <b>', 'form[action="/users"]');
    await fillIn(page, 'password', boris.password, 'form[action="/users"]');
    await press(page, 'Add');
    await tab.open(`/users/${boris.name}`);
    assert.equal(await page.$eval('h1', heading => heading.textContent), 'Борис <b>');
    const theirs = await openTab(await browser.createBrowserContext(), server);
    await signIn(theirs.page, server, boris);
    const closed = await noteAt(site, 'garden/Garden log.md');
    assert.equal((await theirs.open(closed)).status(), 404);
    await page.select('[name=part]', 'folder');
    await fillIn(page, 'what', 'vault/garden');
    await press(page, 'Share');
    assert.equal((await theirs.open(closed)).status(), 200);
    await theirs.open('/status');
    assert.ok(!(await theirs.page.content()).includes('Passages'), 'the state is for the owner');
    const back = await page.waitForSelector('.list form .danger');
    await Promise.all([page.waitForNavigation(), back.click()]);
    assert.equal((await theirs.open(closed)).status(), 404);
    await theirs.close();
    assert.deepEqual(tab.problems(), []);
  });
  await check('owner: the audit log has it', async () => {
    await tab.open('/audit');
    const text = await page.$eval('main', main => main.textContent);
    assert.ok(text.includes(boris.name), 'the new user is missing');
  });
  await check('owner: the status shows an import while it runs, without a reload', async () => {
    await tab.open('/status');
    const file = join(server.dir, 'status.html');
    writeFileSync(file, netscape(20_000, 'status'));
    const other = await openTab(context, server);
    await other.open('/bookmarks/import');
    await (await other.page.$('input[type=file]')).uploadFile(file);
    await press(other.page, 'Import', 'main');
    await page.bringToFront();
    await until('the import on the status page', () => page.$eval('#state', state => state.textContent.includes('Import of status.html') && state.querySelector('progress') !== null), { seconds: 40, every: 100 });
    await other.page.bringToFront();
    await press(other.page, 'Stop').catch(() => {});
    await until('the end', () => other.page.$eval('[data-watch]', watched => watched.dataset.watch !== 'running'), { seconds: 120, every: 200 });
    await other.close();
    await page.bringToFront();
    await until('the import gone', () => page.$eval('#state', state => !state.textContent.includes('Import of status.html')), { seconds: 40 });
    assert.deepEqual(tab.problems(), []);
  });
  await check('owner: findings have remedies', async () => {
    await tab.open('/doctor');
    assert.match(await page.$eval('main', main => main.textContent), /in order|wrong/i);
  });
  await tab.close();
}
