// A browser tab that notices everything a page should not do.
export const views = [
  { name: 'light, wide', scheme: 'light', width: 1280, height: 900 },
  { name: 'dark, phone', scheme: 'dark', width: 390, height: 844, phone: true },
  { name: 'dark, wide', scheme: 'dark', width: 1280, height: 900 },
  { name: 'light, phone', scheme: 'light', width: 390, height: 844, phone: true },
];

/** `bypass` switches the pages' content security policy off, so that it hides no fault. */
export async function openTab(context, server, { bypass = false, script = true } = {}) {
  const page = await context.newPage();
  const { host } = new URL(server.url);
  let problems = [];
  let weight = 0;
  let parts = [];
  const types = new Map();
  await page.setBypassCSP(bypass);
  await page.setJavaScriptEnabled(script);
  page.on('console', message => {
    if (message.type() === 'error') problems.push(`console: ${message.text()} ${message.location()?.url ?? ''}`);
  });
  page.on('pageerror', error => problems.push(`script: ${error.message}`));
  page.on('dialog', async dialog => {
    if (dialog.type() !== 'beforeunload') problems.push(`dialog: ${dialog.message()}`);
    await dialog.accept();
  });
  page.on('popup', popup => problems.push(`window: ${popup?.url()}`));
  page.on('request', request => {
    const url = new URL(request.url());
    if (!['data:', 'blob:', 'about:'].includes(url.protocol) && url.host !== host) problems.push(`request to ${url.href.slice(0, 200)}`);
  });
  const session = await page.createCDPSession();
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  session.on('Network.responseReceived', ({ requestId, type, response }) => types.set(requestId, [type, response.url]));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const [type, url] = types.get(requestId) ?? [];
    if (type === 'Image' || type === undefined) return;
    weight += encodedDataLength;
    parts.push(`${new URL(url).pathname} ${encodedDataLength}`);
  });

  return {
    page,
    async look({ scheme, width, height, phone = false }) {
      await page.setViewport({ width, height, isMobile: phone, hasTouch: phone, deviceScaleFactor: 1 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
    },
    /** Opens an address, and forgets what went before. */
    async open(address) {
      problems = [];
      weight = 0;
      parts = [];
      const answer = await page.goto(new URL(address, server.url).href, { waitUntil: 'load', timeout: 60_000 });
      if (script) await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))));
      return answer;
    },
    problems: () => problems,
    forget: () => { problems = []; },
    /** Bytes on the wire since `open`, images aside. */
    weight: () => weight,
    parts: () => parts.join(', '),
    close: () => page.close(),
  };
}

/** The session cookie of a context, for requests without a browser. */
export async function cookieOf(context) {
  const cookies = await context.cookies();
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}
