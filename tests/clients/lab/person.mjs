// What a person does in the browser to get in.
export const owner = { name: 'olga', display: 'Olga Owner', password: 'correct horse battery' };

/** Clicks the button with this text and waits for the page that follows. */
export async function press(page, text, scope = '') {
  await follow(page, `${scope} ::-p-xpath(.//button[normalize-space(.)="${text}"])`.trim());
}

/** Clicks what this selector names and waits for the page that follows. */
export async function follow(page, selector) {
  const target = await page.waitForSelector(selector, { timeout: 10_000 });
  await restOf(target);
  await Promise.all([page.waitForNavigation({ timeout: 60_000 }), target.click()]);
}

/** Waits until an element stays where it is: a page that scrolls to its passage moves under a click. */
async function restOf(element) {
  let before;
  for (let tries = 0; tries < 50; tries++) {
    const box = JSON.stringify(await element.boundingBox());
    if (box === before) return;
    before = box;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

/** Types into the field of this name, in place of what it has. */
export async function fillIn(page, name, value, scope = '') {
  const field = await page.waitForSelector(`${scope} [name="${name}"]`.trim(), { timeout: 10_000 });
  await field.evaluate(element => { element.value = ''; });
  await field.type(value);
}

/** Makes the first owner with the code on the console. Ends signed in. */
export async function setUp(page, server, person = owner) {
  await page.goto(`${server.url}/setup`);
  await fillIn(page, 'code', await server.setupCode());
  await fillIn(page, 'name', person.name);
  await fillIn(page, 'display_name', person.display);
  await fillIn(page, 'password', person.password);
  await fillIn(page, 'again', person.password);
  await press(page, 'Make the account');
}

/** Fills in the sign-in form that `page` shows. */
export async function signInHere(page, person = owner) {
  await fillIn(page, 'name', person.name);
  await fillIn(page, 'password', person.password);
  await press(page, 'Sign in', 'main');
}

/** Signs in, and goes on to `next`. */
export async function signIn(page, server, person = owner, next = '/') {
  await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(next)}`);
  await signInHere(page, person);
}
