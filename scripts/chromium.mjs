// A Chromium for the tests in a browser: one that is there, or the platform's own package.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { run } from './prepare.mjs';

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/microsoft-edge',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
];

const isProgram = (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;

/** The path of a Chromium, or undefined. CHROMIUM_PATH goes first. */
export function findChromium() {
  return [process.env.CHROMIUM_PATH, ...usualPlaces].find((file) => file && fs.existsSync(file));
}

/** Finds or installs one; throws an Error that says what to do where neither works. */
export function ensureChromium() {
  const found = findChromium();
  if (found !== undefined) return found;
  if (process.platform === 'linux' && process.getuid?.() === 0 && isProgram('apt-get')) {
    console.log('Installing Chromium (apt-get install chromium) …');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const quiet = { env, stdio: ['ignore', 'ignore', 'inherit'] };
    run('apt-get', ['update', '-qq'], quiet);
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], quiet);
  } else if (process.platform === 'darwin' && isProgram('brew')) {
    console.log('Installing Chromium (brew install --cask chromium) …');
    run('brew', ['install', '--cask', 'chromium']);
  }
  const installed = findChromium();
  if (installed !== undefined) return installed;
  throw new Error(
    'The tests in the editor need Chromium or Chrome, and none was found. Install it (Debian, Ubuntu: ' +
      'apt-get install chromium as root; macOS: brew install --cask chromium) or set CHROMIUM_PATH to its program.',
  );
}
