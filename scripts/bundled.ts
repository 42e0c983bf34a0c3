/**
 * A script as one file: loaded module by module from TypeScript every use of another module's name goes through a function, and
 * the analysis takes a third longer than what users run.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as esbuild from 'esbuild';

/**
 * Bundles a script of this folder; the file is gone when this process ends.
 * @returns its path, under dist, where packages are found
 */
export function bundled(script: string): string {
  const name = `${path.basename(script, path.extname(script))}-${process.pid}.cjs`;
  const outfile = path.resolve(__dirname, '..', 'dist', 'scripts', name);
  esbuild.buildSync({
    entryPoints: [script],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['esbuild'],
    loader: { '.cu': 'text' },
    define: { __dirname: JSON.stringify(__dirname) },
  });
  process.on('exit', () => fs.rmSync(outfile, { force: true }));
  return outfile;
}
