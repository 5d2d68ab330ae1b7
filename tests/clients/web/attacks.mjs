// Attacks on the pages.
//
//     node attacks.mjs [NAME...]     of: scripts, forms, framing, redirects, files
import { check, finish } from '../lab/report.mjs';
import { fileAttacks } from './attacks/files.mjs';
import { formAttacks } from './attacks/forms.mjs';
import { framing } from './attacks/framing.mjs';
import { redirects } from './attacks/redirects.mjs';
import { storedScripts } from './attacks/scripts.mjs';
import { withSite } from './site.mjs';

const attacks = { scripts: storedScripts, forms: formAttacks, framing, redirects, files: fileAttacks };
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(attacks);

await check('the server stands all of it', () =>
  withSite({ hostile: true }, async site => {
    for (const name of wanted) await attacks[name](site);
  }));
finish();
