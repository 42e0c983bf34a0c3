// npm run package: dist/warplens.vsix, what the marketplace would get.
import * as path from 'node:path';
import { run } from './prepare.mjs';

// vsce runs vscode:prepublish, which bundles for production.
const vsce = path.join('node_modules', '@vscode', 'vsce', 'vsce');
const args = [
  'package',
  '--no-dependencies',
  '--allow-missing-repository',
  '--no-rewrite-relative-links',
  '--out',
  'dist/warplens.vsix',
];
process.exit(run(process.execPath, [vsce, ...args]));
