// The TypeScript SDK's generation 1, which many clients still ship: calls every read tool over stdio,
// streamable HTTP and HTTP+SSE. It refuses an answer that does not fit the tool's output schema.
//
//     with_server.sh BINARY node ts_client_1.mjs
import { createRequire } from 'node:module';

import { everyReadTool } from './calls.mjs';

// The packages live beside the build, not beside this file.
const require = createRequire(`${process.env.TOOLS}/`);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

const { SERVER_BIN, SERVER_ARGS, SERVER_URL, SERVER_TOKEN } = process.env;
const requestInit = { headers: { Authorization: `Bearer ${SERVER_TOKEN}` } };

const transports = {
  stdio: () => new StdioClientTransport({ command: SERVER_BIN, args: JSON.parse(SERVER_ARGS), stderr: 'ignore' }),
  http: () => new StreamableHTTPClientTransport(new URL('/_system/mcp', SERVER_URL), { requestInit }),
  sse: () => new SSEClientTransport(new URL('/_system/sse', SERVER_URL), { requestInit }),
};

let failed = 0;
for (const [name, transport] of Object.entries(transports)) {
  const client = new Client({ name: 'notewell-test', version: '1' });
  try {
    await client.connect(transport(), { timeout: 30_000 });
    await everyReadTool(client);
    console.log(`pass typescript 1 ${name}`);
  } catch (error) {
    failed = 1;
    console.log(`fail typescript 1 ${name}\n${error.stack ?? error}`);
  } finally {
    await client.close();
  }
}
process.exit(failed);
