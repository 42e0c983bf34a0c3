/** *Simulate Kernel*: the panel beside the editor with a kernel's whole report; it follows the file. */
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { type SimulateParams, type SimulateResult, simulateRequest } from '../../server/src/lsp/protocol';
import type { Range } from '../../server/src/report/report';
import type { FromPanel, ToPanel } from './panel/messages';

export class SimulatePanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: ToPanel | undefined;
  private readonly dist: vscode.Uri;

  constructor(
    extension: vscode.Uri,
    private readonly client: LanguageClient,
  ) {
    this.dist = vscode.Uri.joinPath(extension, 'dist');
  }

  /** Opens the panel for a kernel, or turns the open one to it. */
  async show(params: SimulateParams): Promise<void> {
    const result = await this.simulate(params);
    const name = result?.kernel?.name;
    if (result === null || name === undefined) {
      const why =
        result === null ? 'The file has not been analysed.' : 'There is no kernel here that can be simulated.';
      void vscode.window.showInformationMessage(why);
      return;
    }
    this.panel ??= this.open();
    this.panel.title = `${name} · Warplens`;
    this.post({ kind: 'show', result, name });
    this.panel.reveal(undefined, true);
  }

  /** A document has a new report. */
  async analysed(uri: string): Promise<void> {
    const { shown } = this;
    if (this.panel === undefined || shown === undefined || shown.result.uri !== uri) return;
    const result = await this.simulate({ uri, kernel: shown.name });
    // the user may have turned the panel to another kernel meanwhile
    if (result !== null && this.shown === shown) this.post({ kind: 'show', result, name: shown.name });
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private simulate(params: SimulateParams): Promise<SimulateResult | null> {
    return this.client.sendRequest<SimulateResult | null>(simulateRequest, params);
  }

  private post(message: ToPanel): void {
    this.shown = message;
    void this.panel?.webview.postMessage(message);
  }

  private open(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(
      'warplens.simulate',
      'Warplens',
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [this.dist] },
    );
    panel.webview.html = this.page(panel.webview);
    panel.webview.onDidReceiveMessage((message: FromPanel) => this.receive(message));
    panel.onDidDispose(() => {
      this.panel = undefined;
      this.shown = undefined;
    });
    return panel;
  }

  private receive(message: FromPanel): void {
    if (message.kind === 'reveal') void reveal(message.uri, message.range);
    // the page is loaded anew each time the panel comes into view
    else if (this.shown !== undefined) this.post(this.shown);
  }

  private page(webview: vscode.Webview): string {
    const source = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.dist, file));
    return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="UTF-8">
  <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src ${webview.cspSource};">
  <meta name="viewport" content="width=device-width, initial-scale=1.0">
  <link rel="stylesheet" href="${source('panel.css')}">
  <title>Warplens</title>
</head>
<body>
  <main id="report"></main>
  <script src="${source('panel.js')}"></script>
</body>
</html>`;
  }
}

async function reveal(uri: string, range: Range): Promise<void> {
  const selection = new vscode.Range(range.line - 1, range.column - 1, range.endLine - 1, range.endColumn - 1);
  const open = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri);
  const viewColumn = open?.viewColumn ?? vscode.ViewColumn.One;
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection, viewColumn });
}
