// Boards and forms that change a part of a page. Nothing needs it: without it every form works.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  /** Sends a form and puts the answer's part in the place of ours; the focus stays where it was. */
  async function send(form, button) {
    const data = new URLSearchParams(new FormData(form));
    if (button?.name) data.set(button.name, button.value);
    form.setAttribute("aria-busy", "true");
    let page;
    try {
      const answer = await fetch(form.action, { method: "POST", body: data });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      form.removeAttribute("aria-busy");
      const note = document.createElement("p");
      note.className = "notice bad";
      note.setAttribute("role", "alert");
      note.textContent = "The server could not be reached. Nothing was changed; try again.";
      form.prepend(note);
      return;
    }
    const card = form.closest("[data-card]")?.dataset.card;
    const fresh = page.querySelector("#board"), region = document.querySelector("#board");
    if (fresh && region) {
      region.replaceWith(fresh);
      start(fresh);
      const same = card && fresh.querySelector(`[data-card="${CSS.escape(card)}"]`);
      const word = button?.value.split(" ").slice(1).join(" ");
      const target = same && (all("button", same).find((one) => one.value === button?.value)
        ?? all("button", same).find((one) => word && one.value.endsWith(` ${word}`))
        ?? same.querySelector("summary, a"));
      (target ?? fresh.querySelector(".notice button, summary"))?.focus({ preventScroll: !!target });
    } else {
      document.querySelector("main").replaceWith(page.querySelector("main") ?? "");
      document.querySelector("main")?.focus();
    }
  }

  document.addEventListener("submit", (event) => {
    zoned(event.target);
    if (event.target.closest("dialog")) { event.preventDefault(); keep(event.target); return; }
    if (!event.target.matches("[data-swap]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  // A card is edited where it stands; the page of the card stays a link away.
  const read = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");
  const show = (page) => document.querySelector("main").replaceWith(page.querySelector("main"));
  async function edit(link) {
    const page = await read(await fetch(link.href));
    const form = page.querySelector("form[data-card-form]");
    if (!form) return location.assign(link.href);
    const sheet = document.createElement("dialog"), title = document.createElement("h2");
    sheet.className = "sheet";
    title.id = "sheet-title";
    title.textContent = page.querySelector("h1").textContent;
    sheet.setAttribute("aria-labelledby", title.id);
    const close = document.createElement("button"), more = document.createElement("a");
    close.type = "button"; close.textContent = "Close"; close.addEventListener("click", () => sheet.close());
    more.href = link.href; more.textContent = "Pictures, versions, delete";
    form.querySelector(".row:last-child").append(close, more);
    sheet.append(title, form);
    sheet.addEventListener("close", () => { sheet.remove(); if (link.isConnected) link.focus(); });
    document.body.append(sheet);
    local(sheet);
    sheet.showModal();
  }
  async function keep(form) {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const page = await read(answer);
    form.closest("dialog").close();
    if (!answer.ok) { show(page); document.querySelector("main").focus(); return; }
    const fresh = (await read(await fetch(location.href))).querySelector("#board");
    document.querySelector("#board").replaceWith(fresh);
    start(fresh);
    const id = form.getAttribute("action").split("/").at(-2);
    fresh.querySelector(`.card h3 a[href$="${CSS.escape(id)}"]`)?.focus();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#board .card h3 a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    edit(link).catch(() => location.assign(link.href));
  });

  // The bookmarklet is for the bookmarks bar: here it has no page to save.
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-bookmarklet]")) event.preventDefault();
  });

  // A date is typed in the zone of the browser.
  const shift = (text, minutes) => {
    const moment = new Date(`${text}Z`);
    return Number.isNaN(+moment) ? "" : new Date(+moment + minutes * 60000).toISOString().slice(0, 16);
  };
  const offset = (text) => new Date(text).getTimezoneOffset();
  function zoned(form) {
    const field = form.elements.reminder;
    if (field?.value && form.elements.offset) form.elements.offset.value = offset(field.value);
  }
  function local(root) {
    for (const field of all("input[name=reminder]", root)) {
      const note = field.closest("label")?.querySelector("[data-zone]");
      if (note) note.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
      if (field.value) field.value = shift(field.value, -new Date(`${field.value}Z`).getTimezoneOffset());
    }
    for (const time of all(".reminder time", root)) {
      time.textContent = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    }
  }

  // Cards are dragged to their place.
  function draggable(root) {
    for (const board of all("[data-movable]", root)) {
      let held = null;
      for (const card of all(".card", board)) {
        card.draggable = true;
        card.addEventListener("dragstart", (event) => {
          held = card.parentElement;
          event.dataTransfer.effectAllowed = "move";
          event.dataTransfer.setData("text/plain", card.dataset.card);
          held.classList.add("held");
        });
        card.addEventListener("dragend", () => { held?.classList.remove("held"); held = null; });
      }
      board.addEventListener("dragover", (event) => {
        if (!held) return;
        // Everywhere on the board, also on the card itself: else nothing is dropped.
        event.preventDefault();
        const over = event.target.closest("li");
        if (!over || over === held || over.parentElement !== board) return;
        const box = over.getBoundingClientRect();
        const behind = event.clientX > box.left + box.width / 2;
        over[behind ? "after" : "before"](held);
      });
      board.addEventListener("drop", (event) => {
        if (!held) return;
        event.preventDefault();
        const id = (item) => item?.querySelector("[data-card]")?.dataset.card;
        const next = id(held.nextElementSibling), previous = id(held.previousElementSibling);
        const place = next ? `before ${next}` : previous ? `after ${previous}` : "";
        if (place) send(held.querySelector("form"), { name: "do", value: place });
      });
    }
  }

  // The work of an import is looked at until it is done.
  function watch() {
    const region = document.querySelector("[data-watch]");
    if (!region || region.dataset.watch !== "running") return;
    setTimeout(async () => {
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html" } });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        region.replaceWith(page.querySelector("[data-watch]") ?? region);
      } catch { /* The next look may succeed. */ }
      watch();
    }, 400);
  }

  // What a prompt becomes with these arguments.
  function rendering() {
    const form = document.querySelector("form[data-render]"), view = document.querySelector("#rendered");
    if (!form || !view) return;
    let timer, control;
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        control?.abort();
        control = new AbortController();
        try {
          const body = new URLSearchParams(new FormData(form));
          body.set("do", "preview");
          const answer = await fetch(form.action, { method: "POST", body, headers: { "x-part": "1" }, signal: control.signal });
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          const fresh = page.querySelector("#rendered");
          if (fresh) view.replaceChildren(...fresh.childNodes);
        } catch { /* A newer text is on its way. */ }
      }, 150);
    });
  }

  function start(root) { local(root); draggable(root); }
  start(document);
  watch();
  rendering();
})();
