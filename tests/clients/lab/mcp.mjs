// Tools over HTTP: a bare JSON-RPC request needs no handshake.
let id = 0;

/** Calls a method of MCP at `url`, an endpoint. */
export async function request(url, token, method, params = {}) {
  id += 1;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  });
  const body = await answer.json();
  if (body.error) throw new Error(`${method}: ${JSON.stringify(body.error)}`);
  return body.result;
}

/** Calls a tool as the owner of `token` and returns its structured answer, or else its text. */
export async function call(server, token, name, args = {}) {
  const result = await request(`${server.url}/_system/mcp`, token, 'tools/call', { name, arguments: args });
  if (result.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${result.content?.[0]?.text}`);
  return result.structuredContent ?? result.content[0].text;
}
