// From a keystroke to painted results on the front page. Prints figures, asserts nothing.
//
//     SERVER_BIN=… node speed.mjs VAULT [DIR]
//
// VAULT is a folder of notes. DIR/data is the data directory and keeps the index between runs; without it
// the vault is indexed first, which takes minutes for a large one. The binary should be a release build.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

import { withBrowser } from '../lab/browser.mjs';
import { startServer } from '../lab/server.mjs';
import { until } from '../lab/wait.mjs';

const [vault, dir] = process.argv.slice(2);
if (!vault) {
  console.error('usage: node speed.mjs VAULT [DIR]');
  process.exit(2);
}
const questions = ['how to back up a laptop', 'climate policy', 'vector search in rust', 'рецепт супа на ужин', 'история города', '京都の紅葉', '検索エンジンの仕組み', 'error handling'];

/** Runs in the page: notes when a key was pressed and when what it changed was painted. */
function watch() {
  const region = document.querySelector('#results');
  globalThis.times = [];
  let pressed;
  document.querySelector('#q').addEventListener('input', event => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const begun = pressed;
    if (begun === undefined) return;
    pressed = undefined;
    // After the frame that shows it.
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => globalThis.times.push(performance.now() - begun);
      port2.postMessage(0);
    });
  }).observe(region, { childList: true, subtree: true });
}

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

await withBrowser(async browser => {
  const keep = dir && resolve(dir);
  if (keep) mkdirSync(keep, { recursive: true });
  const server = await startServer({
    keep,
    config: '[server]\nanonymous = "owner"\n',
    args: ['--vault', resolve(vault)],
  });
  try {
    const status = await until('the index', () => {
      const now = JSON.parse(server.cli('status', '--json', '--vault', resolve(vault)));
      const [done, wanted] = now.vectors ?? [0, 0];
      process.stderr.write(`\r${now.passages} passages, ${now.behind} items behind, ${done} of ${wanted} vectors   `);
      return now.passages > 0 && now.behind === 0 && done === wanted && now;
    }, { seconds: 7200, every: 2000 });
    process.stderr.write('\n');
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(`${server.url}/`);
    await page.evaluate(watch);
    for (const question of questions) {
      await page.$eval('#q', box => { box.value = ''; box.focus(); });
      for (const letter of question) {
        const before = await page.evaluate(() => globalThis.times.length);
        await page.keyboard.sendCharacter(letter);
        // One key at a time, so that each is answered.
        await until('the results', () => page.evaluate(count => globalThis.times.length > count, before), { seconds: 10, every: 5 }).catch(() => {});
      }
    }
    const times = (await page.evaluate(() => globalThis.times)).sort((a, b) => a - b);
    const shown = [0.5, 0.9, 0.95, 0.99].map(part => `p${part * 100} ${quantile(times, part).toFixed(1)} ms`);
    console.log(`${times.length} keystrokes, ${status.passages} passages: ${shown.join(', ')}`);
    const [paint] = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime));
    console.log(`first paint of the front page: ${paint?.toFixed(1)} ms`);
  } finally {
    await server.stop();
  }
});
process.exit(0);
