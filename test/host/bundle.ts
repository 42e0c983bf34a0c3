/** The programs as they ship, bundled from the present sources: what the tests of whole processes start. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as esbuild from 'esbuild';

const entries = {
  server: 'server/src/lsp/main.ts',
  worker: 'server/src/worker/worker.ts',
  'worker-start': 'server/src/worker/worker-start.ts',
  cli: 'server/src/cli/main.ts',
};
let folder: string | undefined;

/** The folder with server.js, worker.js, worker-start.js and cli.js; removed when the process ends. */
export function bundledPrograms(): string {
  if (folder !== undefined) return folder;
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-bundle-'));
  esbuild.buildSync({
    entryPoints: entries,
    outdir: made,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    mainFields: ['module', 'main'],
    define: { WARPLENS_VERSION: '"0.0.0-test"' },
    loader: { '.cu': 'text' },
    logLevel: 'error',
  });
  process.once('exit', () => fs.rmSync(made, { recursive: true, force: true }));
  folder = made;
  return made;
}

/** A folder with these files, for the length of a test; `remove` takes it away. */
export function temporaryFolder(files: Readonly<Record<string, string | Buffer>>): {
  folder: string;
  remove: () => void;
} {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-files-')));
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(made, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
  return { folder: made, remove: () => fs.rmSync(made, { recursive: true, force: true }) };
}
