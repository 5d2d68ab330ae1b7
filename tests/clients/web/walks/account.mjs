// Getting in and out.
import assert from 'node:assert/strict';

import { request } from '../../lab/mcp.mjs';
import { fillIn, owner, press, signIn } from '../../lab/person.mjs';
import { check } from '../../lab/report.mjs';
import { openTab } from '../visitor.mjs';

export async function account({ browser, server }) {
  const context = await browser.createBrowserContext();
  const tab = await openTab(context, server);
  const { page } = tab;
  await check('account: a wrong password says so and keeps the name', async () => {
    await page.goto(`${server.url}/sign-in`);
    await fillIn(page, 'name', owner.name);
    await fillIn(page, 'password', 'not the password');
    await press(page, 'Sign in', 'main');
    assert.ok(await page.$('[role=alert]'), 'no alert');
    assert.equal(await page.$eval('[name=name]', field => field.value), owner.name);
    assert.equal(await page.$eval('[name=password]', field => field.value), '');
    assert.equal((await context.cookies()).length, 0);
  });
  await check('account: signing in leads to the page that was wanted', async () => {
    await signIn(page, server, owner, '/?q=coffee');
    assert.equal(page.url(), `${server.url}/?q=coffee`);
    const [cookie] = await context.cookies();
    assert.ok(cookie.httpOnly, 'the cookie can be read by scripts');
    assert.equal(cookie.sameSite, 'Lax');
  });
  await check('account: the theme is kept', async () => {
    await page.click('.menu summary');
    await Promise.all([page.waitForNavigation(), page.click('.menu button[value=dark]')]);
    assert.equal(page.url(), `${server.url}/?q=coffee`);
    assert.ok(await page.$('html.dark'));
    await page.click('.menu summary');
    await Promise.all([page.waitForNavigation(), page.click('.menu button[value=auto]')]);
    assert.ok(!(await page.$('html.dark')));
  });
  await check('account: a token is made, shown once, and revoked', async () => {
    await page.goto(`${server.url}/account`);
    await page.$$eval('details.panel', panels => panels.forEach(panel => { panel.open = true; }));
    await fillIn(page, 'name', 'Телефон', 'form[action="/account/token"]');
    await press(page, 'Make token');
    const secret = /nw_[A-Za-z0-9_-]{20,}/.exec(await page.$eval('main', main => main.innerHTML))?.[0];
    assert.ok(secret, 'the token is not shown');
    const tools = await request(`${server.url}/_system/mcp`, secret, 'tools/list');
    assert.ok(tools.tools.some(tool => tool.name === 'search'));
    await page.goto(`${server.url}/account`);
    assert.ok(!(await page.content()).includes(secret), 'the token is shown again');
    const revoke = await page.waitForSelector('main ::-p-xpath(.//tr[contains(., "Телефон")]//button)');
    await Promise.all([page.waitForNavigation(), revoke.click()]);
    const after = await fetch(`${server.url}/_system/mcp`, { method: 'POST', headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    assert.equal(after.status, 401);
  });
  await check('account: signing out ends the session', async () => {
    const [cookie] = (await context.cookies()).filter(({ name }) => name === 'nw');
    await page.click('.menu summary');
    await Promise.all([page.waitForNavigation(), page.click('form[action="/sign-out"] button')]);
    assert.ok(!(await context.cookies()).some(({ name }) => name === 'nw'));
    // Also for who kept the cookie.
    const answer = await fetch(`${server.url}/`, { headers: { cookie: `nw=${cookie.value}`, accept: 'text/html' } });
    assert.ok(!(await answer.text()).includes('action="/sign-out"'));
  });
  await tab.close();
  await context.close();
}
