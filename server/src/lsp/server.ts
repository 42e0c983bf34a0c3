/** The language server: listens to the editor, and answers from reports. It computes no figure of its own. */
import * as path from 'node:path';
import {
  CodeLensRefreshRequest,
  type Connection,
  DidChangeConfigurationNotification,
  type InitializeParams,
  type InitializeResult,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { capabilityChoices } from './capability-choices';
import { codeActions } from './code-action';
import { codeLenses } from './code-lens';
import { DiagnosticsPublisher, diagnosticsOf } from './diagnostics';
import { type Analysed, Documents } from './documents';
import { hoverAt } from './hover';
import { pathOfUri, uriOfPath } from './positions';
import {
  type AnalysedParams,
  analysedNotification,
  capabilitiesRequest,
  type InitializationOptions,
  type SimulateParams,
  type SimulateResult,
  type StatusParams,
  simulateRequest,
  statusNotification,
} from './protocol';
import { readSettings, type Settings } from './settings';
import { simulateResult } from './simulate';

declare const WARPLENS_VERSION: string;

interface ClientAbilities {
  readonly configuration: boolean;
  readonly watchConfiguration: boolean;
  readonly refreshLenses: boolean;
  readonly workspaceFolders: boolean;
}

/** Sets the server up on a connection; the caller starts to listen. */
export function startServer(connection: Connection, workerProgram = path.join(__dirname, 'worker.js')): void {
  const texts = new TextDocuments(TextDocument);
  let client: ClientAbilities = {
    configuration: false,
    watchConfiguration: false,
    refreshLenses: false,
    workspaceFolders: false,
  };
  let folders: readonly string[] = [];
  let initialSettings: unknown;
  const settings = new Map<string, Promise<Settings>>();
  const publisher = new DiagnosticsPublisher((params) => void connection.sendDiagnostics(params));
  const uriOf = (file: string): string =>
    texts.all().find(({ uri }) => pathOfUri(uri) === file)?.uri ?? uriOfPath(file);
  const log = (line: string): void => connection.console.warn(line);
  const status = (params: StatusParams): void => void connection.sendNotification(statusNotification, params);

  async function fetchSettings(uri: string): Promise<Settings> {
    const section = client.configuration
      ? await connection.workspace.getConfiguration({ scopeUri: uri, section: 'warplens' }).catch(() => initialSettings)
      : initialSettings;
    const read = readSettings(section);
    for (const problem of read.problems) log(problem);
    return read;
  }
  function settingsFor(uri: string): Promise<Settings> {
    const known = settings.get(uri) ?? fetchSettings(uri);
    settings.set(uri, known);
    return known;
  }

  const documents = new Documents({
    workerProgram,
    log,
    settingsFor,
    folders: () => folders,
    analysed: show,
    dropped: (uri) => publisher.remove(uri),
    failed: (uri, reason) => {
      const message = `${path.basename(pathOfUri(uri))} was not analysed: ${reason}`;
      log(message);
      status({ state: 'problem', message });
    },
  });

  function show(analysed: Analysed): void {
    const { uri, version, report, computeCapability, milliseconds } = analysed;
    publisher.update(uri, version, diagnosticsOf(report, uriOf));
    const params: AnalysedParams = {
      uri,
      version,
      computeCapability,
      kernels: report.kernels.length,
      findings: report.diagnostics.length,
      milliseconds,
    };
    void connection.sendNotification(analysedNotification, params);
    status({ state: 'ready' });
    if (client.refreshLenses) void connection.sendRequest(CodeLensRefreshRequest.type).catch(() => undefined);
  }

  /** A request that fails inside answers nothing, and says why in one line; the server goes on. */
  function guarded<P, R>(name: string, fallback: R, answer: (params: P) => Promise<R>): (params: P) => Promise<R> {
    return async (params) => {
      try {
        return await answer(params);
      } catch (error) {
        log(`${name} failed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
        return fallback;
      }
    };
  }

  connection.onInitialize((params: InitializeParams): InitializeResult => {
    const { workspace } = params.capabilities;
    client = {
      configuration: workspace?.configuration === true,
      watchConfiguration: workspace?.didChangeConfiguration?.dynamicRegistration === true,
      refreshLenses: workspace?.codeLens?.refreshSupport === true,
      workspaceFolders: workspace?.workspaceFolders === true,
    };
    const options = (params.initializationOptions ?? {}) as InitializationOptions;
    initialSettings = options.settings;
    const roots = params.workspaceFolders?.map(({ uri }) => uri) ?? (params.rootUri ? [params.rootUri] : []);
    folders = roots.filter((uri) => uri.startsWith('file:')).map(pathOfUri);
    return {
      serverInfo: { name: 'warplens', version: WARPLENS_VERSION },
      capabilities: {
        positionEncoding: 'utf-16',
        textDocumentSync: TextDocumentSyncKind.Incremental,
        hoverProvider: true,
        codeLensProvider: {},
        codeActionProvider: { codeActionKinds: ['quickfix'] },
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
    };
  });

  connection.onInitialized(() => {
    if (client.watchConfiguration) {
      void connection.client.register(DidChangeConfigurationNotification.type, { section: 'warplens' });
    }
    if (!client.workspaceFolders) return;
    connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      const gone = new Set(removed.map(({ uri }) => pathOfUri(uri)));
      const more = added.filter(({ uri }) => uri.startsWith('file:')).map(({ uri }) => pathOfUri(uri));
      folders = [...folders.filter((folder) => !gone.has(folder)), ...more];
      settings.clear();
      documents.analyseAll();
    });
  });

  connection.onDidChangeConfiguration(({ settings: pushed }) => {
    const section = (pushed as { warplens?: unknown } | null)?.warplens;
    if (section !== undefined) initialSettings = section;
    settings.clear();
    documents.analyseAll();
  });

  connection.onDidChangeWatchedFiles(({ changes }) => {
    if (changes.some(({ uri }) => uri.endsWith('/compile_commands.json'))) documents.analyseAll();
    else for (const { uri } of changes) documents.headerChanged(pathOfUri(uri));
  });

  texts.onDidChangeContent(({ document }) => documents.changed(document));
  texts.onDidClose(({ document }) => {
    settings.delete(document.uri);
    documents.closed(document.uri);
  });

  /** The report that knows a document best: its own, or else that of a unit which includes it and says more. */
  async function reportsFor(uri: string): Promise<Analysed[]> {
    const own = await documents.current(uri);
    const file = pathOfUri(uri);
    const including = [...documents.reports()].filter((each) => each.uri !== uri && each.headers.includes(file));
    return own === undefined ? including : [own, ...including];
  }

  connection.onHover(
    guarded('hover', null, async ({ textDocument, position }) => {
      const file = pathOfUri(textDocument.uri);
      for (const analysed of await reportsFor(textDocument.uri)) {
        const hover = hoverAt(analysed, file, position);
        if (hover !== null) return hover;
      }
      return null;
    }),
  );

  connection.onCodeLens(
    guarded('code lens', [], async ({ textDocument: { uri } }) => {
      const { enable, codeLens } = await settingsFor(uri);
      const analysed = enable && codeLens ? await documents.current(uri) : undefined;
      return analysed === undefined ? [] : codeLenses(analysed.report, uri);
    }),
  );

  connection.onCodeAction(
    guarded('quick fix', [], async ({ textDocument: { uri }, range }) => {
      const reports = await reportsFor(uri);
      return reports.flatMap(({ report }) => codeActions(report, pathOfUri(uri), range, uriOf));
    }),
  );

  connection.onRequest(capabilitiesRequest, capabilityChoices);
  connection.onRequest(
    simulateRequest,
    guarded('simulate', null, async (params: SimulateParams): Promise<SimulateResult | null> => {
      const [analysed] = await reportsFor(params.uri);
      return analysed === undefined ? null : simulateResult(analysed, params, pathOfUri(params.uri), uriOf);
    }),
  );

  connection.onShutdown(() => documents.dispose());
  texts.listen(connection);
}
