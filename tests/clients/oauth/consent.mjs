// The person's part of a client's sign-in: the address that the client shows, our sign-in page, our
// consent page, and the way back to the client.
import assert from 'node:assert/strict';

import { press, signInHere } from '../lab/person.mjs';

/** Opens `address` as a person would, allows what is asked, and returns where the browser ended. */
export async function allow(browser, address, { person, write = true } = {}) {
  const context = await browser.createBrowserContext();
  try {
    const page = await context.newPage();
    const complaints = [];
    page.on('console', message => {
      if (message.type() === 'error' && !/favicon/.test(message.text())) complaints.push(message.text());
    });
    await page.goto(address);
    const first = await page.$eval('body', body => body.innerText);
    assert.match(page.url(), /\/sign-in\?/, `${address} does not lead to the sign-in page: ${page.url()}\n${first}`);
    await signInHere(page, person);
    assert.match(page.url(), /\/authorize\?/, `after sign-in the person sees ${page.url()}`);
    const text = await page.$eval('main', main => main.innerText);
    const host = new URL(new URL(address).searchParams.get('redirect_uri')).host;
    assert.ok(text.includes(host), `the consent page does not show where it leads (${host}): ${text}`);
    if (!write) await page.click('input[type=checkbox][name=write]');
    const policy = [...complaints];
    await press(page, 'Allow');
    assert.deepEqual(policy, [], 'the browser complains about our pages');
    return { landed: page.url(), consent: text, asked: new URL(address).searchParams };
  } finally {
    await context.close();
  }
}
