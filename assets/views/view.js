// A result of a tool, drawn inside a host that speaks MCP Apps (2026-01-26). Every text becomes a
// text node: nothing of a result is read as HTML.
"use strict";

const view = document.documentElement.dataset.view;
const main = document.querySelector("main");

// The bridge: JSON-RPC with the window around this one.
const waiting = new Map();
let last = 0;
let host = { capabilities: {}, context: {} };
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => post({ method, params });
const ask = (method, params = {}) => new Promise((resolve, reject) => {
  last += 1;
  waiting.set(last, { resolve, reject });
  post({ id: last, method, params });
});

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const { resolve, reject } = waiting.get(data.id) ?? {};
    waiting.delete(data.id);
    if (data.error) reject?.(new Error(data.error.message)); else resolve?.(data.result);
  } else if (data.id !== undefined) {
    const known = ["ping", "ui/resource-teardown"].includes(data.method);
    post(known ? { id: data.id, result: {} } : { id: data.id, error: { code: -32601, message: `no method ${data.method}` } });
  } else {
    heard[data.method]?.(data.params ?? {});
  }
});

let given = {};
const heard = {
  "ui/notifications/tool-input": (params) => { given = params.arguments ?? {}; },
  "ui/notifications/tool-result": (result) => show(result),
  "ui/notifications/tool-cancelled": () => put(el("p", { class: "notice" }, "The call was cancelled.")),
  "ui/notifications/host-context-changed": (context) => look(context),
};

function look(context) {
  host.context = { ...host.context, ...context };
  const { theme } = host.context;
  document.documentElement.classList.toggle("light", theme === "light");
  document.documentElement.classList.toggle("dark", theme === "dark");
}

// Elements, from names, attributes and texts.
function el(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...content.flat(Infinity).filter((part) => part !== null && part !== undefined && part !== ""));
  return element;
}
const put = (...content) => main.replaceChildren(...content.flat(Infinity).filter(Boolean));
const texts = (result) => (result.content ?? []).filter((part) => part.type === "text").map((part) => part.text);
const counted = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
const auto = (name, text, attributes = {}) => el(name, { dir: "auto", ...attributes }, String(text ?? ""));

/** A link that the host opens; the text alone where the address is no web address. */
function link(text, address) {
  if (!/^https?:\/\//i.test(address ?? "")) return el("bdi", {}, text);
  const made = el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, el("bdi", {}, text));
  made.addEventListener("click", (event) => {
    if (!host.capabilities.openLinks) return;
    event.preventDefault();
    ask("ui/open-link", { url: address }).catch(() => {});
  });
  return made;
}

/** A button that calls a tool and hands its result on. */
function action(text, label, tool, args, then) {
  if (!host.capabilities.serverTools) return null;
  const button = el("button", { type: "button", class: "small", "aria-label": label }, text);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      then(await ask("tools/call", { name: tool, arguments: args }), button);
    } catch (error) {
      then({ isError: true, content: [{ type: "text", text: error.message }] }, button);
    }
    button.disabled = false;
  });
  return button;
}

function table(caption, columns, rows) {
  const cell = (value) => (typeof value === "number" ? el("td", { class: "number" }, String(value)) : auto("td", value));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, columns.map((column, at) => el("th", { scope: "col", class: typeof rows[0]?.[at] === "number" ? "number" : undefined }, column)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
}

const notes = (lines = []) => lines.map((line) => auto("p", line, { class: "meta" }));

const drawings = {
  search({ results, totalMatches, totalIsExact, notes: remarks }) {
    const least = totalIsExact === false ? "at least " : "";
    const passage = (match) => {
      const place = match.toc_path?.length ? el("span", { class: "section" }, match.toc_path.join(" › ")) : null;
      const item = el("div", {}, el("p", { class: "snippet", dir: "auto" }, place, match.snippet));
      const read = action("Read", `Read ${match.toc_path?.at(-1) ?? "the passage"}`, "note_html", { match_id: match.match_id, format: "markdown", max_tokens: 800 }, (answer, button) => {
        const text = texts(answer)[0] ?? "There is no text.";
        button.replaceWith(el("pre", { class: answer.isError ? "notice bad" : "reading-here", tabindex: "0", dir: "auto" }, text));
      });
      if (read) item.append(read);
      return item;
    };
    const hit = (item) => el("li", { class: "hit" },
      el("h2", {}, link(item.title, item.url)),
      el("p", { class: "meta" }, el("span", { class: "kind" }, item.kind), " ", el("bdi", {}, [item.author, item.path].filter(Boolean).join(" · "))),
      (item.matches ?? []).map(passage));
    return [el("h1", {}, `${least}${counted(totalMatches, "result")}`), ...notes(remarks),
      results.length ? el("ul", { class: "hits" }, results.map(hit)) : el("p", {}, "Try other words, or fewer of them.")];
  },

  trends(answer, plots) {
    const bars = (title, rows) => {
      if (!rows.length) return null;
      const section = el("section", { class: "panel" }, el("h2", {}, title));
      const drawn = plot(plots[title]);
      const numbers = table(`Numbers: ${title}`, ["Name", "Now", "Before"], rows);
      section.append(...(drawn ? [drawn, el("details", {}, el("summary", {}, "Numbers"), numbers)] : [numbers]));
      return section;
    };
    const tally = ({ name, topic, count, previous }) => [name ?? topic, count, previous];
    return [el("h1", {}, `Saved from ${answer.dateRange.from} to ${answer.dateRange.to}`),
      auto("p", answer.summary, { class: "lead" }), ...notes(answer.notes),
      bars("Topics", answer.topTopics.map(tally)), bars("Authors", answer.topAuthors.map(tally)), bars("Sites", answer.topDomains.map(tally)),
      answer.notableBookmarks.length ? el("section", {}, el("h2", {}, "Notable"), el("ul", { class: "list" }, answer.notableBookmarks.map((one) =>
        el("li", {}, auto("p", one.text), el("p", { class: "meta" }, link(one.author, one.url), " · ", one.reason))))) : null];
  },

  diff(answer) {
    const kinds = { "+": "add", "-": "remove", "@": "gap" };
    const lines = (answer.diff ?? "").split("\n").map((line) => el("span", { class: kinds[line[0]] ?? "same" }, `${line}\n`));
    const state = [answer.dry_run ? "Dry run: nothing was written." : null, answer.created ? "The note is new." : null,
      answer.merged ? "The note had changed elsewhere; both changes are in it." : null, answer.change ? `Change ${answer.change}.` : null];
    return [auto("h1", answer.path), el("p", { class: "meta", dir: "auto" }, [...(answer.toc_path ?? []), ...state.filter(Boolean)].join(" · ")),
      answer.diff ? el("pre", { class: "diff", tabindex: "0", dir: "auto" }, lines) : el("p", {}, "Nothing changed.")];
  },

  report(answer) {
    const head = el("h1", {}, link(answer.repoName, answer.repoUrl));
    if (answer.status !== "verified") {
      const again = action("Look again", "Look again", "oss_report", given, (result) => show(result));
      return [head, auto("p", answer.message ?? "There is no report."), again];
    }
    const words = { SAFE: ["no red flags found", "good"], VERIFY: ["verify before you use it", ""], CAUTION: ["use with caution", "bad"], AVOID: ["avoid", "bad"] };
    const [verdict, colour] = words[answer.securityVerdict] ?? [answer.securityVerdict, ""];
    const made = answer.checks.filter((check) => check.score !== null).length;
    const place = ({ file, line }) => (file ? el("code", {}, line ? `${file}:${line}` : file) : null);
    const checks = [...answer.checks].sort((a, b) => (a.score ?? 11) - (b.score ?? 11) || b.weight - a.weight);
    return [head,
      el("p", { class: "lead" }, el("span", { class: `dot ${colour}`, "aria-hidden": "true" }), " ", el("strong", {}, verdict), `, score ${answer.securityScore} of 100, ${made} of ${answer.checks.length} checks made`),
      el("p", { class: "meta" }, `commit ${answer.commit} · ${answer.buildResult.toLowerCase().replace("_", " ")} · ${answer.testResult.toLowerCase().replace("_", " ")}`),
      ...(answer.usageNotes ?? "").split("\n").filter(Boolean).map((line) => auto("p", line)),
      checks.map((check) => {
        const score = check.score === null ? "not made" : `${check.score} of 10`;
        const mark = check.score === null ? "" : check.score < 5 ? "bad" : check.score > 7 ? "good" : "";
        return el("details", { class: "panel", ...(mark === "bad" ? { open: "" } : {}) },
          el("summary", {}, el("span", { class: `dot ${mark}`, "aria-hidden": "true" }), ` ${check.name.replaceAll(/[_-]/g, " ")}: ${score}`),
          el("ul", { class: "list" }, check.evidence.map((one) => el("li", {}, auto("span", one.text), " ", place(one)))),
          check.remedy ? auto("p", `What a maintainer can do: ${check.remedy}`, { class: "meta" }) : null);
      }).flat(),
      answer.notExamined?.length ? el("section", {}, el("h2", {}, "Not examined"), el("ul", {}, answer.notExamined.map((line) => auto("li", line)))) : null];
  },
};

/** The server's drawing, as far as it is one: shapes and texts without anything that acts. */
function plot(source) {
  if (!source?.startsWith?.("<svg class=\"plot\"")) return null;
  const svg = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  const shapes = ["svg", "title", "g", "text", "rect", "line", "polyline", "circle"];
  const isPlain = (part) => shapes.includes(part.localName) && [...part.attributes].every(({ name }) => !/^on|href|style/i.test(name));
  if (![svg, ...svg.querySelectorAll("*")].every(isPlain)) return null;
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Plot" }, document.importNode(svg, true));
}

function show(result) {
  const said = texts(result);
  const plain = () => put(said.map((text) => auto("pre", text, { class: result.isError ? "notice bad" : "reading-here", tabindex: "0" })));
  if (result.isError || !result.structuredContent) return plain();
  try {
    put(drawings[view](result.structuredContent, result._meta?.["notewell/plots"] ?? {}));
  } catch {
    // A shape that this view does not know: the text has everything.
    plain();
  }
}

new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
}).observe(document.documentElement);

ask("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "notewell", version: "1" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
}).then((result) => {
  host.capabilities = result.hostCapabilities ?? {};
  look(result.hostContext ?? {});
  notify("ui/notifications/initialized");
}).catch((error) => put(el("p", { class: "notice bad", role: "alert" }, `The host refused this view: ${error.message}`)));
