/** The language server: listens to the editor, and answers from reports. It computes no figure of its own. */
import * as path from 'node:path';
import { type Connection, type InitializeResult, TextDocumentSyncKind, TextDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { Announcements } from './announcements';
import { Configuration } from './configuration';
import { Documents } from './documents';
import { pathOfUri, uriOfPath } from './positions';
import { answerRequests } from './requests';

declare const WARPLENS_VERSION: string;

const abilities: InitializeResult = {
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

/** Sets the server up on a connection; the caller starts to listen. */
export function startServer(connection: Connection, workerProgram = path.join(__dirname, 'worker.js')): void {
  const texts = new TextDocuments(TextDocument);
  const log = (line: string): void => connection.console.warn(line);
  // the editor's own spelling of a URI where it has the file open
  const uriOf = (file: string): string =>
    texts.all().find(({ uri }) => pathOfUri(uri) === file)?.uri ?? uriOfPath(file);
  const configuration = new Configuration(connection, log);
  const announcements = new Announcements(connection, uriOf, () => configuration.canRefreshLenses);
  const documents = new Documents({
    workerProgram,
    log,
    settingsFor: (uri) => configuration.settingsFor(uri),
    folders: () => configuration.folders,
    analysed: (analysed) => announcements.analysed(analysed),
    dropped: (uri) => announcements.dropped(uri),
    failed: (uri, reason) => {
      const problem = `${path.basename(pathOfUri(uri))} was not analysed: ${reason}`;
      log(problem);
      announcements.status(problem);
    },
  });

  connection.onInitialize((params) => {
    configuration.initialize(params);
    return abilities;
  });
  connection.onInitialized(() => configuration.listen(() => documents.analyseAll()));
  connection.onDidChangeConfiguration(({ settings }) => {
    configuration.update(settings);
    documents.analyseAll();
  });
  connection.onDidChangeWatchedFiles(({ changes }) => {
    if (changes.some(({ uri }) => uri.endsWith('/compile_commands.json'))) documents.analyseAll();
    else for (const { uri } of changes) documents.headerChanged(pathOfUri(uri));
  });
  texts.onDidChangeContent(({ document }) => documents.changed(document));
  texts.onDidClose(({ document: { uri } }) => {
    configuration.forget(uri);
    documents.closed(uri);
  });
  answerRequests({ connection, configuration, documents, uriOf, log });
  connection.onShutdown(() => documents.dispose());
  texts.listen(connection);
}
