// Bundles everything that runs: the VS Code client, the language server and its analysis worker, the command line, the panel.
// node esbuild.mjs [--watch] [--production] [--tests]
import * as fs from 'node:fs';
import * as esbuild from 'esbuild';

const has = (flag) => process.argv.includes(flag);
const production = has('--production');
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8'));

const common = {
  bundle: true,
  sourcemap: production ? false : 'linked',
  minify: production,
  logLevel: 'warning',
  define: { WARPLENS_VERSION: JSON.stringify(version) },
  // sources that the worker warms up with
  loader: { '.cu': 'text' },
};

/** A program for Node; the extension host of VS Code 1.91 is Node 20. */
const forNode = (entry, outfile, more = {}) => ({
  ...common,
  entryPoints: [entry],
  outfile,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // The packages' ES modules bundle without the dynamic requires of their UMD builds.
  mainFields: ['module', 'main'],
  ...more,
});

const builds = [
  forNode('client/src/extension.ts', 'dist/client.js', { external: ['vscode'] }),
  forNode('server/src/lsp/main.ts', 'dist/server.js'),
  forNode('server/src/worker/worker.ts', 'dist/worker.js'),
  forNode('server/src/worker/worker-start.ts', 'dist/worker-start.js'),
  forNode('server/src/cli/main.ts', 'dist/cli.js', { banner: { js: '#!/usr/bin/env node' } }),
  {
    ...common,
    entryPoints: ['client/src/panel/panel.ts', 'client/src/panel/panel.css'],
    outdir: 'dist',
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
  },
];

if (has('--tests')) {
  const suites = fs.readdirSync('test/integration').filter((file) => file.endsWith('.ts'));
  builds.push(
    forNode('', '', {
      entryPoints: suites.map((file) => `test/integration/${file}`),
      outfile: undefined,
      outdir: 'dist/test/integration',
      external: ['vscode', 'mocha'],
    }),
    forNode('test/host/code-in-browser.ts', 'dist/test/code-in-browser.js', {
      external: ['playwright-core'],
      banner: { js: '#!/usr/bin/env node' },
    }),
  );
}

if (has('--watch')) {
  for (const build of builds) await (await esbuild.context({ ...build, logLevel: 'info' })).watch();
} else {
  await Promise.all(builds.map((build) => esbuild.build(build)));
  for (const program of ['dist/cli.js', 'dist/test/code-in-browser.js'])
    if (fs.existsSync(program)) fs.chmodSync(program, 0o755);
}
