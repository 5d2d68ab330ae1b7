// Makes the pages quicker. Nothing needs it: without it every form and link works by itself.
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const box = $("#q");

/** Fetches a part of a page; a newer request for the same slot cancels this one. */
const slots = new Map();
async function part(slot, address, init = {}) {
  slots.get(slot)?.abort();
  const control = new AbortController();
  slots.set(slot, control);
  const headers = { "x-part": "1", ...init.headers };
  const answer = await fetch(address, { ...init, headers, signal: control.signal });
  const text = await answer.text();
  if (slots.get(slot) === control) slots.delete(slot);
  return new DOMParser().parseFromString(text, "text/html");
}

/** Runs work whose failure leaves the page as it is; a cancelled request is no failure. */
const quietly = (work) => work.catch((error) => {
  if (error.name !== "AbortError") console.warn("not updated:", error.message);
});

function searchOf(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value.trim()) query.delete(name);
  return query;
}

// The front page: results take the place of the page while somebody types.
function liveResults() {
  const region = $("#results"), count = $("#count"), site = $(".home").textContent.trim();
  let composing = false;
  const update = () => quietly((async () => {
    const query = searchOf(box.form);
    const address = query.size ? `/?${query}` : "/";
    history.replaceState(null, "", address);
    document.title = [box.value.trim(), site].filter(Boolean).join(" · ");
    const page = await part("results", address);
    const fresh = page.body.firstElementChild;
    region.replaceChildren(fresh ?? "");
    count.textContent = fresh?.dataset.count ?? "";
    const welcome = $("#welcome");
    if (welcome) welcome.hidden = query.size > 0;
    for (const chip of $$(".chips[aria-label=Kind] a")) keepWords(chip);
    for (const field of $$(".filters input[name=q]")) field.value = box.value;
  })());
  box.addEventListener("compositionstart", () => { composing = true; });
  box.addEventListener("compositionend", () => { composing = false; update(); });
  box.addEventListener("input", () => { if (!composing) update(); });
  // Arrows walk through the results; Esc returns to the box and clears it.
  document.addEventListener("keydown", (event) => {
    const links = $$(".hit h2 a", region);
    const at = links.indexOf(document.activeElement);
    const inside = at >= 0 || document.activeElement === box;
    if (event.key === "Escape" && inside) {
      if (at < 0 && box.value) { box.value = ""; update(); }
      box.focus();
    } else if (event.key === "ArrowDown" && inside && links.length) {
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      (at === 0 ? box : links[at - 1]).focus();
    } else return;
    event.preventDefault();
  });
}

/** Puts the words of the box into the address of a chip. */
function keepWords(chip) {
  const address = new URL(chip.href);
  if (box.value.trim()) address.searchParams.set("q", box.value);
  else address.searchParams.delete("q");
  chip.href = address.pathname + address.search;
}

// Other pages: a list of the best results below the box (the ARIA combobox pattern).
function suggestions() {
  const list = $("#suggestions");
  const set = (name, value) => box.setAttribute(name, value);
  set("role", "combobox"); set("aria-autocomplete", "list"); set("aria-controls", "suggestions"); set("aria-expanded", "false");
  const options = () => $$("[role=option]", list);
  const close = () => { list.hidden = true; set("aria-expanded", "false"); box.removeAttribute("aria-activedescendant"); };
  const choose = (option) => {
    for (const other of options()) other.setAttribute("aria-selected", other === option);
    option?.scrollIntoView({ block: "nearest" });
    if (option) set("aria-activedescendant", option.id); else box.removeAttribute("aria-activedescendant");
  };
  box.addEventListener("input", () => quietly((async () => {
    if (!box.value.trim()) return close();
    const page = await part("suggestions", `/suggest?q=${encodeURIComponent(box.value)}`);
    if (!page.body.firstElementChild?.matches("[data-count]")) return close();
    list.replaceChildren(page.body.firstElementChild);
    list.hidden = false;
    set("aria-expanded", "true");
    choose(null);
  })()));
  box.addEventListener("keydown", (event) => {
    const all = options(), at = all.findIndex((option) => option.ariaSelected === "true");
    if (event.key === "Escape") { if (list.hidden) box.value = ""; close(); }
    else if (list.hidden || !all.length) return;
    else if (event.key === "ArrowDown") choose(all[(at + 1) % all.length]);
    else if (event.key === "ArrowUp") choose(all[at < 0 ? all.length - 1 : at - 1] ?? null);
    else if (event.key === "Enter" && at >= 0) location.assign(all[at].dataset.href);
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousedown", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) location.assign(option.dataset.href);
  });
  box.addEventListener("blur", () => setTimeout(close, 150));
}

if (box) {
  if (box.closest("[data-live]")) liveResults(); else suggestions();
  if (/Mac|iPhone|iPad/.test(navigator.platform)) for (const key of $$(".hint")) key.textContent = "⌘ K";
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}

// A menu closes when something else is used.
document.addEventListener("click", (event) => {
  for (const menu of $$("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && $("details.menu[open]");
  if (menu) { menu.open = false; $("summary", menu).focus(); }
});

// The outline follows the reader.
function outline() {
  const links = new Map($$(".outline a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  if (!headings.length) return;
  const follow = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const current = (passed.at(-1) ?? headings[0]).id;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });
  follow();
}

// A link to another note shows its beginning.
function previews() {
  const note = $(".note");
  if (!note) return;
  let timer, shown;
  const hide = () => { clearTimeout(timer); shown?.remove(); shown = null; };
  const show = (link) => {
    hide();
    timer = setTimeout(() => quietly((async () => {
      const page = await part("preview", `/preview?href=${encodeURIComponent(link.pathname)}`);
      const card = page.querySelector(".preview");
      if (!card || !(link.matches(":hover") || link === document.activeElement)) return;
      hide();
      shown = card;
      link.after(card);
    })()), 250);
  };
  const own = (event) => {
    const link = event.target.closest?.(".text a[href]:not(.edit)");
    return link && link.origin === location.origin && link.pathname !== location.pathname ? link : null;
  };
  note.addEventListener("mouseover", (event) => { const link = own(event); if (link) show(link); });
  note.addEventListener("focusin", (event) => { const link = own(event); if (link) show(link); });
  note.addEventListener("mouseout", (event) => { if (own(event)) hide(); });
  note.addEventListener("focusout", (event) => { if (own(event)) hide(); });
  note.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}

// Code gets colours: comments, strings, numbers and the usual keywords.
const TOKEN = /(\/\/[^\n]*|\/\*[^]*?\*\/|(?:^|\s)#[^\n]*|--[^\n]*)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\b(\d[\w.]*)\b|\b(?:as|async|await|break|case|catch|class|const|continue|def|do|elif|else|enum|export|extends|fi|final|fn|for|from|func|function|if|impl|import|in|interface|let|match|mod|mut|new|not|or|and|package|pub|public|private|return|select|self|static|struct|super|switch|then|throw|trait|try|type|use|var|void|where|while|with|yield|true|false|null|None|True|False|SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE)\b/g;
function colour(code) {
  const text = code.textContent;
  if (text.length > 20000 || code.children.length) return;
  const out = document.createDocumentFragment();
  let last = 0;
  for (const found of text.matchAll(TOKEN)) {
    const span = document.createElement("span");
    span.className = found[1] ? "t-note" : found[2] ? "t-text" : found[3] ? "t-number" : "t-word";
    span.textContent = found[0];
    out.append(text.slice(last, found.index), span);
    last = found.index + found[0].length;
  }
  out.append(text.slice(last));
  code.replaceChildren(out);
}

// A text that is being edited is rendered beside it.
function editor() {
  const text = $("textarea[data-preview]"), view = $("#preview");
  if (!text || !view) return;
  let timer;
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => quietly((async () => {
      const body = new URLSearchParams(new FormData(text.form));
      const page = await part("preview", text.dataset.preview, { method: "POST", body });
      const fresh = page.querySelector("#preview");
      if (fresh) view.replaceChildren(...fresh.childNodes);
    })()), 200);
  });
  let saved = text.value;
  text.form.addEventListener("submit", () => { saved = text.value; });
  addEventListener("beforeunload", (event) => { if (text.value !== saved) event.preventDefault(); });
  text.addEventListener("keydown", (event) => {
    if (event.key === "s" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); text.form.requestSubmit($("button[value=save]", text.form)); }
  });
}

for (const button of $$("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    const name = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  });
}
for (const code of $$(".note pre > code[class]")) colour(code);
outline();
previews();
editor();

// A state is looked at again: soon while something changes, else now and then, and never out of sight.
for (const state of $$("[data-refresh]")) {
  const look = async () => {
    const page = await part("state", state.dataset.refresh);
    const fresh = page.body.firstElementChild;
    if (!fresh) return;
    const open = $$("details", state).map((details) => details.open);
    state.replaceChildren(fresh);
    for (const [n, details] of $$("details", state).entries()) details.open = open[n] ?? false;
  };
  const later = () => setTimeout(async () => {
    if (!document.hidden) await quietly(look());
    later();
  }, $("[data-busy]", state) ? 1000 : 10000);
  later();
}
