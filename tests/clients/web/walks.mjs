// What people do on the pages, in a real browser.
//
//     node walks.mjs [NAME...]
import { check, finish } from '../lab/report.mjs';
import { withSite } from './site.mjs';
import { account } from './walks/account.mjs';
import { bookmarks } from './walks/bookmarks.mjs';
import { cards } from './walks/cards.mjs';
import { editing } from './walks/editing.mjs';
import { market } from './walks/market.mjs';
import { owner } from './walks/owner.mjs';
import { prompts } from './walks/prompts.mjs';
import { reading } from './walks/reading.mjs';
import { search } from './walks/search.mjs';

const walks = { account, search, reading, editing, cards, bookmarks, prompts, market, owner };
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(walks);

await check('the server stands all walks', () =>
  withSite({}, async site => {
    for (const name of wanted) await walks[name](site);
  }));
finish();
