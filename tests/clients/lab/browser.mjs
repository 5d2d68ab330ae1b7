// Headless Chromium. The flags that @sparticuz/chromium recommends switch off the same-origin policy,
// which is what these checks are about, so none of them is used.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { require, tools } from './packages.mjs';

const puppeteer = require('puppeteer-core').default;

const unpacked = join(tools, 'browser', 'chromium');
const executablePath = existsSync(unpacked) ? unpacked : '/usr/bin/chromium';
const env = { ...process.env };
if (!existsSync('/etc/fonts/fonts.conf')) env.FONTCONFIG_PATH = join(tools, 'browser', 'fonts');

export const launch = () =>
  puppeteer.launch({
    executablePath,
    env,
    headless: 'shell',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'],
  });

/** Runs `work` with a browser, and closes it whatever happens. */
export async function withBrowser(work) {
  const browser = await launch();
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}
