// axe-core, put into the page through the browser's protocol, which the page's policy does not concern.
import { readFileSync } from 'node:fs';

import { require } from '../lab/packages.mjs';

const source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The violations on a page, one line each with the first elements that have it. */
export async function violationsOf(page) {
  await page.evaluate(source);
  return page.evaluate(async runOnly => {
    // eslint-disable-next-line no-undef
    const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => {
      const shown = nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} (${failureSummary.split('\n')[1]?.trim()})`);
      return `${id} × ${nodes.length}: ${shown.join('; ')}`;
    });
  }, rules);
}
