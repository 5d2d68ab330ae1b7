// Calls every tool that only reads, with answers that are full and answers that are empty, and lets
// the client check each of them against the tool's own output schema.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const calls = JSON.parse(readFileSync(new URL('calls.json', import.meta.url), 'utf8'));
const kept = {};

/** `$name` is what an earlier call kept under that name. */
const fill = value =>
  typeof value === 'string' && value.startsWith('$') ? kept[value.slice(1)] : value;

async function run(client, { tool, arguments: given = {}, has, none, fails, keep = {} }) {
  const args = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, fill(value)]));
  const answer = await client.callTool({ name: tool, arguments: args });
  const told = `${tool} ${JSON.stringify(args)}: ${JSON.stringify(answer)}`;
  if (fails) {
    assert.ok(answer.isError && answer.content[0].text, told);
    return;
  }
  assert.ok(!answer.isError && answer.content.length > 0 && answer.structuredContent, told);
  const size = field => answer.structuredContent[field]?.length ?? answer.structuredContent[field] ?? 0;
  if (has) assert.ok(size(has) > 0, `no ${has}: ${told}`);
  if (none) assert.equal(size(none), 0, `some ${none}: ${told}`);
  if (args.format === 'json') assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent);
  for (const [name, field] of Object.entries(keep)) kept[name] = answer.structuredContent[field];
}

let prepared = false;

/** All calls, on a client that is connected. What has to be there is made by the first. */
export async function everyReadTool(client) {
  const { tools } = await client.listTools();
  const called = new Set([...calls.fresh, ...calls.empty, ...calls.full].map(call => call.tool));
  const missed = tools.filter(tool => tool.annotations?.readOnlyHint && tool.outputSchema && !called.has(tool.name));
  assert.deepEqual(missed.map(tool => tool.name), [], 'calls.json leaves tools out');
  if (!prepared) {
    for (const call of [...calls.fresh, ...calls.setup]) await run(client, call);
    prepared = true;
  }
  for (const call of calls.empty) await run(client, call);
  // The vault is read in the background.
  for (let tries = 0; ; tries += 1) {
    const found = await client.callTool({ name: 'search', arguments: { query: 'coffee brewing' } });
    if (found.structuredContent.results.length > 0 || tries === 100) break;
    await new Promise(resolve => setTimeout(resolve, 200));
  }
  for (const call of [...calls.full, ...calls.walk]) await run(client, call);
}
