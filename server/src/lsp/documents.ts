/** The open documents and the latest report of each. */
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { FileReport } from '../report/report';
import { AnalysisHost, type Outcome } from '../worker/analysis-host';
import type { AnalysisJob, Answer, CompilerAnswer } from '../worker/worker-messages';
import { withLastGood } from './last-good';
import { pathOfUri } from './positions';
import { Schedule } from './schedule';
import { type Settings, workspaceOf } from './settings';

/** Characters of a document that are analysed at most. */
const maxCharacters = 4 * 1024 * 1024;

export interface Analysed {
  readonly uri: string;
  readonly path: string;
  readonly version: number;
  readonly text: string;
  readonly report: FileReport;
  readonly computeCapability: string;
  readonly milliseconds: number;
  readonly headers: readonly string[];
  /** Kernels of the file are still looked at for the first time. */
  readonly isPart?: boolean;
}

export interface DocumentsOptions {
  /** Path of the analysis worker's program. */
  readonly workerProgram: string;
  /** Folder where the worker's compiled code is kept. */
  readonly codeCache?: string;
  readonly log: (line: string) => void;
  readonly settingsFor: (uri: string) => Promise<Settings>;
  readonly folders: () => readonly string[];
  /** A document has a new report. */
  readonly analysed: (analysed: Analysed) => void;
  /** A document is closed or no longer analysed: nothing is to be shown for it. */
  readonly dropped: (uri: string) => void;
  /** A document could not be analysed; one line. */
  readonly failed: (uri: string, reason: string) => void;
}

export class Documents {
  private readonly open = new Map<string, TextDocument>();
  private readonly latest = new Map<string, Analysed>();
  private readonly host: AnalysisHost;
  private readonly schedule: Schedule;

  constructor(private readonly options: DocumentsOptions) {
    const { workerProgram, codeCache, log } = options;
    this.host = new AnalysisHost({ program: workerProgram, codeCache, log, warmsUp: true });
    this.schedule = new Schedule({
      host: this.host,
      jobFor: (uri) => this.jobFor(uri),
      finished: (uri, job, outcome) => this.finished(uri, job, outcome),
      part: (uri, job, answer) => this.answered(uri, job, answer, true),
    });
  }

  /** The document was opened or edited. */
  changed(document: TextDocument): void {
    const { uri } = document;
    const path = pathOfUri(uri);
    this.open.set(uri, document);
    this.host.setDocument(path, document.getText());
    this.schedule.edited(uri);
    this.headerChanged(path);
  }

  closed(uri: string): void {
    this.open.delete(uri);
    this.latest.delete(uri);
    this.host.setDocument(pathOfUri(uri), undefined);
    this.schedule.forget(uri);
    this.options.dropped(uri);
  }

  /** The compiler has answered for a document, or its answer is void. */
  compiled(uri: string, answer: CompilerAnswer | undefined): void {
    this.host.setCompiled(pathOfUri(uri), answer);
    if (this.open.has(uri)) this.schedule.request(uri, 0);
  }

  /** Documents that include a file. */
  including(path: string): string[] {
    return [...this.latest.values()].filter(({ headers }) => headers.includes(path)).map(({ uri }) => uri);
  }

  uris(): string[] {
    return [...this.open.keys()];
  }

  textOf(uri: string): string | undefined {
    return this.open.get(uri)?.getText();
  }

  /** A file has changed (on disk, or in its editor): what includes it is analysed again. */
  headerChanged(path: string): void {
    for (const uri of this.including(path)) this.schedule.request(uri, 150);
  }

  /** Settings or the workspace have changed. */
  analyseAll(): void {
    for (const uri of this.open.keys()) this.schedule.request(uri, 0);
  }

  /** The latest report, of whatever text. */
  report(uri: string): Analysed | undefined {
    return this.latest.get(uri);
  }

  reports(): Iterable<Analysed> {
    return this.latest.values();
  }

  /** The report of the document's present text; undefined when there is none within `timeoutMs`. */
  async current(uri: string, timeoutMs = 2_000): Promise<Analysed | undefined> {
    await this.schedule.settled(uri, timeoutMs);
    const analysed = this.latest.get(uri);
    return analysed?.version === this.open.get(uri)?.version ? analysed : undefined;
  }

  async dispose(): Promise<void> {
    this.schedule.dispose();
    await this.host.dispose();
  }

  private async jobFor(uri: string): Promise<AnalysisJob | undefined> {
    const settings = await this.options.settingsFor(uri);
    const document = this.open.get(uri);
    if (document === undefined) return undefined;
    const text = document.getText();
    if (!settings.enable || text.length > maxCharacters) {
      this.latest.delete(uri);
      this.options.dropped(uri);
      const megabytes = (text.length / 2 ** 20).toFixed(0);
      if (settings.enable) this.options.failed(uri, `it has ${megabytes} million characters, too many to analyse`);
      return undefined;
    }
    const path = pathOfUri(uri);
    const workspace = workspaceOf(settings, path, this.options.folders());
    // later on the last whole report stays until the next one is there: kernels that are left to look at would lose what is shown for them
    const before = this.latest.get(uri);
    const wantsParts = before === undefined || before.isPart;
    return { path, text, options: settings.options, workspace, wantsParts };
  }

  private finished(uri: string, job: AnalysisJob, outcome: Outcome): void {
    if (outcome.kind === 'report') this.answered(uri, job, outcome, false);
    else if (outcome.kind === 'failed' && this.isLatest(uri, job)) this.options.failed(uri, outcome.reason);
  }

  /** false: a newer text is on its way already. */
  private isLatest(uri: string, job: AnalysisJob): boolean {
    return this.open.get(uri)?.getText() === job.text;
  }

  private answered(uri: string, job: AnalysisJob, { report, headers, milliseconds }: Answer, isPart: boolean): void {
    const document = this.open.get(uri);
    if (document === undefined || !this.isLatest(uri, job)) return;
    const before = this.latest.get(uri);
    const isSameUnit = before?.computeCapability === job.options.computeCapability;
    const analysed: Analysed = {
      uri,
      path: job.path,
      version: document.version,
      text: job.text,
      report: withLastGood(isSameUnit ? before : undefined, { text: job.text, report }),
      computeCapability: job.options.computeCapability,
      milliseconds,
      headers,
      isPart: isPart || undefined,
    };
    this.latest.set(uri, analysed);
    this.options.analysed(analysed);
  }
}
