// `conformance authorization`, with Chromium as the person: set-up, sign-in and consent are our own pages.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { withBrowser } from '../lab/browser.mjs';
import { tools } from '../lab/packages.mjs';
import { setUp } from '../lab/person.mjs';
import { check, finish } from '../lab/report.mjs';
import { startServer } from '../lab/server.mjs';
import { allow } from './consent.mjs';

const suite = join(tools, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');

/** A port that was free a moment ago. */
const freePort = () =>
  new Promise(resolve => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

/** The id of a client that this server registers. */
async function registered(server, port) {
  const answer = await fetch(`${server.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Conformance suite',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      token_endpoint_auth_method: 'none',
    }),
  });
  const client = await answer.json();
  assert.equal(answer.status, 201, JSON.stringify(client));
  return client.client_id;
}

// The suite sends no secret where a server also takes clients without one, so its client has none.
const clients = {
  'a registered client': registered,
  'a client with a metadata document': () => 'https://chatgpt.com/oauth/codex/client.json',
};

async function run(browser, server, revision, clientId) {
  const port = await freePort();
  const words = [suite, 'authorization', '--url', server.url, '--client-id', await clientId(server, port), '--resource',
    `${server.url}/mcp`, '--port', String(port), '--spec-version', revision];
  const program = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let person;
  const read = data => {
    output += data;
    const address = /http:\/\/\S+\/authorize\?\S+/.exec(output)?.[0];
    if (address && !person) {
      person = allow(browser, address).catch(error => {
        program.kill();
        throw error;
      });
    }
  };
  program.stdout.on('data', read);
  program.stderr.on('data', read);
  const timer = setTimeout(() => program.kill(), 90_000);
  const status = await new Promise(resolve => program.on('close', resolve));
  clearTimeout(timer);
  await person;
  console.log(output.replace(/^/gm, '     '));
  assert.equal(status, 0, `the suite ended with status ${status}`);
  assert.ok(person, 'the suite never asked the person');
  const [, passed, failed] = /Total: (\d+) passed, (\d+) failed/.exec(output) ?? [];
  assert.ok(Number(passed) >= 3 && failed === '0', `passed ${passed}, failed ${failed}`);
}

await withBrowser(async browser => {
  const server = await startServer();
  await check('no metadata before there is an owner', async () => {
    for (const path of ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource/mcp']) {
      const answer = await fetch(`${server.url}/.well-known/${path}`);
      assert.equal(answer.status, 404, path);
    }
  });
  await check('set up of the owner in the browser', async () => {
    const page = await browser.newPage();
    await setUp(page, server);
    assert.equal(new URL(page.url()).pathname, '/');
    await page.close();
  });
  for (const revision of ['2025-11-25', '2026-07-28']) {
    for (const [name, clientId] of Object.entries(clients)) {
      await check(`conformance authorization ${revision}, ${name}`, () => run(browser, server, revision, clientId));
    }
  }
  await check('server ends well', () => server.stop());
});
finish();
