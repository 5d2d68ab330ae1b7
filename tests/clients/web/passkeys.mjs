// Passkeys with Chromium's virtual authenticator. Needs a binary with the feature `passkeys`.
import assert from 'node:assert/strict';

import { withBrowser } from '../lab/browser.mjs';
import { fillIn, owner, press, setUp, signIn } from '../lab/person.mjs';
import { check, finish } from '../lab/report.mjs';
import { startServer } from '../lab/server.mjs';
import { violationsOf } from './axe.mjs';
import { faultsOf } from './html.mjs';
import { openTab } from './visitor.mjs';

const name = 'Ольга’s 鍵 <i>';

/** A device that holds passkeys and whose user is always there. */
async function addDevice(page) {
  const session = await page.createCDPSession();
  await session.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
  return {
    keys: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    /** Replaces a key by one that differs in some fields. */
    async change(key, changes) {
      await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId: key.credentialId });
      await session.send('WebAuthn.addCredential', { authenticatorId, credential: { ...key, ...changes } });
    },
    verify: isUserVerified => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

const alertOf = page => page.waitForSelector('main [role=alert]:not([hidden])', { timeout: 20_000 }).then(alert => alert.evaluate(element => element.textContent));
const isSignedIn = async page => (await page.$('form[action="/sign-out"]')) !== null;

async function signOut(page) {
  await page.click('.menu summary');
  await Promise.all([page.waitForNavigation(), page.click('form[action="/sign-out"] button')]);
}

async function beginAdding(page, password) {
  await page.click('section[aria-labelledby=passkeys] summary');
  const form = 'form[data-passkey=create]';
  await fillIn(page, 'name', name, form);
  await fillIn(page, 'password', password, form);
}

async function enter(page, server, next = '/') {
  await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(next)}`);
  await press(page, 'Sign in with a passkey', 'main');
}

async function walk(browser, plain) {
  // Browsers offer passkeys on localhost, not on an address of numbers.
  const server = { ...plain, url: plain.url.replace('127.0.0.1', 'localhost') };
  const context = await browser.createBrowserContext();
  const tab = await openTab(context, server);
  const { page } = tab;
  const device = await addDevice(page);
  const audited = (action, outcome) =>
    JSON.parse(server.cli('audit', '--json')).some(entry => entry.action === action && entry.outcome === outcome);
  await setUp(page, server);

  await check('passkeys: an address of numbers leads to localhost', async () => {
    const other = await browser.createBrowserContext();
    const there = await other.newPage();
    await signIn(there, plain, owner, '/account');
    assert.equal(await there.$eval('section[aria-labelledby=passkeys] a', link => link.href), `${server.url}/account`);
    assert.equal(await there.$('form[data-passkey]'), null);
    await signOut(there);
    await there.goto(`${plain.url}/sign-in`);
    assert.equal(await there.$('form[data-passkey]'), null);
    await other.close();
  });
  await check('passkeys: adding one asks for the password', async () => {
    await page.goto(`${server.url}/account`);
    await beginAdding(page, 'not the password');
    await page.click('form[data-passkey=create] button');
    assert.match(await alertOf(page), /password is wrong/);
    assert.equal((await device.keys()).length, 0);
  });
  await check('passkeys: one is added under its name', async () => {
    await page.goto(`${server.url}/account`);
    await beginAdding(page, owner.password);
    await press(page, 'Add passkey', 'main');
    assert.equal(new URL(page.url()).search, '?done=passkey-added');
    assert.equal(await page.$eval('section[aria-labelledby=passkeys] li span', line => line.textContent), name);
    const [key] = await device.keys();
    assert.ok(key.isResidentCredential, 'the passkey cannot be found without a name');
    assert.equal(key.rpId, 'localhost');
    assert.ok(audited('passkey_add', 'ok'), 'no entry in the audit log');
  });
  await check('passkeys: the same device is not added twice', async () => {
    await page.goto(`${server.url}/account`);
    await beginAdding(page, owner.password);
    await page.click('form[data-passkey=create] button');
    assert.match(await alertOf(page), /already/);
    assert.equal((await device.keys()).length, 1);
  });
  await check('passkeys: the pages are valid and accessible', async () => {
    for (const path of ['/account', '/sign-in']) {
      if (path === '/sign-in') await signOut(page);
      const answer = await tab.open(path);
      assert.deepEqual(await faultsOf(await answer.text()), [], path);
      assert.ok(await page.$eval('form[data-passkey]', form => form.closest('[hidden]') === null), `${path} hides the form`);
      assert.deepEqual([...tab.problems(), ...(await violationsOf(page))], [], path);
    }
  });

  let sent = '';
  await check('passkeys: one signs in and leads to the page that was wanted', async () => {
    page.on('request', request => {
      if (new URL(request.url()).pathname === '/sign-in/passkey') sent = request.postData();
    });
    tab.forget();
    await enter(page, server, '/account');
    assert.equal(page.url(), `${server.url}/account`);
    assert.ok(await isSignedIn(page));
    assert.match(await page.$eval('section[aria-labelledby=passkeys] li', line => line.textContent), /used just now/);
    assert.deepEqual(tab.problems(), []);
  });
  await check('passkeys: an answer counts once, and only for its own challenge', async () => {
    assert.ok(sent, 'nothing was posted');
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
    const post = (path, body) => fetch(`${server.url}${path}`, { method: 'POST', redirect: 'manual', headers, body });
    const again = await post('/sign-in/passkey', sent);
    const fields = new URLSearchParams(sent);
    const { attempt } = await (await post('/sign-in/passkey/begin', '')).json();
    fields.set('attempt', attempt);
    const other = await post('/sign-in/passkey', fields);
    for (const answer of [again, other]) {
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.get('set-cookie'), null);
    }
    assert.ok(audited('sign_in', 'wrong_passkey'), 'no entry in the audit log');
    const elsewhere = await fetch(`${server.url}/sign-in/passkey/begin`, { method: 'POST', headers: { ...headers, 'sec-fetch-site': 'cross-site' }, body: '' });
    assert.equal(elsewhere.status, 403);
  });
  await signOut(page);
  await check('passkeys: a device that does not verify its user opens nothing', async () => {
    await device.verify(false);
    await page.goto(`${server.url}/sign-in`);
    await page.click('form[data-passkey=get] button');
    assert.match(await alertOf(page), /No passkey was used/);
    await device.verify(true);
    assert.ok(!(await isSignedIn(page)));
  });
  await check('passkeys: a copy whose counter is behind is refused and recorded', async () => {
    const [key] = await device.keys();
    await device.change(key, { signCount: key.signCount - 1 });
    await enter(page, server);
    assert.match(await alertOf(page), /copied/);
    assert.ok(!(await isSignedIn(page)));
    assert.ok(audited('sign_in', 'copied_passkey'), 'no entry in the audit log');
    const [copy] = await device.keys();
    await device.change(copy, { signCount: key.signCount + 5 });
    await enter(page, server);
    assert.ok(await isSignedIn(page), 'the key itself opens nothing any more');
  });
  await check('passkeys: a removed one opens nothing', async () => {
    await page.goto(`${server.url}/account`);
    await Promise.all([page.waitForNavigation(), page.click('form[action="/account/passkey/remove"] button')]);
    assert.equal(new URL(page.url()).search, '?done=passkey-removed');
    assert.equal(await page.$('form[action="/account/passkey/remove"]'), null);
    assert.ok(audited('passkey_remove', 'ok'), 'no entry in the audit log');
    await signOut(page);
    assert.equal((await device.keys()).length, 1);
    await enter(page, server);
    assert.match(await alertOf(page), /opens no account/);
    assert.ok(!(await isSignedIn(page)));
    assert.ok(audited('sign_in', 'unknown_passkey'), 'no entry in the audit log');
  });
  await check('passkeys: without scripts the password is left', async () => {
    const other = await openTab(await browser.createBrowserContext(), server, { script: false });
    await other.open('/sign-in');
    const form = await other.page.$('form[data-passkey]');
    assert.ok(!(await form.isVisible()), 'a button that does nothing');
    await signIn(other.page, server);
    assert.ok(await isSignedIn(other.page));
    await other.close();
  });
  await tab.close();
}

await check('the server stands the walk', () =>
  withBrowser(async browser => {
    const server = await startServer({ config: '[embed]\nprovider = "none"\n' });
    try {
      await walk(browser, server);
    } finally {
      await server.stop();
    }
  }));
finish();
