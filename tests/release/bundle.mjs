// Starts the server of an unpacked bundle as a client does, with two folders, and searches both.
//
//   bundle.mjs UNPACKED FOLDER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , unpacked, folder] = process.argv;
const { getMcpConfigForManifest } = await import(
  `${process.env.TOOLS}/node_modules/@anthropic-ai/mcpb/dist/index.js`
);
const notes = { tea: "Steep the leaves for three minutes.", garden: "Frost came late this spring." };
const vaults = Object.entries(notes).map(([name, text]) => {
  mkdirSync(`${folder}/${name}`);
  writeFileSync(`${folder}/${name}/${name}.md`, `# ${name}\n\n${text}\n`);
  return `${folder}/${name}`;
});
const config = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(`${unpacked}/manifest.json`, "utf8")),
  extensionPath: unpacked,
  systemDirs: {},
  userConfig: { vaults },
  pathSeparator: "/",
});
assert.deepEqual(config.args, ["mcp", ...vaults]);

const server = spawn(config.command, config.args, {
  env: { ...process.env, ...config.env },
  stdio: ["pipe", "pipe", "inherit"],
});
const answers = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  answers.get(message.id)?.(message);
});
let last = 0;
const call = (method, params) =>
  new Promise((resolve, reject) => {
    const id = ++last;
    const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), 60_000);
    answers.set(id, (message) => {
      clearTimeout(timer);
      resolve(message.result);
    });
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });

await call("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bundle", version: "1" },
});
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
for (const [query, text] of [["steep", notes.tea], ["frost", notes.garden]]) {
  const result = await call("tools/call", { name: "search", arguments: { query } });
  assert.ok(JSON.stringify(result).includes(text), `${query}: ${JSON.stringify(result)}`);
}
server.stdin.end();
const status = await new Promise((resolve) => server.on("exit", resolve));
assert.equal(status, 0);
console.log("a bundle with two folders serves both");
