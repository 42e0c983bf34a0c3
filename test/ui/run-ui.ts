/**
 * npm run test:ui: the packaged extension, installed and used like a person uses it, in VS Code's workbench in Chromium.
 * Screenshots go to a temporary folder, or to the one that WARPLENS_SCREENSHOTS names (docs/screenshots to renew ours).
 */
import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { chromium } from 'playwright-core';
import {
  chromiumArguments,
  chromiumProgram,
  ensureCodeServer,
  makeSandbox,
  serverCommand,
  startCodeServer,
} from '../host/code-server';
import { steps } from './steps';
import { Workbench } from './workbench';

/** A workbench in a browser on a busy machine loses a click now and then: what fails is done once more, from the start. */
const attempts = 2;

interface Counts {
  passes: number;
  failures: number;
  pending: number;
}

/** All steps in one page; each stands on the one before it, so the first failure ends them. */
async function takeSteps(workbench: Workbench, attempt: number): Promise<Counts> {
  const counts = { passes: 0, failures: 0, pending: 0 };
  for (const [name, step] of steps) {
    const started = Date.now();
    try {
      await step(workbench);
      counts.passes++;
      console.log(`  ✔ ${name} (${Date.now() - started} ms)`);
    } catch (error) {
      counts.failures++;
      console.error(`  ✘ ${name}: ${(error as Error).message.slice(0, 1_500)}`);
      await workbench.shot(`failed-${attempt}`);
      break;
    }
  }
  return counts;
}

/** Installs the extension into a sandbox of its own, opens the workbench on the examples and takes the steps. */
async function useExtension(vsix: string, screenshots: string, attempt: number): Promise<Counts> {
  const sandbox = makeSandbox(path.resolve('examples'), {
    'editor.hover.delay': 100,
    'workbench.colorTheme': 'Default Dark Modern',
  });
  const profile = ['--user-data-dir', sandbox.userData, '--extensions-dir', sandbox.extensions];
  const installed = serverCommand(['--install-extension', vsix, '--force', ...profile]);
  assert.equal(installed.status, 0, installed.output);

  const server = await startCodeServer(sandbox, path.join(sandbox.folder, 'server.log'));
  const browser = await chromium.launch({ executablePath: chromiumProgram(), args: [...chromiumArguments] });
  let counts: Counts = { passes: 0, failures: 1, pending: 0 };
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: 'en-US',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const workbench = new Workbench(page, server, screenshots);
    await workbench.open(sandbox.workspace, 'transpose.cu');
    counts = await takeSteps(workbench, attempt);
  } catch (error) {
    console.error(`  ✘ opens the workbench: ${(error as Error).message.slice(0, 1_500)}`);
  } finally {
    await browser.close().catch(() => undefined);
    await server.stop();
  }
  if (counts.failures === 0) fs.rmSync(sandbox.folder, { recursive: true, force: true });
  else console.error(`Kept ${sandbox.folder}`);
  return counts;
}

async function main(): Promise<number> {
  ensureCodeServer();
  const vsix = path.resolve('dist/warplens.vsix');
  assert.ok(fs.existsSync(vsix), 'dist/warplens.vsix is missing: npm run package');
  const given = process.env.WARPLENS_SCREENSHOTS;
  const screenshots = given ? path.resolve(given) : fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-screenshots-'));
  fs.mkdirSync(screenshots, { recursive: true });

  let counts = await useExtension(vsix, screenshots, 1);
  for (let attempt = 2; attempt <= attempts && counts.failures > 0; attempt++) {
    console.error(`Once more (${attempt} of ${attempts}):`);
    counts = await useExtension(vsix, screenshots, attempt);
  }
  if (process.env.WARPLENS_RESULTS) fs.writeFileSync(process.env.WARPLENS_RESULTS, JSON.stringify(counts));
  console.log(`Screenshots in ${screenshots}`);
  return counts.failures === 0 ? 0 : 1;
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
