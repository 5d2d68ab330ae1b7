// Passkeys: hands the server's challenge to the authenticator and posts the answer as a form.
"use strict";
(() => {
  if (!window.PublicKeyCredential || !navigator.credentials) return;

  const bytes = text => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), letter => letter.charCodeAt(0));
  const text = buffer => btoa(Array.from(new Uint8Array(buffer), byte => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  /** The options as the browser wants them: bytes in place of base64. */
  const read = options => {
    options.challenge = bytes(options.challenge);
    if (options.user) options.user.id = bytes(options.user.id);
    for (const key of [...options.excludeCredentials ?? [], ...options.allowCredentials ?? []]) key.id = bytes(key.id);
    return options;
  };

  /** The answer as the server wants it: base64 in place of bytes. */
  const write = credential => {
    const response = {};
    for (const name of ["attestationObject", "clientDataJSON", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
  };

  const reasons = {
    InvalidStateError: "This device has a passkey of this account already.",
    NotAllowedError: "No passkey was used: it took too long, or it was cancelled.",
    NotSupportedError: "This device cannot make such a passkey.",
    SecurityError: "The browser allows no passkeys at this address.",
  };

  const begin = async form => {
    const answer = await fetch(`${form.getAttribute("action")}/begin`, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const isJson = answer.headers.get("content-type")?.startsWith("application/json");
    const options = isJson ? await answer.json() : {};
    if (!answer.ok || !options.publicKey) throw new Error(options.message ?? "The server did not begin. Reload this page and try again.");
    return options;
  };

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const { elements, dataset } = form;
    const button = form.querySelector("button");
    const alert = form.querySelector("[role=alert]");
    form.closest("[hidden]").hidden = false;
    form.addEventListener("submit", async event => {
      event.preventDefault();
      button.disabled = true;
      alert.hidden = true;
      try {
        const { publicKey, attempt } = await begin(form);
        const credential = await navigator.credentials[dataset.passkey]({ publicKey: read(publicKey) });
        elements.credential.value = write(credential);
        if (elements.attempt) elements.attempt.value = attempt;
        if (elements.password) elements.password.value = "";
        form.submit();
      } catch (error) {
        alert.textContent = reasons[error.name] ?? error.message;
        alert.hidden = false;
        button.disabled = false;
      }
    });
  }
  // A page that comes back from the browser's memory can be used again.
  addEventListener("pageshow", () => { for (const button of document.querySelectorAll("form[data-passkey] button")) button.disabled = false; });
  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;
})();
