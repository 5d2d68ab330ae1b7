// Reading a note: outline, passage, links, what stands around it.
import assert from 'node:assert/strict';

import { check } from '../../lab/report.mjs';
import { until } from '../../lab/wait.mjs';
import { noteAt } from '../site.mjs';
import { openTab } from '../visitor.mjs';

export async function reading(site) {
  const { context, server } = site;
  const tab = await openTab(context, server);
  const { page } = tab;
  await check('reading: a hit opens at its passage, which is marked', async () => {
    await tab.open(`/?q=${encodeURIComponent('coffee tastes sour')}`);
    const link = await page.waitForSelector('.hit .snippet a, .hit h2 a');
    await Promise.all([page.waitForNavigation(), link.click()]);
    assert.match(page.url(), /\/n\/\d+.*#./);
    await until('the passage in view', () => page.evaluate(() => {
      const top = document.querySelector(':target')?.getBoundingClientRect().top;
      return top >= 0 && top < innerHeight;
    }));
    // The mark is on the anchor, or on what it stands before.
    const seen = await page.evaluate(() => {
      const target = document.querySelector(':target');
      const style = getComputedStyle(target.matches('.at') ? target.nextElementSibling : target);
      return { background: style.backgroundColor, outline: style.outlineStyle, shadow: style.boxShadow };
    });
    assert.ok(seen, 'no element has the id of the address');
    const isMarked = seen.background !== 'rgba(0, 0, 0, 0)' || seen.outline !== 'none' || seen.shadow !== 'none';
    assert.ok(isMarked, 'the passage looks like any other');
  });
  await check('reading: the outline follows', async () => {
    await tab.look({ scheme: 'light', width: 1280, height: 900 });
    await tab.open(await noteAt(site, 'guides/Home backup guide.md'));
    const current = () => page.$eval('.outline [aria-current]', link => link.textContent);
    const first = await current();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await until('another heading', async () => (await current()) !== first);
    const last = await page.$$eval('.outline a', links => links.at(-1).getAttribute('href'));
    await page.click(`.outline a[href="${last}"]`);
    assert.equal(decodeURIComponent(new URL(page.url()).hash), decodeURIComponent(last));
  });
  await check('reading: everything a note can hold is shown', async () => {
    await tab.open(await noteAt(site, 'shapes/Everything.md'));
    const has = await page.evaluate(() => {
      const note = document.querySelector('.note');
      const count = selector => note.querySelectorAll(selector).length;
      return {
        headings: count('h2') > 3, table: count('table td') > 3, code: count('pre code') === 1, callout: count('.callout') === 1,
        footnote: count('.footnote-reference') === 1, tasks: count('input[type=checkbox], .task') >= 2,
        picture: [...note.querySelectorAll('img')].some(image => image.naturalWidth > 0),
        missing: count('.missing') >= 1, mark: count('mark') >= 1,
        formulas: [...note.querySelectorAll('math')].filter(math => math.getBoundingClientRect().width > 20).length === 2,
        source: [...note.querySelectorAll('.math code')].some(code => code.textContent.includes('frac')),
        coloured: count('pre code span[class^=t-]') > 2,
      };
    });
    assert.deepEqual(Object.entries(has).filter(([, value]) => !value).map(([name]) => name), []);
    assert.deepEqual(tab.problems(), []);
  });
  await check('reading: a wiki-link shows a preview and leads to its note', async () => {
    await tab.open(await noteAt(site, 'shapes/Everything.md'));
    const link = await page.waitForSelector('.note .text ::-p-xpath(.//a[contains(., "Coffee brewing")])');
    await link.focus();
    const preview = await page.waitForSelector('.preview', { timeout: 10_000 });
    assert.match(await preview.evaluate(element => element.textContent), /coffee/i);
    await page.keyboard.press('Escape');
    assert.equal(await page.$('.preview'), null);
    await Promise.all([page.waitForNavigation(), link.click()]);
    assert.match(await page.$eval('h1', heading => heading.textContent), /Coffee brewing/);
    const backlinks = await page.$$eval('.around a', links => links.map(anchor => anchor.textContent));
    assert.ok(backlinks.some(title => title.includes('Everything')), `around: ${backlinks}`);
    assert.deepEqual(tab.problems(), []);
  });
  await check('reading: right to left', async () => {
    await tab.open(await noteAt(site, 'shapes/حديقة.md'));
    const direction = await page.$eval('h1', heading => getComputedStyle(heading).direction);
    assert.equal(direction, 'rtl');
    const text = await page.$eval('.note .text p', paragraph => getComputedStyle(paragraph).direction);
    assert.equal(text, 'rtl');
  });
  await check('reading: ten thousand lines open within two seconds', async () => {
    const address = await noteAt(site, 'shapes/Ten thousand lines.md');
    const begun = Date.now();
    await tab.open(address);
    const took = Date.now() - begun;
    assert.ok(await page.evaluate(() => document.body.textContent.includes('Line 9999:')), 'its end is missing');
    assert.ok(took < 2000, `it took ${took} ms`);
  });
  await check('reading: a note that is not there', async () => {
    const answer = await tab.open('/n/999999');
    assert.equal(answer.status(), 404);
    assert.match(await page.$eval('main', main => main.textContent), /not found/i);
  });
  await tab.close();
}
