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
    if (!event.target.matches("[data-swap]")) return;
    event.preventDefault();
    send(event.target, event.submitter);
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
        const over = event.target.closest("li");
        if (!held || !over || over === held || over.parentElement !== board) return;
        event.preventDefault();
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
