// Stored scripts: text that would like to run, in every field, on every page. The pages' policy would
// stop most of it, so it is switched off here; a second pass with it shows that there was nothing to stop.
import assert from 'node:assert/strict';

import { check } from '../../lab/report.mjs';
import { crawl } from '../crawl.mjs';
import { openTab } from '../visitor.mjs';

const seeds = ['/', '/account', '/users', '/audit', '/status', '/doctor', '/history', '/?q=hostile', '/?q=hostile&kind=card', '/?q=hostile&kind=bookmark', '/?q=hostile&kind=prompt',
  `/?q=${encodeURIComponent('"><img src=x onerror=pwned=71>')}`, `/?q=${encodeURIComponent('</title><script>pwned=72</script>')}`,
  `/?label=${encodeURIComponent('<svg/onload=pwned=73>')}`, `/sign-in?next=${encodeURIComponent('/"><svg/onload=pwned=74>')}`,
  `/${encodeURIComponent('<svg onload=pwned=75>')}`];

/** What is in the document that only a script of ours, or nobody, may have put there. */
const foreignParts = page =>
  page.evaluate(() => {
    const wrong = [];
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        // The one address of a script that we make, for the bookmarks bar.
        if (name === 'href' && 'bookmarklet' in element.dataset && element.closest('main') && !value.includes('pwned')) continue;
        if (/^on/i.test(name)) wrong.push(`<${element.localName} ${name}>`);
        if (['href', 'src', 'action', 'formaction', 'xlink:href', 'data', 'srcdoc'].includes(name) && /^\s*(javascript|vbscript|data:text|data:image\/svg)/i.test(value)) {
          wrong.push(`<${element.localName} ${name}="${value.slice(0, 40)}">`);
        }
        if (name === 'style') wrong.push(`<${element.localName} style="${value.slice(0, 40)}">`);
        if (element.localName !== 'a' && ['href', 'src', 'action', 'formaction', 'data', 'srcset', 'poster'].includes(name)) {
          const { host } = new URL(value, location.origin);
          if (host !== location.host && host !== '') wrong.push(`<${element.localName} ${name}="${value.slice(0, 60)}">`);
        }
      }
      if (['base', 'object', 'embed', 'iframe', 'frame', 'portal'].includes(element.localName)) wrong.push(`<${element.localName}>`);
      if (element.localName === 'script' && !element.src.startsWith(`${location.origin}/_system/web/`)) wrong.push('<script>');
      if (element.localName === 'meta' && element.httpEquiv && !element.content.startsWith(location.origin) && /url=http/i.test(element.content)) wrong.push(`<meta ${element.content}>`);
    }
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    // A note may have an id of its own twice; those begin with `s-`.
    const twice = ids.filter((id, index) => ids.indexOf(id) !== index && !id.startsWith('s-'));
    if (twice.length > 0) wrong.push(`ids twice: ${[...new Set(twice)]}`);
    if (document.querySelector('main')?.id !== 'main') wrong.push('main is not ours');
    return wrong;
  });

export async function storedScripts({ browser, context, server, cookie }) {
  for (const who of ['owner', 'visitor']) {
    const mine = who === 'owner' ? context : await browser.createBrowserContext();
    const { pages } = await crawl(server, { seeds, cookie: who === 'owner' ? cookie : '', perShape: 60 });
    for (const bypass of [true, false]) {
      const tab = await openTab(mine, server, { bypass });
      const wrong = [];
      for (const { url } of pages) {
        await tab.open(url);
        // Whatever waits for the pointer or the focus.
        await tab.page.evaluate(() => {
          for (const element of document.querySelectorAll('main *')) {
            for (const name of ['mouseover', 'focus', 'toggle']) element.dispatchEvent(new Event(name));
          }
        });
        const ran = await tab.page.evaluate(() => globalThis.pwned);
        // The corpus names pictures that are not there.
        const problems = tab.problems().filter(problem => !/status of 40[04]/.test(problem));
        const found = [...(await foreignParts(tab.page)), ...problems];
        if (ran !== undefined) found.unshift(`script ${ran} ran`);
        if (found.length > 0) wrong.push(`${decodeURI(url.slice(server.url.length))}: ${[...new Set(found)].join('; ')}`);
      }
      await tab.close();
      const policy = bypass ? 'without the policy' : 'with the policy';
      await check(`stored scripts: ${who}, ${pages.length} pages, ${policy}`, () => {
        assert.deepEqual(wrong, []);
        assert.ok(pages.length > (who === 'owner' ? 20 : 5), `only ${pages.length} pages`);
      });
    }
  }
}
