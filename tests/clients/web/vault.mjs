// The vault of the browser checks: every script and shape that a page has to bear.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { root } from '../lab/packages.mjs';
import { fileNames, markdown, markup } from './payloads.mjs';

// A red square.
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC', 'base64');

const everything = `---
title: Everything a note can hold
labels: [garden, 日本, сад]
free: true
aliases: [All of it]
status: draft
---
# Everything a note can hold

A paragraph with **bold**, *italic*, ~~struck~~, \`code\`, ==marked== text, a [link](https://example.org/), a
wiki-link to [[Coffee brewing]], one that leads nowhere ([[No such note]]), and a footnote.[^1]

## Lists

- [ ] to do
- [x] done
  - nested
1. first
2. second

## Table

| Plant | Height | Note |
|---|---:|---|
| Tomato | 180 cm | stake it early |
| Chicory | 40 cm | a column with a rather long text so that a phone has to scroll this table sideways |

## Code

\`\`\`rust
fn main() {
    println!("A line that is long enough to need a scroll bar of its own on a phone: {}", 42);
}
\`\`\`

## Callouts

> [!warning] Frost
> Bring the pots in.

> A plain quotation.

## Pictures and math

![A red square](red.png)

![A picture elsewhere](https://elsewhere.example/picture.png)

$e^{i\\pi} + 1 = 0$, and one that is wrong: $\\frac{a}$.

$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2} \\qquad \\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}$$

<div style="color:red" id="main" onclick="pwned=90">HTML of one's own</div>

### Deep

#### Deeper

##### Deepest

[^1]: The footnote's text, with a [[Home|link]].
`;

const long = 'A title that goes on and on because somebody pasted a whole sentence into it and never came back to make it shorter';

function longNote() {
  const lines = ['---', 'title: Ten thousand lines', '---', '# Ten thousand lines', ''];
  const words = ['slow', 'river', 'stone', 'lantern', 'harbour', 'orchard', 'winter', 'copper', 'thread', 'window'];
  for (let line = lines.length; line < 10_000; line += 1) {
    if (line % 200 === 0) lines.push(`## Part ${line / 200}`);
    else if (line % 10 === 0) lines.push('');
    else lines.push(`Line ${line}: ${words[line % 10]} ${words[(line * 7 + 3) % 10]} ${words[(line * 3 + 1) % 10]}.`);
  }
  return lines.join('\n');
}

const rightToLeft = `---
title: ملاحظات عن الحديقة
labels: [حديقة]
free: true
---
# ملاحظات عن الحديقة

تحتاج الطماطم إلى الماء كل صباح، خاصة في الصيف. See also [[Home]] و \`code\`.

## עברית

הערות על הגינה: עגבניות צריכות מים בכל בוקר.
`;

const write = (dir, path, text) => {
  const file = join(dir, 'vault', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

/** Notes whose shape is hard to show. */
export const shapes = ['shapes/Everything.md', 'shapes/حديقة.md', 'shapes/Empty.md', 'shapes/日本語の長い題名.md',
  'shapes/Ten thousand lines.md', `shapes/${long}.md`, 'guides/Home backup guide.md', 'dev/Rust error handling.md'];

/** The vault of a person. */
export function fillVault(dir) {
  cpSync(join(root, 'examples/vault'), join(dir, 'vault'), { recursive: true });
  write(dir, 'shapes/Everything.md', everything);
  write(dir, 'shapes/red.png', picture);
  write(dir, 'shapes/Ten thousand lines.md', longNote());
  write(dir, 'shapes/حديقة.md', rightToLeft);
  write(dir, 'shapes/Empty.md', '');
  write(dir, `shapes/${long}.md`, `# ${long}\n\nShort text. ${'Donaudampfschifffahrtsgesellschaft'.repeat(8)}\n`);
  write(dir, 'shapes/日本語の長い題名.md',
    `---\nlabels: [園芸]\nfree: true\n---\n# とても長い題名がついている日本語のノートで折り返しを確かめるためのもの\n\nトマトは毎朝水をやる。冬の前に鉢を家に入れる。\n`);
  write(dir, 'shapes/Members.md', '---\ntitle: For members\naccess: members\n---\nWhat members read.\n');
}

/** The same vault with text that would like to run. */
export function fillHostileVault(dir) {
  fillVault(dir);
  const quoted = text => JSON.stringify(text.replaceAll('\u0000', ''));
  markup.forEach((text, index) => {
    const labels = [text, `l${index}`].map(quoted).join(', ');
    write(dir, `hostile/title ${index}.md`,
      `---\ntitle: ${quoted(text)}\nlabels: [${labels}]\nauthor: ${quoted(text)}\nfree: true\naliases: [${quoted(text)}]\n` +
      `status: ${quoted(text)}\ndescription: ${quoted(text)}\n---\n# ${text}\n\nhostile ${text}\n\n## ${text}\n\n${text} [[title ${(index + 1) % markup.length}]]\n`);
  });
  markdown.forEach((text, index) => {
    write(dir, `hostile/markdown ${index}.md`, `---\nfree: true\n---\n# Markdown ${index}\n\nhostile\n\n${text}\n\n[[title 1|${text}]]\n`);
  });
  for (const name of fileNames) {
    write(dir, `hostile/${name}.md`, `hostile [[Home]]\n`);
    write(dir, `hostile/${name}/in a folder.md`, `---\nfree: true\n---\nhostile\n`);
  }
  write(dir, 'hostile/picture.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>parent.pwned=81;pwned=81</script></svg>');
  write(dir, 'hostile/not a picture.png', '<!doctype html><script>pwned=82</script>');
  write(dir, 'hostile/page.html', '<!doctype html><script>pwned=83</script>');
  write(dir, 'hostile/Files.md',
    '---\nfree: true\n---\n![a](picture.svg) ![b](<not a picture.png>) [c](page.html) ![[picture.svg]] ![d](../../data/notewell.db) ![e](/etc/passwd)\n');
}
