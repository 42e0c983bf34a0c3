/**
 * Stands in for the desktop `code` program in front of @vscode/test-electron: takes the same arguments, runs the tests in
 * VS Code's server with its workbench in headless Chromium, and exits with the test run's status.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as util from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import {
  chromiumArguments,
  chromiumProgram,
  ensureCodeServer,
  type RunningServer,
  startCodeServer,
} from './code-server';

const { values, positionals } = util.parseArgs({
  args: process.argv.slice(2),
  strict: false,
  allowPositionals: true,
  options: {
    extensionDevelopmentPath: { type: 'string' },
    extensionTestsPath: { type: 'string' },
    'user-data-dir': { type: 'string' },
    'extensions-dir': { type: 'string' },
  },
});
const limitMs = Number(process.env.VSCODE_TEST_TIMEOUT_MS ?? 300_000);

function pathArgument(
  name: 'extensionDevelopmentPath' | 'extensionTestsPath' | 'user-data-dir' | 'extensions-dir',
): string {
  const value = values[name];
  if (typeof value !== 'string') throw new Error(`--${name} is missing`);
  return path.resolve(value);
}

/** The window's own chatter, which comes the same way as what the tests print. */
const chatter =
  /^(?:Resolv|Creating a socket|\[|Updating additional builtin|getaddrinfo |Failed|Settings Sync|WebSocket close|CodeExpectedError|DialogService|Started local extension host|Extension host )|marketplace|gallery|open-vsx/i;

interface End {
  readonly status: number;
  readonly why: string;
}

/** Opens the workbench with the extension under test, and waits for the test run's end. */
async function runTests(page: Page, browser: Browser, server: RunningServer, logFolder: string): Promise<End> {
  const windowLog = fs.createWriteStream(path.join(logFolder, 'window.log'));
  const end = new Promise<End>((resolve) => {
    browser.on('disconnected', () => resolve({ status: 96, why: 'Chromium ended' }));
    page.on('crash', () => resolve({ status: 97, why: 'the page crashed' }));
    setTimeout(() => resolve({ status: 98, why: `no result in ${limitMs / 1000} s` }), limitMs).unref();
    void server.ended.then((why) => resolve({ status: 95, why }));
    void page.exposeFunction('codeAutomationExit', (status: number) =>
      resolve({ status, why: `the test run ended with ${status}` }),
    );
  });
  await page.exposeFunction('codeAutomationLog', (type: string, args: unknown) => {
    const text = util.format(...(Array.isArray(args) ? args : [args]));
    windowLog.write(`[${type}] ${text}\n`);
    if (chatter.test(text)) return;
    if (type === 'info') console.log(text);
    else console.error(`[${type}] ${text.split('\n', 1)[0].slice(0, 300)}`);
  });
  page.on('console', (message) => windowLog.write(`[console.${message.type()}] ${message.text()}\n`));
  page.on('pageerror', (error) => windowLog.write(`[page] ${error.stack ?? error}\n`));

  const remote = (file: string) => `vscode-remote://${server.authority}${file}`;
  const payload = [
    ['extensionDevelopmentPath', remote(pathArgument('extensionDevelopmentPath'))],
    ['extensionTestsPath', remote(pathArgument('extensionTestsPath'))],
  ];
  const query = new URLSearchParams({ folder: path.resolve(positionals[0] ?? '.'), payload: JSON.stringify(payload) });
  await page.goto(`${server.url}/?${query}`, { waitUntil: 'domcontentloaded', timeout: 60_000 });
  const result = await end;
  if (result.status !== 0) {
    const screenshot = page.screenshot({ path: path.join(logFolder, 'end.png'), timeout: 5_000 });
    await screenshot.catch(() => undefined);
  }
  windowLog.end();
  return result;
}

async function main(): Promise<number> {
  ensureCodeServer();
  const profile = { userData: pathArgument('user-data-dir'), extensions: pathArgument('extensions-dir') };
  const logFolder = path.join(profile.userData, 'test-logs');
  fs.mkdirSync(logFolder, { recursive: true });
  // a built product ignores the extension under test unless it is started so
  const server = await startCodeServer(profile, path.join(logFolder, 'server.log'), ['--enable-smoke-test-driver']);
  let browser: Browser | undefined;
  try {
    browser = await chromium.launch({ executablePath: chromiumProgram(), args: [...chromiumArguments] });
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, locale: 'en-US' });
    const { status, why } = await runTests(await context.newPage(), browser, server, logFolder);
    if (status !== 0) console.error(`${why}; logs in ${logFolder}`);
    return status;
  } finally {
    await browser?.close().catch(() => undefined);
    await server.stop();
  }
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
