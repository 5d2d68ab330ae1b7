// The npm packages live beside the build, not beside these files.
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../../..');
export const tools = process.env.TOOLS ?? join(root, 'target/test-tools');
export const require = createRequire(`${tools}/`);
