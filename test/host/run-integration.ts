/**
 * npm run test:integration: the suite of test/integration in a real VS Code.
 *   VSCODE_EXECUTABLE_PATH=…                 this desktop VS Code
 *   VSCODE_TEST_HOST=desktop|code-server     a downloaded desktop VS Code and nothing else, or the one in a browser
 * By default the desktop one is downloaded, and the one in a browser is taken where the network does not allow that.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { downloadAndUnzipVSCode, runTests } from '@vscode/test-electron';
import { makeSandbox } from './code-server';

interface Host {
  readonly kind: 'desktop' | 'code-server';
  readonly program: string;
  readonly why: string;
}

const networkErrors = new Set(
  'ENOTFOUND EAI_AGAIN ECONNREFUSED ECONNRESET ENETUNREACH EHOSTUNREACH ETIMEDOUT EPROTO'.split(' '),
);

interface NetworkError extends Error {
  readonly code?: string;
  readonly cause?: { readonly code?: string };
  readonly errors?: readonly { readonly code?: string }[];
}

/** Whether a download failed for want of a network (a proxy's refusal included), and not for a mistake of ours. */
function isNetworkError(error: NetworkError): boolean {
  const codes = [error.code, error.cause?.code, ...(error.errors ?? []).map(({ code }) => code)];
  if (codes.some((code) => code !== undefined && networkErrors.has(code))) return true;
  return /status code|time(?:d )?out|Failed to (?:get|fetch|parse)|proxy/i.test(error.message);
}

async function pickHost(): Promise<Host> {
  const inBrowser = path.resolve('dist/test/code-in-browser.js');
  const given = process.env.VSCODE_EXECUTABLE_PATH;
  const wish = process.env.VSCODE_TEST_HOST;
  if (given) return { kind: 'desktop', program: given, why: 'VSCODE_EXECUTABLE_PATH' };
  if (wish === 'code-server') return { kind: 'code-server', program: inBrowser, why: 'VSCODE_TEST_HOST' };
  try {
    const program = await downloadAndUnzipVSCode({
      version: process.env.VSCODE_TEST_VERSION ?? 'stable',
      timeout: 15_000,
    });
    return { kind: 'desktop', program, why: 'downloaded' };
  } catch (error) {
    const problem = error as NetworkError;
    if (wish === 'desktop' || !isNetworkError(problem)) throw error;
    const why = `desktop VS Code cannot be downloaded here: ${problem.code ?? problem.message}`;
    return { kind: 'code-server', program: inBrowser, why };
  }
}

/** Without a display the desktop VS Code runs under xvfb. */
function underXvfb(host: Host): number {
  const env = { ...process.env, VSCODE_TEST_XVFB: '1', VSCODE_EXECUTABLE_PATH: host.program };
  const args = ['-a', process.execPath, '--import', 'tsx', 'test/host/run-integration.ts'];
  const { status, error } = spawnSync('xvfb-run', args, { stdio: 'inherit', env });
  if (error) throw new Error('no display and no xvfb-run: install xvfb, or set VSCODE_TEST_HOST=code-server');
  return status ?? 1;
}

async function main(): Promise<number> {
  const host = await pickHost();
  console.log(`VS Code: ${host.kind} (${host.why})`);
  const needsDisplay = host.kind === 'desktop' && process.platform === 'linux' && !process.env.DISPLAY;
  if (needsDisplay && !process.env.VSCODE_TEST_XVFB) return underXvfb(host);

  const sandbox = makeSandbox(path.resolve('examples'));
  const resultsFile = process.env.WARPLENS_RESULTS ?? path.join(sandbox.folder, 'results.json');
  let problem: string | undefined;
  try {
    await runTests({
      vscodeExecutablePath: host.program,
      extensionDevelopmentPath: path.resolve(process.env.WARPLENS_EXTENSION ?? '.'),
      extensionTestsPath: path.resolve('dist/test/integration/index'),
      launchArgs: [
        sandbox.workspace,
        `--user-data-dir=${sandbox.userData}`,
        `--extensions-dir=${sandbox.extensions}`,
        '--disable-workspace-trust',
      ],
      extensionTestsEnv: { WARPLENS_RESULTS: resultsFile },
    });
  } catch (error) {
    problem = (error as Error).message;
  }
  // The exit status alone is not to be trusted: it reads 0 when the extension host dies. The suite must have written its results.
  const results = fs.existsSync(resultsFile) ? JSON.parse(fs.readFileSync(resultsFile, 'utf8')) : undefined;
  const isGood = problem === undefined && results?.failures === 0 && results.passes > 0;
  if (results === undefined) console.error('The extension host did not finish the suite.');
  if (isGood) fs.rmSync(sandbox.folder, { recursive: true, force: true });
  else console.error(`${problem ?? ''} Kept ${sandbox.folder}`);
  return isGood ? 0 : 1;
}

main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
