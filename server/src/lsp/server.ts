/** The language server: listens to the editor, and answers from reports. It computes no figure of its own. */
import * as path from 'node:path';
import { type Connection, type InitializeResult, TextDocumentSyncKind, TextDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { Announcements } from './announcements';
import { CompilerService } from './compiler-service';
import { Configuration } from './configuration';
import { Documents } from './documents';
import { pathOfUri, uriOfPath } from './positions';
import { trustedNotification } from './protocol';
import { answerRequests } from './requests';

declare const WARPLENS_VERSION: string;

const abilities: InitializeResult = {
  serverInfo: { name: 'warplens', version: WARPLENS_VERSION },
  capabilities: {
    positionEncoding: 'utf-16',
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
    hoverProvider: true,
    codeLensProvider: {},
    codeActionProvider: { codeActionKinds: ['quickfix'] },
    workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
  },
};

/** Sets the server up on a connection; the caller starts to listen. `codeCache`: folder where compiled code is kept from start to start. */
export function startServer(connection: Connection, codeCache?: string): void {
  const texts = new TextDocuments(TextDocument);
  const log = (line: string): void => connection.console.warn(line);
  // the editor's own spelling of a URI where it has the file open
  const uriOf = (file: string): string =>
    texts.all().find(({ uri }) => pathOfUri(uri) === file)?.uri ?? uriOfPath(file);
  const configuration = new Configuration(connection, log);
  const announcements = new Announcements(connection, uriOf, () => configuration.canRefreshLenses);
  const documents = new Documents({
    workerProgram: path.join(__dirname, 'worker.js'),
    codeCache,
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

  const compiler = new CompilerService({
    settingsFor: (uri) => configuration.settingsFor(uri),
    folders: () => configuration.folders,
    isTrusted: () => configuration.isTrusted,
    textOf: (uri) => documents.textOf(uri),
    compiled: (uri, answer) => documents.compiled(uri, answer),
    status: (uri, state, message) => announcements.compiler(uri, state, message),
    log,
  });
  const compileAll = (): void => {
    for (const uri of documents.uris()) compiler.saved(uri);
  };
  const changeAll = (): void => {
    documents.analyseAll();
    compileAll();
  };

  connection.onInitialize((params) => {
    configuration.initialize(params);
    return abilities;
  });
  connection.onInitialized(() => configuration.listen(changeAll));
  connection.onDidChangeConfiguration(({ settings }) => {
    configuration.update(settings);
    changeAll();
  });
  connection.onNotification(trustedNotification, () => {
    configuration.isTrusted = true;
    compileAll();
  });
  connection.onDidChangeWatchedFiles(({ changes }) => {
    if (changes.some(({ uri }) => uri.endsWith('/compile_commands.json'))) changeAll();
    else for (const { uri } of changes) headerSaved(pathOfUri(uri));
  });
  const headerSaved = (file: string): void => {
    for (const uri of documents.including(file)) compiler.saved(uri);
    documents.headerChanged(file);
  };
  texts.onDidOpen(({ document: { uri } }) => compiler.saved(uri));
  texts.onDidSave(({ document: { uri } }) => compiler.saved(uri));
  texts.onDidChangeContent(({ document }) => {
    documents.changed(document);
    void compiler.edited(document.uri);
  });
  texts.onDidClose(({ document: { uri } }) => {
    configuration.forget(uri);
    compiler.forget(uri);
    documents.closed(uri);
  });
  answerRequests({ connection, configuration, documents, uriOf, log });
  connection.onShutdown(() => {
    compiler.dispose();
    return documents.dispose();
  });
  texts.listen(connection);
}
