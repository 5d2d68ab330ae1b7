// The views of MCP Apps in Chromium, inside a sandboxed frame, driven by the extension's own bridge and
// a real client of a real server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { withBrowser } from '../lab/browser.mjs';
import { require, root } from '../lab/packages.mjs';
import { check, finish } from '../lab/report.mjs';
import { binary, startServer } from '../lab/server.mjs';
import { until } from '../lab/wait.mjs';
import { violationsOf } from './axe.mjs';
import { fillLibrary } from './library.mjs';
import { repository } from './market.mjs';
import { markup } from './payloads.mjs';
import { fillVault } from './vault.mjs';

const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { AppBridge } = await import(pathToFileURL(require.resolve('@modelcontextprotocol/ext-apps/app-bridge')).href);

// What the extension tells hosts to allow a view without domains.
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'self'; object-src 'none'";
const hostPage = `<!doctype html><html lang="en"><title>Host</title><link rel="icon" href="data:,"><iframe id="view" title="View" sandbox="allow-scripts" width="720" height="900"></iframe>
<script>addEventListener('message', event => { if (event.source === document.querySelector('#view').contentWindow) fromView(JSON.stringify(event.data)); });</script></html>`;

const pictures = join(root, 'target/screenshots');
mkdirSync(pictures, { recursive: true });

/** A host with one view, connected. */
async function openView(context, site, { html, client, theme = 'light', bypass = false, capabilities = { openLinks: {}, serverTools: {} } }) {
  const page = await context.newPage();
  const problems = [];
  page.on('console', message => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', error => problems.push(error.message));
  page.on('request', request => { if (!request.url().startsWith(site) && !/^(data|about|blob):/.test(request.url())) problems.push(`request to ${request.url()}`); });
  await page.setBypassCSP(bypass);
  const transport = {
    async start() {},
    async close() {},
    async send(message) {
      await page.evaluate(sent => document.querySelector('#view').contentWindow.postMessage(sent, '*'), message);
    },
  };
  await page.exposeFunction('fromView', text => transport.onmessage?.(JSON.parse(text)));
  await page.goto(site);
  const bridge = new AppBridge(client, { name: 'test host', version: '1' }, capabilities, { hostContext: { theme } });
  const opened = [];
  bridge.onopenlink = async ({ url }) => { opened.push(url); return {}; };
  let height = 0;
  bridge.addEventListener('sizechange', size => { height = size.height; });
  const ready = new Promise(resolve => bridge.addEventListener('initialized', resolve));
  await bridge.connect(transport);
  await page.$eval('#view', (frame, text) => { frame.srcdoc = text; }, html);
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('the view did not initialize')), 10_000).unref());
  await Promise.race([ready, late]);
  const frame = await (await page.$('#view')).contentFrame();
  return {
    page, frame, bridge, opened, problems,
    height: () => height,
    text: () => frame.$eval('main', main => main.innerText),
    async show(args, result) {
      await bridge.sendToolInput({ arguments: args });
      await bridge.sendToolResult(result);
      await until('the result is drawn', () => frame.$eval('main', main => !main.innerText.includes('Waiting for the result')));
    },
    close: () => page.close(),
  };
}

/** The same result with a text in the place of every text, but for the words that decide its shape. */
function poisoned(value, text, key = '') {
  if (typeof value === 'string') return ['status', 'securityVerdict', 'buildResult', 'testResult', 'type', 'kind', 'diff'].includes(key) ? (key === 'diff' ? `+${text}\n-${text}` : value) : text;
  if (Array.isArray(value)) return value.map(part => poisoned(part, text, key));
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, poisoned(part, text, name)]));
  return value;
}

const foreign = frame => frame.evaluate(() => {
  const wrong = [...document.querySelectorAll('main script, main style, main iframe, main img, main object, main embed, main form, main base, main link, main meta')].map(element => `<${element.localName}>`);
  for (const element of document.querySelectorAll('main *')) {
    for (const { name, value } of element.attributes) if (/^on|^style$/i.test(name) || /^\s*(javascript|data|vbscript):/i.test(value)) wrong.push(`${element.localName} ${name}`);
  }
  if (globalThis.pwned !== undefined) wrong.unshift(`script ${globalThis.pwned} ran`);
  return wrong;
});

await withBrowser(async browser => {
  const server = await startServer({ config: '[oss]\nbuild = false\n', fill: fillVault });
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.setHeader('content-security-policy', policy);
    response.end(hostPage);
  });
  await new Promise(resolve => site.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${site.address().port}/`;
  const context = await browser.createBrowserContext();
  try {
    const token = server.cli('token', 'create', '--scope', 'owner').trim().split(/\s+/).at(-1);
    await fillLibrary(server, token);
    const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
    const client = new Client({ name: 'test host', version: '1' }, { capabilities });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/_system/mcp', server.url), { requestInit }));
    const { tools } = await client.listTools();
    const documentOf = async name => {
      const { _meta } = tools.find(tool => tool.name === name);
      const { contents: [content] } = await client.readResource({ uri: _meta.ui.resourceUri });
      assert.equal(content.mimeType, 'text/html;profile=mcp-app');
      return content.text;
    };
    const documents = {};
    for (const name of ['search', 'trends', 'edit_page', 'oss_report']) documents[name] = await check(`views: the document of ${name}`, () => documentOf(name));
    const path = repository(server.dir, [['README.md', '# Хорошо 良い\n'], ['main.py', 'import os\nos.system("ls")\n']]);
    const made = spawnSync(binary, ['oss', path, '--json', '--config', join(server.dir, 'notewell.toml'), '--data', join(server.dir, 'data')], { encoding: 'utf8' });
    const report = { ...JSON.parse(made.stdout), status: 'verified' };
    const call = (name, args) => client.callTool({ name, arguments: args });
    const results = {
      search: [{ query: 'coffee' }, await call('search', { query: 'coffee' })],
      trends: [{ period: '1m' }, await call('trends', { period: '1m' })],
      edit_page: [{}, await call('edit_page', { path: 'drafts/Вид ビュー.md', op: 'create', text: '# Вид ビュー\n\nОдна строка.\n二行目。\n', dry_run: true })],
      oss_report: [{ repo_url: 'https://github.com/o/n' }, { content: [{ type: 'text', text: 'a report' }], structuredContent: report }],
    };
    for (const [name, [args, result]] of Object.entries(results)) {
      for (const theme of ['light', 'dark']) {
        await check(`views: ${name}, ${theme}`, async () => {
          assert.ok(!result.isError && result.content[0].text, 'the text stands alone');
          const view = await openView(context, address, { html: documents[name], client, theme });
          await view.show(args, result);
          assert.equal(await view.frame.$eval('html', html => html.className), theme);
          assert.ok(await view.frame.$('main h1'), await view.text());
          if (name === 'trends') assert.ok(await view.frame.$('svg.plot rect.now'), 'no plot');
          await view.frame.$$eval('details', all => all.forEach(one => { one.open = true; }));
          if (name === 'oss_report') assert.match(await view.text(), /main\.py:2/);
          if (name === 'edit_page') assert.match(await view.text(), /\+.*二行目/);
          assert.deepEqual([...view.problems, ...(await violationsOf(view.frame))], []);
          const wide = await view.frame.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${wide} px too wide`);
          await until('its height', () => view.height() > 100);
          await view.page.screenshot({ path: join(pictures, `view ${name} ${theme}.png`) });
          await view.bridge.teardownResource({});
          await view.close();
        });
      }
    }
    for (const [question, word] of [['coffee', /coffee/i], ['молоко', /молок/i], ['牛乳', /牛乳/]]) {
      await check(`views: a passage for ${question} is read in place`, async () => {
        const view = await openView(context, address, { html: documents.search, client });
        await view.show({ query: question }, await call('search', { query: question }));
        assert.match(await view.text(), word);
        await view.frame.click('main button');
        await view.frame.waitForSelector('pre.reading-here', { timeout: 10_000 });
        assert.ok((await view.frame.$eval('pre.reading-here', pre => pre.textContent)).length > 5);
        await view.frame.click('main .hit h2 a');
        await until('the host opens the link', () => view.opened.length > 0);
        assert.ok(view.opened[0].startsWith('http'), view.opened[0]);
        assert.deepEqual(view.problems, []);
        await view.close();
      });
    }
    await check('views: a host without tools gets no buttons, an error is shown as text', async () => {
      const view = await openView(context, address, { html: documents.search, client: null, capabilities: {} });
      await view.show(...results.search);
      assert.equal(await view.frame.$('main button'), null);
      await view.bridge.sendToolResult({ isError: true, content: [{ type: 'text', text: 'it failed <b>' }] });
      await until('the error', async () => (await view.text()).includes('it failed <b>'));
      await view.bridge.sendToolResult({ content: [{ type: 'text', text: 'only text' }] });
      await until('the text', async () => (await view.text()).includes('only text'));
      await view.close();
    });
    for (const bypass of [true, false]) {
      await check(`views: texts that would like to run, ${bypass ? 'without' : 'with'} the policy`, async () => {
        for (const [name, [args, result]] of Object.entries(results)) {
          const view = await openView(context, address, { html: documents[name], client, bypass });
          for (const text of markup) {
            const plots = { Topics: '<svg class="plot" xmlns="http://www.w3.org/2000/svg" onload="pwned=91"><script>pwned=92</script></svg>', Authors: text, Sites: '<svg class="plot" xmlns="http://www.w3.org/2000/svg"><a href="javascript:pwned=93"><text>x</text></a></svg>' };
            const bad = { content: [{ type: 'text', text }], structuredContent: poisoned(result.structuredContent, text), _meta: { 'notewell/plots': plots } };
            await view.show(args, bad);
            assert.deepEqual(await foreign(view.frame), [], `${name}: ${text}`);
          }
          assert.deepEqual(view.problems, [], name);
          await view.close();
        }
      });
    }
    await client.close();
  } finally {
    await context.close();
    site.close();
    await server.stop();
  }
});
finish();
