/** The VS Code side: starts the server, and shows what it says. Thin; everything it shows is the server's report. */
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import {
  type AnalysedParams,
  analysedNotification,
  type CompilerParams,
  compilerNotification,
  type StatusParams,
  simulateCommand,
  statusNotification,
  trustedNotification,
} from '../../server/src/lsp/protocol';
import { selectComputeCapability } from './capability-picker';
import { createClient } from './language-client';
import { SimulatePanel } from './simulate-panel';
import { StatusBar } from './status-bar';

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = createClient(context);
  client = server;
  const statusBar = new StatusBar();
  const panel = new SimulatePanel(context.extensionUri, server);
  context.subscriptions.push(
    statusBar,
    panel,
    server.onNotification(analysedNotification, (params: AnalysedParams) => {
      statusBar.analysed(params);
      void panel.analysed(params.uri);
    }),
    server.onNotification(compilerNotification, (params: CompilerParams) => statusBar.compiler(params)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.sendNotification(trustedNotification)),
    server.onNotification(statusNotification, (params: StatusParams) => statusBar.status(params)),
    vscode.commands.registerCommand('warplens.selectComputeCapability', () => selectComputeCapability(server)),
    vscode.commands.registerCommand(simulateCommand, (uri?: unknown, kernel?: unknown) => simulate(panel, uri, kernel)),
    vscode.commands.registerCommand('warplens.restartServer', () => server.restart()),
    vscode.commands.registerCommand('warplens.showOutput', () => server.outputChannel.show()),
  );
  await server.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** From a code lens with the kernel's name, or from the palette for the kernel at the cursor. */
async function simulate(panel: SimulatePanel, uri: unknown, kernel: unknown): Promise<void> {
  if (typeof uri === 'string' && typeof kernel === 'string') return panel.show({ uri, kernel });
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void vscode.window.showInformationMessage('Open a CUDA file and put the cursor into a kernel first.');
    return;
  }
  await panel.show({ uri: editor.document.uri.toString(), line: editor.selection.active.line });
}
