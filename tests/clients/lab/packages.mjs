// The npm packages live beside the build, not beside these files.
import { createRequire } from 'node:module';

export const tools = process.env.TOOLS;
export const require = createRequire(`${tools}/`);
