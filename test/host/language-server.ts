/** The real server as an editor sees it: a process, spoken to over its protocol. */
import { type ChildProcess, spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  type InitializeResult,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { type AnalysedParams, analysedNotification } from '../../server/src/lsp/protocol';

export interface ServerOptions {
  /** The server's program; its worker lies beside it. */
  readonly program: string;
  readonly folder: string;
  readonly settings?: unknown;
  readonly isTrusted?: boolean;
  /** Folder where compiled code is kept from start to start. */
  readonly codeCache?: string;
  /** Capabilities of the client, as the protocol has them. */
  readonly capabilities?: object;
}

export class LanguageServer {
  /** All that was published, the latest last. */
  readonly published: PublishDiagnosticsParams[] = [];
  /** Documents, `uri version`, of which all kernels have been looked at. */
  private readonly whole = new Set<string>();
  /** Lines the server logged. */
  readonly log: string[] = [];
  private listeners: (() => void)[] = [];

  private constructor(
    readonly process: ChildProcess,
    readonly connection: ProtocolConnection,
  ) {}

  static async start(options: ServerOptions): Promise<{ server: LanguageServer; initialized: InitializeResult }> {
    const kept = options.codeCache === undefined ? [] : ['--code-cache', options.codeCache];
    const child = spawn(process.execPath, [options.program, '--stdio', ...kept], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const reader = new StreamMessageReader(child.stdout);
    const connection = createProtocolConnection(reader, new StreamMessageWriter(child.stdin));
    const server = new LanguageServer(child, connection);
    connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
      server.published.push(params);
      for (const listener of [...server.listeners]) listener();
    });
    connection.onNotification(analysedNotification, ({ uri, version }: AnalysedParams) => {
      server.whole.add(`${uri} ${version}`);
      for (const listener of [...server.listeners]) listener();
    });
    connection.onNotification('window/logMessage', ({ message }: { message: string }) => void server.log.push(message));
    connection.listen();
    const uri = pathToFileURL(options.folder).href;
    const initialized = await connection.sendRequest<InitializeResult>('initialize', {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: 'test' }],
      capabilities: options.capabilities ?? {},
      initializationOptions: { settings: options.settings, isTrusted: options.isTrusted },
    });
    await connection.sendNotification('initialized', {});
    return { server, initialized };
  }

  open(uri: string, text: string): Promise<void> {
    const textDocument = { uri, languageId: 'cuda-cpp', version: 1, text };
    return this.connection.sendNotification('textDocument/didOpen', { textDocument });
  }

  /** @param range replaced by the text; the whole document when absent */
  change(uri: string, version: number, text: string, range?: object): Promise<void> {
    const params = {
      textDocument: { uri, version },
      contentChanges: [range === undefined ? { text } : { range, text }],
    };
    return this.connection.sendNotification('textDocument/didChange', params);
  }

  save(uri: string): Promise<void> {
    return this.connection.sendNotification('textDocument/didSave', { textDocument: { uri } });
  }

  close(uri: string): Promise<void> {
    return this.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
  }

  /** Resolves with what is published for this version of a document (also if it has been already), all of its kernels. */
  async diagnostics(uri: string, version: number, limitMs = 20_000): Promise<PublishDiagnosticsParams> {
    const isWhole = () => this.whole.has(`${uri} ${version}`);
    return this.publishedWhere((params) => params.uri === uri && params.version === version && isWhole(), limitMs);
  }

  publishedWhere(
    passes: (params: PublishDiagnosticsParams) => boolean,
    limitMs = 20_000,
  ): Promise<PublishDiagnosticsParams> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        this.listeners = this.listeners.filter((listener) => listener !== look);
      };
      const look = (): void => {
        const found = this.published.findLast(passes);
        if (found === undefined) return;
        done();
        resolve(found);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`no such diagnostics in ${limitMs} ms; log: ${this.log.join(' | ')}`));
      }, limitMs);
      this.listeners.push(look);
      look();
    });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    if (this.process.exitCode === null) {
      await this.connection.sendRequest('shutdown').catch(() => undefined);
      await this.connection.sendNotification('exit').catch(() => undefined);
      await ended;
    }
    this.connection.dispose();
  }
}
