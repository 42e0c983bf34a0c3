/**
 * VS Code's own server, as the npm package `code-server` carries it: a real workbench and extension host where no desktop
 * VS Code can be downloaded. Installed once into .vscode-test, without running anyone's install scripts.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';

/** Carries VS Code 1.139.1 and wants Node 24, which comes as an npm package too. */
const codeServerVersion = '4.139.1';
const nodeVersion = '24.21.0';
const nodePackage = `node-${process.platform}-${process.arch}`;

const home = process.env.CODE_SERVER_CACHE ?? path.resolve('.vscode-test', `code-server-${codeServerVersion}`);
const vscodeFolder = path.join(home, 'node_modules/code-server/lib/vscode');
const serverProgram = path.join(vscodeFolder, 'out/server-main.js');
const node = path.join(home, 'node_modules', nodePackage, 'bin/node');
const doneMark = path.join(home, '.complete');

/** Parts that no test of an extension needs, 260 MB. */
const unneeded = [
  'node_modules/@github',
  'node_modules/@microsoft/mxc-sdk',
  'extensions/copilot',
  'extensions/mermaid-markdown-features',
];

/** The environment without what npm and VS Code's own terminals put into it: it would change what the server does. */
function cleanEnvironment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const foreign = /^(?:VSCODE_(?!TEST_)|ELECTRON_|npm_(?:lifecycle|package)|(?:INIT_CWD|NODE_OPTIONS|PORT|PASSWORD)$)/;
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return { ...Object.fromEntries(own), ...extra };
}

/** Installs the server unless it is there. */
export function ensureCodeServer(): void {
  if (fs.existsSync(doneMark)) return;
  const started = Date.now();
  console.log(`Installing code-server ${codeServerVersion} into ${path.relative('.', home)} (once) …`);
  fs.rmSync(home, { recursive: true, force: true });
  fs.mkdirSync(home, { recursive: true });
  fs.writeFileSync(path.join(home, 'package.json'), JSON.stringify({ name: 'warplens-test-host', private: true }));
  const install = (folder: string, ...packages: string[]): void => {
    const flags = [
      '--ignore-scripts',
      '--omit=dev',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--engine-strict=false',
    ];
    const stdio = ['ignore', 'inherit', 'inherit'] as const;
    execFileSync('npm', ['install', ...packages, ...flags], {
      cwd: folder,
      stdio: [...stdio],
      env: cleanEnvironment(),
    });
  };
  install(home, '--save-exact', `code-server@${codeServerVersion}`, `${nodePackage}@${nodeVersion}`);
  // what the package's own install script does, but for the compiling
  install(vscodeFolder);
  install(path.join(vscodeFolder, 'extensions'));
  for (const part of unneeded) fs.rmSync(path.join(vscodeFolder, part), { recursive: true, force: true });
  replaceNativeModules();
  fs.writeFileSync(doneMark, codeServerVersion);
  console.log(`Installed in ${((Date.now() - started) / 1000).toFixed(0)} s`);
}

/** Two modules would have to be compiled: the log writer (without it output channels stay empty) and a watchdog. */
function replaceNativeModules(): void {
  const modules = path.join(vscodeFolder, 'node_modules/@vscode');
  fs.writeFileSync(path.join(modules, 'spdlog/index.js'), logWriter);
  const watchdog = 'exports.start = () => {};\nexports.exit = (code) => process.exit(code || 0);\n';
  fs.writeFileSync(path.join(modules, 'native-watchdog/index.js'), watchdog);
}

const logWriter = `'use strict';
const fs = require('node:fs');
const path = require('node:path');
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'critical'];
class Logger {
  constructor(name, file) {
    this.level = 2;
    this.plain = false;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    this.file = fs.openSync(file, 'a');
  }
  write(level, text) {
    if (level < this.level || this.file === undefined) return;
    fs.writeSync(this.file, this.plain ? String(text) : new Date().toISOString() + ' [' + levels[level] + '] ' + text + '\\n');
  }
  getLevel() { return this.level; }
  setLevel(level) { this.level = level; }
  setPattern() { this.plain = false; }
  clearFormatters() { this.plain = true; }
  flush() {}
  drop() {
    if (this.file !== undefined) fs.closeSync(this.file);
    this.file = undefined;
  }
}
levels.forEach((name, level) => { Logger.prototype[name] = function (text) { this.write(level, text); }; });
exports.version = 0;
exports.setLevel = exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = exports.createAsyncRotatingLogger = async (name, file) => new Logger(name, file);
`;

/** One run of the server's command line, e.g. to install an extension. */
export function serverCommand(args: readonly string[]): { status: number; output: string } {
  const all = [serverProgram, '--accept-server-license-terms', ...args];
  const { status, stdout, stderr } = spawnSync(node, all, { encoding: 'utf8', env: cleanEnvironment() });
  return { status: status ?? 1, output: `${stdout}${stderr}` };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

export interface RunningServer {
  readonly url: string;
  /** host:port, the authority of vscode-remote URIs */
  readonly authority: string;
  /** Resolves when the server has ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface Profile {
  readonly userData: string;
  readonly extensions: string;
}

/** Starts the server on a free port of this machine and waits until it answers. */
export async function startCodeServer(
  profile: Profile,
  logFile: string,
  extra: readonly string[] = [],
): Promise<RunningServer> {
  const port = await freePort();
  const log = fs.openSync(logFile, 'a');
  const args = [
    ...[serverProgram, '--host', '127.0.0.1', '--port', `${port}`, '--without-connection-token'],
    ...['--accept-server-license-terms', '--server-data-dir', path.join(profile.userData, 'server')],
    ...['--user-data-dir', profile.userData, '--extensions-dir', profile.extensions],
    ...['--disable-telemetry', '--disable-experiments', '--disable-workspace-trust', '--force-disable-user-env'],
    ...extra,
  ];
  const child = spawn(node, args, { stdio: ['ignore', log, log], detached: true, env: cleanEnvironment() });
  fs.closeSync(log);
  let hasEnded = false;
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      hasEnded = true;
      resolve(`the VS Code server ended with ${code ?? signal}`);
    });
  });
  const kill = (signal: NodeJS.Signals): void => {
    try {
      // the whole group: extension host, file watcher, terminals
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // it has ended already
    }
  };
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 60_000;
  const answers = () =>
    fetch(`${url}/version`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await answers())) {
    if (hasEnded || Date.now() > deadline) {
      kill('SIGKILL');
      throw new Error(`the VS Code server did not start; see ${logFile}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    url,
    authority: `127.0.0.1:${port}`,
    ended,
    async stop() {
      kill('SIGTERM');
      const timer = setTimeout(() => kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(timer);
      kill('SIGKILL');
    },
  };
}

export const chromiumArguments: readonly string[] = [
  ...(process.getuid?.() === 0 || process.env.CI ? ['--no-sandbox'] : []),
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  '--disable-features=LocalNetworkAccessChecks',
  // nothing but this machine resolves: the same run with and without a network
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** The path of Chromium that scripts/chromium.mjs found. */
export function chromiumProgram(): string {
  const given = process.env.CHROMIUM_PATH;
  const found = [given, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
    (file) => file !== undefined && fs.existsSync(file),
  );
  if (found === undefined) throw new Error('no Chromium: set CHROMIUM_PATH, or let npm test install it');
  return found;
}

/** Nothing opens, asks, updates or saves by itself. */
const quietSettings = {
  // whether nvcc is installed is no matter for a test; those about it bring their own
  'warplens.compiler': 'off',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'update.showReleaseNotes': false,
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  'security.workspace.trust.enabled': false,
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
  'window.restoreWindows': 'none',
};

export interface Sandbox extends Profile {
  readonly folder: string;
  readonly workspace: string;
}

/** A profile of its own and a copy of a workspace. The path is short: VS Code's sockets allow about 100 characters. */
export function makeSandbox(workspace: string, settings: Readonly<Record<string, unknown>> = {}): Sandbox {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'wl-'));
  const sandbox = {
    folder,
    workspace: path.join(folder, 'ws'),
    userData: path.join(folder, 'ud'),
    extensions: path.join(folder, 'ext'),
  };
  fs.cpSync(workspace, sandbox.workspace, { recursive: true });
  fs.mkdirSync(path.join(sandbox.userData, 'User'), { recursive: true });
  fs.mkdirSync(sandbox.extensions);
  const settingsFile = path.join(sandbox.userData, 'User', 'settings.json');
  fs.writeFileSync(settingsFile, JSON.stringify({ ...quietSettings, ...settings }, null, 2));
  return sandbox;
}
