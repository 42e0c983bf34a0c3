/** Runs the compiler on open documents, in the background: one at a time, the latest request first, and nothing waits for it. */
import * as path from 'node:path';
import { compileFile } from '../compiler/compile-file';
import { type Compiler, findCompiler } from '../compiler/find-compiler';
import { isPtxFile } from '../ptx/names';
import type { CompilerAnswer } from '../worker/worker-messages';
import { readSource } from '../workspace/text-files';
import { UnitReader } from '../workspace/units';
import { pathOfUri } from './positions';
import type { CompilerState } from './protocol';
import { type Settings, workspaceOf } from './settings';

export interface CompilerServiceOptions {
  readonly settingsFor: (uri: string) => Promise<Settings>;
  readonly folders: () => readonly string[];
  /** Programs are started in trusted workspaces only. */
  readonly isTrusted: () => boolean;
  /** The editor's text of a document. */
  readonly textOf: (uri: string) => string | undefined;
  /** A document's answer; undefined when there is none any more. */
  readonly compiled: (uri: string, answer: CompilerAnswer | undefined) => void;
  readonly status: (uri: string, state: CompilerState, message?: string) => void;
  readonly log: (line: string) => void;
  /** Milliseconds that one run of the compiler may take. */
  readonly limitMs?: number;
}

/** Saving everything, or a formatter on save, asks several times within this many milliseconds. */
const afterSaveMs = 150;
/** A pause in the typing, where unsaved text is compiled too. */
const afterEditMs = 1_000;

interface Job {
  readonly uri: string;
  readonly cancel: AbortController;
}

export class CompilerService {
  private readonly delayed = new Map<string, NodeJS.Timeout>();
  /** Documents that wait for their turn, the latest last. */
  private readonly ready = new Set<string>();
  private readonly answered = new Set<string>();
  private readonly said = new Map<string, string>();
  private readonly units: UnitReader;
  private running: Job | undefined;
  private runs = 0;
  private isDisposed = false;

  constructor(private readonly options: CompilerServiceOptions) {
    this.units = new UnitReader(new Map(), options.log);
  }

  /** The document was opened or saved, or something that it is compiled with has changed. */
  saved(uri: string): void {
    this.request(uri, afterSaveMs);
  }

  /** The document was edited. */
  async edited(uri: string): Promise<void> {
    const { compileUnsaved } = await this.options.settingsFor(uri);
    if (compileUnsaved) this.request(uri, afterEditMs);
  }

  /** The document is gone. */
  forget(uri: string): void {
    this.stop(uri);
    this.said.delete(uri);
    if (this.answered.delete(uri)) this.options.compiled(uri, undefined);
  }

  dispose(): void {
    this.isDisposed = true;
    for (const timer of this.delayed.values()) clearTimeout(timer);
    this.delayed.clear();
    this.ready.clear();
    this.running?.cancel.abort();
  }

  private request(uri: string, delayMs: number): void {
    if (this.isDisposed || !uri.startsWith('file:')) return;
    this.stop(uri);
    const timer = setTimeout(() => {
      this.delayed.delete(uri);
      this.ready.add(uri);
      void this.next();
    }, delayMs);
    timer.unref();
    this.delayed.set(uri, timer);
  }

  private stop(uri: string): void {
    clearTimeout(this.delayed.get(uri));
    this.delayed.delete(uri);
    this.ready.delete(uri);
    if (this.running?.uri === uri) this.running.cancel.abort();
  }

  private async next(): Promise<void> {
    if (this.running !== undefined) return;
    const uri = [...this.ready].pop();
    if (uri === undefined) return;
    this.ready.delete(uri);
    const job = { uri, cancel: new AbortController() };
    this.running = job;
    try {
      await this.compile(job);
    } catch (error) {
      this.failed(uri, error instanceof Error ? error.message.split('\n')[0] : String(error));
    }
    this.running = undefined;
    void this.next();
  }

  private async compile({ uri, cancel: { signal } }: Job): Promise<void> {
    const { options } = this;
    const settings = await options.settingsFor(uri);
    const file = pathOfUri(uri);
    const compiler = this.compilerFor(settings);
    const text = compiler === undefined ? undefined : this.textOf(uri, file, settings);
    if (compiler === undefined || text === undefined || signal.aborted) {
      if (!signal.aborted) this.none(uri);
      return;
    }
    options.status(uri, 'compiling');
    const { computeCapability } = settings.options;
    const result = await compileFile(compiler, {
      file,
      text: text.isSaved ? undefined : text.text,
      flags: [
        ...this.units.compilerFlags(file, settings.options, workspaceOf(settings, file, options.folders())),
        ...settings.compilerFlags,
      ],
      capability: computeCapability,
      signal,
      milliseconds: options.limitMs,
    });
    if (signal.aborted) return;
    if (!('notes' in result)) {
      if (!result.isCancelled) this.failed(uri, result.error);
      return;
    }
    this.answered.add(uri);
    const { ptx, kernels, machine, notes } = result;
    options.compiled(uri, {
      computeCapability,
      compilation: { id: `${uri} ${++this.runs}`, text: text.text, ptx, kernels, machine },
    });
    this.say(uri, notes.join('; '));
    options.status(uri, 'compiled', notes.length > 0 ? notes.join('; ') : undefined);
  }

  private compilerFor({ enable, compiler }: Settings): Compiler | undefined {
    if (!enable || compiler === 'off' || !this.options.isTrusted()) return undefined;
    const configured = compiler === 'auto' ? undefined : compiler;
    const found = findCompiler({ configured, environment: process.env, platform: process.platform });
    if (found === undefined || !('reason' in found)) return found;
    this.say('', `warplens.compiler: ${found.reason}`);
    return undefined;
  }

  /** What is to be compiled; undefined for a text without kernels. */
  private textOf(uri: string, file: string, settings: Settings): { text: string; isSaved: boolean } | undefined {
    const saved = readSource(file);
    const onDisk = 'text' in saved ? saved.text : undefined;
    const edited = settings.compileUnsaved ? this.options.textOf(uri) : undefined;
    const text = edited ?? onDisk;
    if (text === undefined || (!isPtxFile(file) && !text.includes('__global__'))) return undefined;
    return { text, isSaved: text === onDisk };
  }

  /** The answer for an earlier text stays: kernels that have not changed since still have their results. */
  private failed(uri: string, reason: string): void {
    this.say(uri, `${path.basename(pathOfUri(uri))} was not compiled: ${reason}`);
    this.options.status(uri, 'failed', reason);
  }

  private none(uri: string): void {
    if (this.answered.delete(uri)) this.options.compiled(uri, undefined);
    this.options.status(uri, 'none');
  }

  /** A line for the output channel, not again when the next run has the same to say. */
  private say(uri: string, line: string): void {
    if (line !== '' && this.said.get(uri) !== line) this.options.log(line);
    this.said.set(uri, line);
  }
}
