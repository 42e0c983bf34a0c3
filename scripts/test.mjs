// npm test: everything, on a fresh clone. `npm test -- unit grammar` runs only the stages named.
// The last line is `N passed, N failed`.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ensureChromium } from './chromium.mjs';
import { build, installPackages, requireNode } from './prepare.mjs';

const bin = (name) => path.join('node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-test-'));
const results = (name) => path.join(folder, `${name}.json`);

/** Counts of a results file that a runner wrote; a stage that wrote none has failed. */
function counted(name) {
  if (!fs.existsSync(results(name))) return undefined;
  const { passes, failures } = JSON.parse(fs.readFileSync(results(name), 'utf8'));
  return { passed: passes, failed: failures };
}

/** Runs a program, its output shown as it comes; returns its exit status and the output. */
function shown(program, args, env = {}) {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    };
    const child = spawn(program, args, options);
    let output = '';
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      from.on('data', (data) => {
        output += data;
        to.write(data);
      });
    }
    child.on('error', (error) => resolve({ status: 1, output: String(error) }));
    child.on('close', (code) => resolve({ status: code ?? 1, output }));
  });
}

/** A stage that passes or fails as one. */
async function whole(program, ...args) {
  const { status } = await shown(program, args);
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

async function unit() {
  // mocha's own reporter for people, its JSON for the count
  const reporter = path.join('scripts', 'mocha-reporter.cjs');
  await shown(bin('mocha'), ['--reporter', reporter], { WARPLENS_RESULTS: results('unit') });
  return counted('unit') ?? { passed: 0, failed: 1 };
}

async function hosted(name, script) {
  const { status } = await shown(process.execPath, ['--import', 'tsx', script], { WARPLENS_RESULTS: results(name) });
  const counts = counted(name) ?? { passed: 0, failed: 0 };
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

const status = (code) => (code === 0 ? { passed: 0, failed: 0 } : { passed: 0, failed: 1, fatal: true });

const stages = [
  ['install', () => status(installPackages())],
  ['build', () => status(build('--tests'))],
  ['lint', () => whole(bin('biome'), 'check', '.')],
  ['types', () => whole('npm', 'run', '--silent', 'typecheck')],
  ['unit', unit],
  ['accuracy', () => whole(process.execPath, '--import', 'tsx', 'scripts/accuracy.ts', '--check')],
  ['timing', () => whole(process.execPath, '--import', 'tsx', 'scripts/timing-accuracy.ts', '--check')],
  ['grammar', () => whole('npm', 'run', '--silent', 'test:grammar')],
  ['integration', () => hosted('integration', 'test/host/run-integration.ts')],
  ['package', () => whole(process.execPath, 'scripts/package.mjs')],
  ['ui', () => hosted('ui', 'test/ui/run-ui.ts')],
];
const inEditor = new Set(['integration', 'ui']);

requireNode();
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !stages.some(([stage]) => stage === name));
if (unknown.length > 0) {
  console.error(`No stage ${unknown.join(', ')}; there are ${stages.map(([name]) => name).join(', ')}.`);
  process.exit(2);
}
const chosen = stages.filter(
  ([name]) => wanted.length === 0 || wanted.includes(name) || name === 'install' || name === 'build',
);
const total = { passed: 0, failed: 0 };
const times = [];
let chromium;
for (const [name, stage] of chosen) {
  console.log(`\n── ${name}`);
  const started = Date.now();
  let counts;
  try {
    if (inEditor.has(name) && chromium === undefined) process.env.CHROMIUM_PATH = chromium = ensureChromium();
    counts = await stage();
  } catch (error) {
    console.error(error.message);
    counts = { passed: 0, failed: 1 };
  }
  total.passed += counts.passed;
  total.failed += counts.failed;
  times.push(
    `${name} ${((Date.now() - started) / 1000).toFixed(1)} s (${counts.passed} passed, ${counts.failed} failed)`,
  );
  if (counts.fatal) break;
}
fs.rmSync(folder, { recursive: true, force: true });
console.log(`\n${times.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
