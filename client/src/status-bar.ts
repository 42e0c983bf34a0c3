/** The status bar item: the capability analysed for; a click opens the picker. */
import * as vscode from 'vscode';
import type { AnalysedParams, CompilerParams, StatusParams } from '../../server/src/lsp/protocol';
import { isCuda } from './language-client';

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'warplens.capability',
    vscode.StatusBarAlignment.Right,
    100,
  );
  private readonly listeners: vscode.Disposable[];
  /** By URI, as the server used it. */
  private readonly capabilities = new Map<string, string>();
  /** By URI: how it stands with the compiler. */
  private readonly compilers = new Map<string, CompilerParams>();
  private problem: string | undefined;

  constructor() {
    this.item.name = 'Warplens compute capability';
    this.item.command = 'warplens.selectComputeCapability';
    this.listeners = [
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.forget(uri.toString())),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration('warplens')) return;
        this.capabilities.clear();
        this.update();
      }),
    ];
    this.update();
  }

  analysed({ uri, computeCapability }: AnalysedParams): void {
    this.capabilities.set(uri, computeCapability);
    this.update();
  }

  compiler(params: CompilerParams): void {
    this.compilers.set(params.uri, params);
    this.update();
  }

  status({ state, message }: StatusParams): void {
    this.problem = state === 'problem' ? message : undefined;
    this.update();
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) listener.dispose();
  }

  private forget(uri: string): void {
    this.capabilities.delete(uri);
    this.compilers.delete(uri);
  }

  private update(): void {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined || !isCuda(document)) {
      this.item.hide();
      return;
    }
    const settings = vscode.workspace.getConfiguration('warplens', document.uri);
    const capability = this.capabilities.get(document.uri.toString()) ?? settings.get<string>('computeCapability', '');
    const icon = this.problem === undefined ? '$(circuit-board)' : '$(warning)';
    this.item.text = settings.get('enable', true) ? `${icon} CC ${capability}` : '$(circle-slash) Warplens off';
    this.item.accessibilityInformation = { label: `Warplens, compute capability ${capability}` };
    const compiler = compilerText(this.compilers.get(document.uri.toString()));
    const about = this.problem ?? `Warplens analyses for compute capability ${capability}. Select another.`;
    this.item.tooltip = compiler === undefined ? about : `${about}\n\n${compiler}`;
    this.item.show();
  }
}

/** One line for the tooltip; the icon stays as it is, for a file that does not compile is a file being written. */
function compilerText(params: CompilerParams | undefined): string | undefined {
  if (params === undefined || params.state === 'none') return undefined;
  const { state, message } = params;
  if (state === 'compiling') return 'The compiler is at work on the file.';
  if (state === 'failed') return `Compiler: ${message ?? 'failed'}`;
  return message === undefined ? 'Figures rest on what the compiler made of the saved file.' : `Compiler: ${message}`;
}
