// What `npm start` and `npm test` do first on a fresh clone, with nothing but Node: install the packages, build.
import { spawnSync } from 'node:child_process';
import * as crypto from 'node:crypto';
import * as fs from 'node:fs';

const lockFile = 'package-lock.json';
const stamp = 'node_modules/.warplens-lock';

/** Ends the program with one line unless Node is new enough. */
export function requireNode(major = 20) {
  if (Number(process.versions.node.split('.')[0]) >= major) return;
  console.error(`Warplens needs Node ${major} or later; this is ${process.version}. See https://nodejs.org.`);
  process.exit(2);
}

/** Runs a program in the foreground; returns its exit status. */
export function run(program, args, options = {}) {
  const result = spawnSync(program, args, { stdio: 'inherit', shell: process.platform === 'win32', ...options });
  if (result.error) console.error(`${program}: ${result.error.message}`);
  return result.status ?? 1;
}

/** `npm ci` when node_modules is absent or older than the lock file. */
export function installPackages() {
  const lock = crypto.createHash('sha256').update(fs.readFileSync(lockFile)).digest('hex');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === lock) return 0;
  console.log('Installing packages (npm ci) …');
  const status = run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (status === 0) fs.writeFileSync(stamp, lock);
  else
    console.error(
      'npm ci failed: the packages of package-lock.json could not be installed. Is the npm registry reachable?',
    );
  return status;
}

/** Bundles everything into dist. */
export const build = (...flags) => run(process.execPath, ['esbuild.mjs', ...flags]);
