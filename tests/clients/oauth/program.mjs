// A client program in a home of its own, which can reach this machine and nothing else.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { allow } from './consent.mjs';

/** A home that is removed by `done()`, and the environment of a program that lives there. */
export function newHome() {
  const home = mkdtempSync(join(tmpdir(), 'notewell-client.'));
  // Port 9 discards: whatever would go elsewhere fails at once.
  const nowhere = 'http://127.0.0.1:9';
  const env = {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    COLUMNS: '4000',
    BROWSER: '/bin/true',
    HOME: home,
    TMPDIR: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'share'),
    XDG_CACHE_HOME: join(home, 'cache'),
    CODEX_HOME: home,
    CLAUDE_CONFIG_DIR: home,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    http_proxy: nowhere,
    https_proxy: nowhere,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
  return { home, env, done: () => rmSync(home, { recursive: true, force: true, maxRetries: 20 }) };
}

/**
 * Runs a program to its end and returns what it printed. Where it prints the address of our consent
 * page, a person in `browser` allows what it asks.
 */
export async function run({ home, env }, command, { browser, consent, seconds = 90, input, status: wanted = 0 } = {}) {
  const program = spawn(command[0], command.slice(1), { cwd: home, env, stdio: ['pipe', 'pipe', 'pipe'] });
  program.stdin.on('error', () => {});
  if (input !== undefined) program.stdin.end(input);
  let output = '';
  let person;
  const read = data => {
    output += data;
    // A terminal may break the line; the address ends where no character of an address follows.
    const address = /http:\/\/[\w.:]+\/authorize\?[^\s"'\x00-\x1f]+(?=[\s"'\x00-\x1f])/.exec(output)?.[0];
    if (browser && address && !person) {
      person = allow(browser, address, consent).catch(error => {
        program.kill();
        throw error;
      });
      // Awaited below; until then a failure is not an unhandled one.
      person.catch(() => {});
    }
  };
  program.stdout.on('data', read);
  program.stderr.on('data', read);
  const timer = setTimeout(() => program.kill('SIGKILL'), seconds * 1000);
  const status = await new Promise((resolve, reject) => {
    program.on('close', resolve);
    program.on('error', reject);
  });
  clearTimeout(timer);
  const result = await person;
  const shown = `${command.map(word => word.split('/').at(-1)).join(' ')}: status ${status}\n${output}`;
  if (status !== wanted) throw new Error(shown);
  if (browser && !result) throw new Error(`it never asked the person\n${shown}`);
  return { output, ...result };
}
