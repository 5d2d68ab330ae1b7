/** Polls until `condition` gives something true, and returns it. */
export async function until(what, condition, { seconds = 20, every = 50 } = {}) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s in vain for ${what}`);
    await new Promise(resolve => setTimeout(resolve, every));
  }
}
