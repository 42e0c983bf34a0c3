/** What the server tells the editor without being asked: diagnostics, new reports, problems. */
import { CodeLensRefreshRequest, type Connection } from 'vscode-languageserver';
import { lensTitle } from './code-lens';
import { DiagnosticsPublisher, diagnosticsOf } from './diagnostics';
import type { Analysed } from './documents';
import { kernelsOf } from './kernels';
import {
  type AnalysedParams,
  analysedNotification,
  type CompilerParams,
  type CompilerState,
  compilerNotification,
  type StatusParams,
  statusNotification,
} from './protocol';

export class Announcements {
  private readonly publisher: DiagnosticsPublisher;
  /** The titles of each document's lenses, to refresh them only when one changes. */
  private readonly lenses = new Map<string, string>();
  private problem: string | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly uriOf: (file: string) => string,
    private readonly canRefreshLenses: () => boolean,
  ) {
    this.publisher = new DiagnosticsPublisher((params) => void connection.sendDiagnostics(params));
  }

  /** A document has a new report. */
  analysed({ uri, version, report, computeCapability, milliseconds, isPart }: Analysed): void {
    this.publisher.update(uri, version, diagnosticsOf(report, this.uriOf));
    this.refreshLenses(uri, kernelsOf(report).map(lensTitle).join('\n'));
    if (isPart) return;
    const params: AnalysedParams = {
      uri,
      version,
      computeCapability,
      kernels: report.kernels.length,
      findings: report.diagnostics.length,
      milliseconds,
    };
    void this.connection.sendNotification(analysedNotification, params);
    this.status(undefined);
  }

  /** Nothing is to be shown for a document any more. */
  dropped(uri: string): void {
    this.publisher.remove(uri);
    this.refreshLenses(uri, '');
    this.lenses.delete(uri);
  }

  compiler(uri: string, state: CompilerState, message?: string): void {
    const params: CompilerParams = { uri, state, message };
    void this.connection.sendNotification(compilerNotification, params);
  }

  /** @param problem one line, or undefined when all is well again */
  status(problem: string | undefined): void {
    if (problem === this.problem) return;
    this.problem = problem;
    const params: StatusParams = problem === undefined ? { state: 'ready' } : { state: 'problem', message: problem };
    void this.connection.sendNotification(statusNotification, params);
  }

  private refreshLenses(uri: string, titles: string): void {
    if (this.lenses.get(uri) === titles) return;
    this.lenses.set(uri, titles);
    if (!this.canRefreshLenses()) return;
    void this.connection.sendRequest(CodeLensRefreshRequest.type).catch(() => undefined);
  }
}
