// The TypeScript SDK's client: lists and calls over stdio, streamable HTTP and HTTP+SSE, in both eras.
//
//     with_server.sh BINARY node ts_client.mjs [TOOL [ARGUMENTS]]
//
// SERVER_TRANSPORTS (default `stdio,http,sse`) narrows what is tried.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

import { everyReadTool } from './calls.mjs';

// The packages live beside the build, not beside this file.
const require = createRequire(`${process.env.TOOLS}/`);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const { SERVER_BIN, SERVER_ARGS, SERVER_URL, SERVER_TOKEN } = process.env;
const tool = process.argv[2] ?? 'search';
const toolArguments = JSON.parse(process.argv[3] ?? '{"query":"tea"}');
const wanted = (process.env.SERVER_TRANSPORTS ?? 'stdio,http,sse').split(',');
const expected = { legacy: '2025-11-25', auto: '2026-07-28' };
const requestInit = { headers: { Authorization: `Bearer ${SERVER_TOKEN}` } };

const transports = {
  stdio: () => new StdioClientTransport({ command: SERVER_BIN, args: JSON.parse(SERVER_ARGS), stderr: 'ignore' }),
  http: () => new StreamableHTTPClientTransport(new URL('/_system/mcp', SERVER_URL), { requestInit }),
  sse: () => new SSEClientTransport(new URL('/_system/sse', SERVER_URL), { requestInit }),
};

async function check(transport, mode) {
  const client = new Client({ name: 'notewell-test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transports[transport](), { timeout: 30_000 });
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), expected[mode]);
    assert.ok(client.getServerVersion()?.name);
    const { tools } = await client.listTools();
    assert.ok(tools.some(listed => listed.name === tool), `\`${tool}\` is not among ${tools.map(t => t.name)}`);
    const answer = await client.callTool({ name: tool, arguments: toolArguments });
    assert.ok(!answer.isError && answer.content.length > 0, JSON.stringify(answer));
    await everyReadTool(client);
    const capabilities = client.getServerCapabilities();
    if (capabilities.prompts) assert.ok(Array.isArray((await client.listPrompts()).prompts));
    if (capabilities.resources) assert.ok(Array.isArray((await client.listResources()).resources));
    if (mode === 'legacy') await client.ping();
  } finally {
    await client.close();
  }
}

const checks = ['stdio', 'http'].flatMap(transport => ['legacy', 'auto'].map(mode => [transport, mode]));
checks.push(['sse', 'legacy']);
let failed = 0;
for (const [transport, mode] of checks) {
  if (!wanted.includes(transport)) continue;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no end within 120 s')), 120_000);
  });
  try {
    await Promise.race([check(transport, mode), late]);
    console.log(`pass typescript ${transport} ${mode}`);
  } catch (error) {
    failed = 1;
    console.log(`fail typescript ${transport} ${mode}\n${error.stack ?? error}`);
  } finally {
    clearTimeout(timer);
  }
}
process.exit(failed);
