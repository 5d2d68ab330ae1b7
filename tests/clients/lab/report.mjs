// One line per check, as ./test counts them: `pass NAME`, `fail NAME: why`, `skip NAME: why`.
let failures = 0;

/** Runs a check. A check that throws has failed; the others still run. */
export async function check(name, work) {
  try {
    const result = await work();
    console.log(`pass ${name}`);
    return result;
  } catch (error) {
    failures += 1;
    const [first, ...rest] = String(error?.message ?? error).split('\n');
    console.log(`fail ${name}: ${first}`);
    for (const line of rest) console.log(`     ${line}`);
    const where = error?.stack?.split('\n').filter(line => line.includes('/tests/clients/')).slice(0, 3) ?? [];
    for (const line of where) console.log(`     ${line.trim()}`);
    return undefined;
  }
}

/** Names a check that cannot run here. */
export const skip = (name, why) => console.log(`skip ${name}: ${why}`);

/** Ends the process; its status says whether every check passed. */
export function finish() {
  process.exit(failures === 0 ? 0 : 1);
}
