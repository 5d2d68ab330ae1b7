// Reads what the conformance suite saved and prints one line per scenario that must pass.
// A scenario that left no result, or none that succeeded, has failed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// Without fixtures `resources-subscribe` and `resources-unsubscribe` do not apply: they subscribe to a resource
// of the fixtures, and Notewell refuses a subscription to a resource that does not exist.
const GENERAL = {
  '2025-11-25': [
    'server-initialize', 'server-session-lifecycle', 'ping', 'completion-complete', 'tools-list', 'resources-list',
    'prompts-list', 'server-sse-multiple-streams',
    'server-sse-polling', 'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'completion-complete', 'tools-list', 'resources-list', 'prompts-list', 'server-sse-multiple-streams', 'caching',
    'dns-rebinding-protection', 'sep-2164-resource-not-found', 'http-header-validation',
  ],
};

// The skills extension: the requirements do not name it, and the product passes it with skills of its own.
const SKILLS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

// Scenarios that check nothing: docs/conformance.md says why.
const EMPTY = ['tasks-status-notifications'];

const [mode, revision, requirements, folder] = process.argv.slice(2);

/** Every server scenario that the revision's file names, scored or not, but for those that check nothing. */
function everyScenario(text) {
  const scored = /^server:\n((?: {2}- .*\n)+)/m.exec(text)[1].match(/(?<=- ).*/g);
  const others = [...text.matchAll(/- scenario: (\S+)\n {4}leg: server\n/g)].map(match => match[1]);
  return [...scored, ...others].filter(name => !EMPTY.includes(name));
}

function savedChecks() {
  const saved = new Map();
  if (!existsSync(folder)) return saved;
  for (const entry of readdirSync(folder)) {
    const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    const file = join(folder, entry, 'checks.json');
    if (name && existsSync(file)) saved.set(name, JSON.parse(readFileSync(file, 'utf8')));
  }
  return saved;
}

const named = mode === 'general' ? GENERAL[revision] : everyScenario(readFileSync(requirements, 'utf8'));
const wanted = revision === '2026-07-28' ? [...named, ...SKILLS] : named;
const saved = savedChecks();
let failures = 0;
for (const name of wanted) {
  const checks = saved.get(name) ?? [];
  const bad = checks.filter(check => check.status === 'FAILURE');
  const good = checks.filter(check => check.status === 'SUCCESS');
  const passed = bad.length === 0 && good.length > 0;
  console.log(`${passed ? 'pass' : 'fail'} ${revision} ${name}: ${good.length} checks passed, ${bad.length} failed`);
  if (checks.length === 0) console.log('     the suite saved no result for it');
  for (const check of bad) console.log(`     ${check.id}: ${check.errorMessage ?? check.description}`);
  for (const check of checks.filter(check => check.status === 'WARNING')) {
    console.log(`     warning: ${check.id}: ${check.errorMessage ?? check.description}`);
  }
  if (!passed) failures += 1;
}
process.exit(failures === 0 ? 0 : 1);
