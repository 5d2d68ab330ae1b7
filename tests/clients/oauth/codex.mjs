// Codex signs in to `/mcp`, once with a client that it registers and once with its own metadata
// document, and lists our tools.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { withBrowser } from '../lab/browser.mjs';
import { require, tools } from '../lab/packages.mjs';
import { setUp } from '../lab/person.mjs';
import { check, finish, skip } from '../lab/report.mjs';
import { startServer } from '../lab/server.mjs';
import { newHome, run } from './program.mjs';

function find() {
  const arch = process.arch === 'arm64' ? ['arm64', 'aarch64'] : ['x64', 'x86_64'];
  const file = join(tools, 'node_modules/@openai', `codex-linux-${arch[0]}`, 'vendor', `${arch[1]}-unknown-linux-musl/bin/codex`);
  return existsSync(file) ? file : undefined;
}

/** What Codex's own server for editors says about our server: whether it is signed in, and its tools. */
async function status({ home, env }, codex) {
  const program = spawn(codex, ['app-server'], { cwd: home, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: program.stdout });
  const answers = new Map();
  lines.on('line', line => {
    const message = JSON.parse(line);
    answers.get(message.id)?.(message);
  });
  const ask = (id, method, params) =>
    new Promise((resolve, reject) => {
      answers.set(id, message => (message.error ? reject(new Error(JSON.stringify(message.error))) : resolve(message.result)));
      setTimeout(reject, 60_000, new Error(`Codex did not answer ${method} within 60 s`)).unref();
      program.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  try {
    const { version } = require('@openai/codex/package.json');
    await ask(1, 'initialize', { clientInfo: { name: 'notewell', title: 'Notewell', version } });
    program.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`);
    const { data } = await ask(2, 'mcpServerStatus/list', {});
    return data.find(server => server.name === 'nw');
  } finally {
    const ended = new Promise(resolve => program.on('close', resolve));
    program.kill();
    await ended;
  }
}

const codex = find();
if (!codex) {
  skip('codex', 'the npm package @openai/codex is not installed for this platform');
} else {
  await withBrowser(async browser => {
    const server = await startServer();
    const page = await browser.newPage();
    await check('codex: set up of the owner', () => setUp(page, server));
    for (const [way, consent] of [['dcr', {}], ['cimd', {}], ['auto', { write: false }]]) {
      const rights = consent.write === false ? ', reading only' : '';
      await check(`codex mcp add (${way}${rights}) completes and lists tools`, async () => {
        const home = newHome();
        try {
          writeFileSync(join(home.home, 'config.toml'), 'mcp_oauth_credentials_store = "file"\n');
          const words = ['mcp', 'add', 'nw', '--url', `${server.url}/mcp`, '--oauth-client-registration', way];
          const added = await run(home, [codex, ...words], { browser, consent });
          assert.match(added.landed, /^http:\/\/127\.0\.0\.1:\d+\/callback/);
          const seen = await status(home, codex);
          const names = Object.keys(seen?.tools ?? {});
          assert.ok(names.includes('search'), `tools: ${JSON.stringify(seen)}`);
          assert.equal(names.includes('create_note'), consent.write !== false, `asked for ${added.asked.get('scope')}, tools: ${names}`);
          assert.equal(seen.authStatus, 'oAuth');
          assert.equal(seen.serverInfo?.name, 'notewell');
        } finally {
          home.done();
        }
      });
    }
    await check('codex: server ends well', () => server.stop());
  });
}
finish();
