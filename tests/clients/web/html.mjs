// html-validate with the rules of the standard. What people write may break rules of style; those are off.
import { require } from '../lab/packages.mjs';

const { HtmlValidate, StaticConfigLoader } = require('html-validate');

const validator = new HtmlValidate(new StaticConfigLoader({
  root: true,
  extends: ['html-validate:standard', 'html-validate:document', 'html-validate:a11y'],
  rules: {
    // Ours is generated: its shape on disk does not matter.
    'no-trailing-whitespace': 'off',
    'void-style': 'off',
    // A button of a form submits it, and every button of ours is one.
    'no-implicit-button-type': 'off',
    // Titles come from people.
    'long-title': 'off',
    'unique-landmark': 'off',
    // Stylesheet and script come from the same server as the page.
    'require-sri': 'off',
    'no-inline-style': 'error',
    'no-dup-id': 'error',
  },
}));

/** The faults of a document, one line each. */
export async function faultsOf(html) {
  const report = await validator.validateString(html);
  const lines = html.split('\n');
  return report.results.flatMap(result => result.messages).filter(message => message.severity === 2).map(message => {
    const line = lines[message.line - 1] ?? '';
    return `${message.ruleId}: ${message.message} | ${line.slice(Math.max(0, message.column - 30), message.column + 90).trim()}`;
  });
}
