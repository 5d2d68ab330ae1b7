// Claude Code signs in to `/mcp` with its own metadata document, and offers our tools to its model.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { withBrowser } from '../lab/browser.mjs';
import { tools } from '../lab/packages.mjs';
import { setUp } from '../lab/person.mjs';
import { check, finish, skip } from '../lab/report.mjs';
import { startServer } from '../lab/server.mjs';
import { newHome, run } from './program.mjs';

function find() {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
  const file = join(tools, `node_modules/@anthropic-ai/claude-code-linux-${arch}/claude`);
  return existsSync(file) ? file : undefined;
}

/** A model that says "done", and remembers which tools it was offered. */
async function startModel() {
  const offered = new Set();
  const model = createServer((request, response) => {
    let body = '';
    request.on('data', data => (body += data));
    request.on('end', () => {
      const asked = body ? JSON.parse(body) : {};
      for (const tool of asked.tools ?? []) offered.add(tool.name);
      const message = {
        id: 'msg_1', type: 'message', role: 'assistant', model: asked.model ?? 'none', stop_sequence: null,
        content: [{ type: 'text', text: 'done' }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 },
      };
      if (!asked.stream) {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(request.url.includes('count_tokens') ? { input_tokens: 1 } : message));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      const events = [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ];
      response.end(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    });
  });
  await new Promise(resolve => model.listen(0, '127.0.0.1', resolve));
  return { offered, url: `http://127.0.0.1:${model.address().port}`, stop: () => model.close() };
}

const claude = find();
if (!claude) {
  skip('claude code', 'the npm package @anthropic-ai/claude-code is not installed for this platform');
} else {
  await withBrowser(async browser => {
    const server = await startServer();
    const model = await startModel();
    const home = newHome();
    Object.assign(home.env, {
      ANTHROPIC_API_KEY: 'none',
      ANTHROPIC_BASE_URL: model.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    });
    const page = await browser.newPage();
    await check('claude code: set up of the owner', () => setUp(page, server));
    await check('claude mcp login completes', async () => {
      await run(home, [claude, 'mcp', 'add', '--transport', 'http', 'nw', `${server.url}/mcp`]);
      // It asks for a terminal.
      const login = `stty cols 4000; ${claude} mcp login nw`;
      const done = await run(home, ['script', '-qfec', login, '/dev/null'], { browser });
      assert.match(done.landed, /^http:\/\/localhost:\d+\/callback/);
    });
    await check('claude mcp list is connected', async () => {
      const { output } = await run(home, [claude, 'mcp', 'list']);
      assert.match(output, /nw: .*\/mcp .*(✓|✔) Connected/);
    });
    await check('claude lists our tools', async () => {
      const words = ['-p', 'say done', '--output-format', 'stream-json', '--verbose'];
      const { output } = await run(home, [claude, ...words], { input: '' });
      const begun = output.split('\n').filter(line => line.startsWith('{')).map(line => JSON.parse(line));
      const start = begun.find(message => message.subtype === 'init');
      assert.ok(start?.tools?.includes('mcp__nw__search'), `tools: ${start?.tools}; servers: ${JSON.stringify(start?.mcp_servers)}`);
      assert.deepEqual(start.mcp_servers.map(({ name, status }) => ({ name, status })), [{ name: 'nw', status: 'connected' }]);
    });
    home.done();
    model.stop();
    await check('claude code: server ends well', () => server.stop());
  });
}
finish();
