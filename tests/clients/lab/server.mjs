// A Notewell server of one's own: a throwaway folder, a free port, nothing of the user's settings.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { root } from './packages.mjs';
import { until } from './wait.mjs';

export const binary = process.env.SERVER_BIN ?? join(root, 'target/debug/notewell');

/** `fill(dir)` may put a vault into `dir/vault` and files beside it; `config` is notewell.toml. */
export async function startServer({ config = '', fill = () => {}, args = [], keep } = {}) {
  const dir = keep ?? mkdtempSync(join(tmpdir(), 'notewell-lab.'));
  for (const name of ['data', 'vault']) mkdirSync(join(dir, name), { recursive: true });
  writeFileSync(join(dir, 'notewell.toml'), config);
  await fill(dir);
  const common = ['--config', join(dir, 'notewell.toml'), '--data', join(dir, 'data'), '--vault', join(dir, 'vault')];
  let output = '';
  const server = spawn(binary, ['serve', '--listen', '127.0.0.1:0', ...common, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [server.stdout, server.stderr]) stream.on('data', data => (output += data));
  const ended = new Promise(resolve => server.on('exit', (code, signal) => resolve({ code, signal })));
  const lines = () => `--- the server's last words\n${output.split('\n').slice(-30).join('\n')}`;
  const printed = (what, pattern) =>
    until(what, () => {
      if (server.exitCode !== null) throw new Error(`the server ended\n${lines()}`);
      return pattern.exec(output)?.[1];
    }, { seconds: 60 });
  const url = await printed('the address of the server', /listening on (http:\S+)/);

  return {
    dir,
    url,
    pid: server.pid,
    output: () => output,
    /** The code that makes the first owner. */
    setupCode: () => printed('the set-up code', /enter the code (\S+)/),
    /** Runs a command of the binary on the same data and returns what it printed. */
    cli(...command) {
      const input = command.at(-1)?.input;
      const words = input === undefined ? command : command.slice(0, -1);
      const ran = spawnSync(binary, [...words, ...common.slice(0, 4)], { encoding: 'utf8', input });
      if (ran.status !== 0) throw new Error(`notewell ${words.join(' ')}: ${ran.stderr}`);
      return ran.stdout;
    },
    /** Ends the server. One that died before, or does not end well, is an error. */
    async stop() {
      const died = server.exitCode !== null || server.signalCode !== null;
      if (!died) server.kill('SIGTERM');
      const late = new Promise(resolve => setTimeout(resolve, 20_000, 'late').unref());
      const how = await Promise.race([ended, late]);
      if (how === 'late') server.kill('SIGKILL');
      if (!keep) rmSync(dir, { recursive: true, force: true });
      if (died) throw new Error(`the server died while the checks ran\n${lines()}`);
      if (how === 'late') throw new Error(`the server did not end within 20 s of SIGTERM\n${lines()}`);
      if (how.code !== 0) throw new Error(`the server ended with status ${how.code ?? how.signal}\n${lines()}`);
    },
  };
}
