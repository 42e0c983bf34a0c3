/** The connection to the language server. */
import * as vscode from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import type { InitializationOptions } from '../../server/src/lsp/protocol';

/** CUDA and PTX files, also where another extension gives them a language id of its own. */
export const cudaDocuments: readonly vscode.DocumentFilter[] = [
  { language: 'cuda-cpp' },
  { language: 'cuda' },
  { pattern: '**/*.{cu,cuh,ptx}' },
];

export const isCuda = (document: vscode.TextDocument): boolean => vscode.languages.match(cudaDocuments, document) > 0;

export function createClient(context: vscode.ExtensionContext): LanguageClient {
  const module = vscode.Uri.joinPath(context.extensionUri, 'dist', 'server.js').fsPath;
  const codeCache = vscode.Uri.joinPath(context.globalStorageUri, 'code').fsPath;
  const initializationOptions: InitializationOptions = {
    settings: vscode.workspace.getConfiguration('warplens'),
    isTrusted: vscode.workspace.isTrusted,
  };
  const watchers = [
    '**/*.{cu,cuh,h,hh,hpp,hxx,inl,inc,c,cc,cpp,cxx}',
    '**/{Makefile,makefile,GNUmakefile,run,run.sh}',
    '**/compile_commands.json',
  ].map((pattern) => vscode.workspace.createFileSystemWatcher(pattern));
  context.subscriptions.push(...watchers);
  return new LanguageClient(
    'warplens',
    'Warplens',
    {
      run: { module, transport: TransportKind.ipc, args: ['--code-cache', codeCache] },
      debug: { module, transport: TransportKind.ipc, options: { execArgv: ['--nolazy', '--inspect=6009'] } },
    },
    {
      documentSelector: cudaDocuments.map(({ language, pattern }) =>
        language ? { language } : { pattern: `${pattern}` },
      ),
      synchronize: { fileEvents: watchers },
      initializationOptions,
    },
  );
}
