// Finds every page that can be reached by links, and every form on them, without a browser.
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'", '#34': '"', '#38': '&', '#60': '<', '#62': '>' };
const decode = text => text.replace(/&(#?\w+);/g, (whole, name) => entities[name] ?? whole);
const attribute = (tag, name) => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag);
  return found && decode(found[1]);
};

/** The addresses of one kind of page: numbers, ids and values differ, the shape does not. */
export function shapeOf(address) {
  const url = new URL(address);
  if (url.pathname.endsWith('.md')) return '/**.md';
  const path = url.pathname.split('/').map(part => {
    if (/^\d+$/.test(part) || /^c[a-z0-9]{20,}$/.test(part)) return '*';
    return part.startsWith('@') ? '@*' : part;
  });
  if (path[1] === 'n') path.splice(2, path.length, '*', ...path.slice(3).map(part => (/^[a-z]+$/.test(part) ? part : '*')));
  const last = path.length - 1;
  if (path[1] === 'prompts' && path[2] === 'of') path[3] = '*';
  if (path[1]?.startsWith('@') && last > 1) path.splice(2, path.length, '**');
  const query = [...new Set(url.searchParams.keys())].sort().join('&');
  return path.join('/') + (query ? `?${query}` : '');
}

function formsOf(html, here) {
  const forms = [];
  for (const [whole, tag, body] of html.matchAll(/(<form\b[^>]*>)([\s\S]*?)<\/form>/g)) {
    const fields = [];
    for (const [input] of body.matchAll(/<(?:input|button|textarea|select)\b[^>]*>/g)) {
      const name = attribute(input, 'name');
      if (name) fields.push([name, attribute(input, 'value') ?? 'x']);
    }
    for (const [, values] of body.matchAll(/<button\b[^>]*\sformaction="([^"]*)"/g)) {
      forms.push({ method: 'post', action: new URL(decode(values), here).href, fields, whole });
    }
    forms.push({
      method: (attribute(tag, 'method') ?? 'get').toLowerCase(),
      action: new URL(attribute(tag, 'action') || here, here).href,
      enctype: attribute(tag, 'enctype'),
      fields,
      whole,
    });
  }
  return forms;
}

/**
 * Walks from `seeds`, which are all opened, through the links of this server. At most `perShape` pages
 * of a shape are opened.
 * Returns `{ pages, forms, broken }`: pages have `url`, `shape`, `html`, `headers` and `status`.
 */
export async function crawl(server, { seeds = ['/'], cookie = '', perShape = 4, limit = 800 } = {}) {
  const origin = new URL(server.url).origin;
  const queue = seeds.map(seed => ({ url: new URL(seed, server.url).href, from: 'the start', isSeed: true }));
  const seen = new Set(queue.map(entry => entry.url));
  const opened = new Map();
  const pages = [];
  const broken = [];
  const forms = new Map();
  while (queue.length > 0 && pages.length < limit) {
    const { url, from, isSeed } = queue.shift();
    const shape = shapeOf(url);
    const count = opened.get(shape) ?? 0;
    // Of the many ways to filter, one each; three filters at once are no shape of their own.
    const most = shape.includes('&') ? Math.ceil(perShape / 4) : perShape;
    const isRare = new URL(url).searchParams.size > 2;
    if (!isSeed && (isRare || count >= most)) continue;
    opened.set(shape, count + 1);
    const answer = await fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
    const kind = answer.headers.get('content-type') ?? '';
    if (answer.status >= 300 && answer.status < 400) {
      const to = new URL(answer.headers.get('location'), url);
      if (to.origin !== origin) broken.push({ url, from, why: `leads to ${to.origin}` });
      else if (!seen.has(to.href)) { seen.add(to.href); queue.unshift({ url: to.href, from: url }); }
      await answer.body?.cancel();
      continue;
    }
    if (!kind.startsWith('text/html')) {
      if (answer.status >= 400) broken.push({ url, from, why: `status ${answer.status}` });
      await answer.body?.cancel();
      continue;
    }
    const html = await answer.text();
    if (answer.status >= 400) {
      broken.push({ url, from, why: `status ${answer.status}` });
      continue;
    }
    pages.push({ url, shape, html, headers: answer.headers, status: answer.status, from });
    for (const form of formsOf(html, url)) {
      const key = `${form.method} ${shapeOf(form.action)}`;
      if (!forms.has(key)) forms.set(key, { ...form, key, page: url });
    }
    for (const [tag] of html.matchAll(/<a\b[^>]*>/g)) {
      const href = attribute(tag, 'href');
      if (href === null || href === undefined || href.startsWith('#')) continue;
      let to;
      try { to = new URL(href, url); } catch { broken.push({ url: href, from: url, why: 'no address' }); continue; }
      to.hash = '';
      if (to.origin === origin && !seen.has(to.href)) { seen.add(to.href); queue.push({ url: to.href, from: url }); }
    }
  }
  return { pages, broken, forms: [...forms.values()] };
}
