// Cards, bookmarks and prompts of the browser checks, made through the tools.
import { call } from '../lab/mcp.mjs';
import { markup } from './payloads.mjs';

/** The library of a person. */
export async function fillLibrary(server, token) {
  const make = (name, args) => call(server, token, name, args);
  await make('create_note', { title: 'Shopping', type: 'checklist', labels: ['home'], color: 'yellow',
    content: 'For the weekend', checkItems: [{ text: 'oat milk', checked: false }, { text: 'bread', checked: true }] });
  await make('create_note', { title: 'Идеи', content: 'Позвонить маме, купить семена', labels: ['дом'], isPinned: true });
  await make('create_note', { title: '買い物', content: '牛乳とパンを買う' });
  await make('create_note', { title: 'ملاحظة', content: 'اشترِ الحليب والخبز' });
  await make('create_note', { title: 'A'.repeat(180), content: `${'long '.repeat(300)}${'x'.repeat(400)}` });
  for (let day = 1; day <= 24; day += 1) {
    await make('add_bookmark', {
      url: `https://example.org/post/${day}`,
      title: day % 3 ? `Vector databases, part ${day}` : `Заметки о поиске, часть ${day}`,
      text: `A long post about semantic search in Rust, number ${day}. 検索の話。`,
      author: ['mira', 'ivan', '花子'][day % 3],
      tags: [['rust', 'search'], ['ml'], ['検索']][day % 3],
    });
  }
  await make('create_prompt', {
    name: 'summary', title: 'Summary of a text', description: 'Sums up a text in a few sentences.',
    arguments: [{ name: 'text', required: true, description: 'the text' }, { name: 'tone', description: 'how it sounds' }],
    messages: [{ role: 'user', content: { type: 'text', text: 'Sum up in a {{tone}} tone:\n\n{{text}}' } }],
  });
}

/** People who use the library, each with something that the owner's pages list. */
export function addPeople(server) {
  server.cli('user', 'add', 'anna', '--display-name', 'Анна 花子 Lee');
  server.cli('grant', 'add', 'anna', '--label', '園芸');
  server.cli('grant', 'add', 'anna', '--kind', 'cards', '--write');
  server.cli('token', 'create', '--user', 'anna', '--scope', 'read,write', '--name', 'телефон');
  server.cli('user', 'add', 'yusuf', '--role', 'author', '--display-name', 'يوسف');
}

/** People, grants, tokens and a browser whose names would like to run. */
export async function addHostilePeople(server) {
  for (const [index, raw] of markup.entries()) {
    const text = raw.replaceAll('\u0000', '').slice(0, 100);
    server.cli('user', 'add', `hostile-${index}`, '--display-name', text);
    server.cli('grant', 'add', `hostile-${index}`, '--label', text.slice(0, 60));
    server.cli('token', 'create', '--user', `hostile-${index}`, '--scope', 'read', '--name', text);
  }
}

/** Signs the owner in with a browser that calls itself like this. */
export async function signInAs(server, agent, { name, password }) {
  const answer = await fetch(`${server.url}/sign-in`, {
    method: 'POST', redirect: 'manual', body: new URLSearchParams({ name, password }),
    headers: { 'user-agent': agent, origin: new URL(server.url).origin, 'sec-fetch-site': 'same-origin' },
  });
  if (answer.status !== 303) throw new Error(`signing in answered ${answer.status}`);
}

/** Items whose every field would like to run. */
export async function fillHostileLibrary(server, token) {
  const make = (name, args) => call(server, token, name, args);
  for (const [index, raw] of markup.entries()) {
    const text = raw.replaceAll('\u0000', '');
    await make('create_note', { title: text, content: `hostile ${text}`, labels: [text.slice(0, 50)] });
    await make('create_note', { title: text, type: 'checklist', content: text, checkItems: [{ text, checked: false }], labels: [`l${index}`] });
    await make('add_bookmark', { url: `https://example.org/${encodeURIComponent(text)}`, title: text, text: `hostile ${text}`, author: text.slice(0, 60), tags: [text.slice(0, 50)] });
    await make('create_prompt', {
      name: `hostile_${index}`, title: text, description: text,
      arguments: [{ name: 'a', description: text }],
      messages: [{ role: 'user', content: { type: 'text', text: `hostile ${text} {{a}}` } }],
    });
  }
}
