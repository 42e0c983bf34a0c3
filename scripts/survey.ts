/**
 * npm run survey -- <folder> [--json] [--limit <seconds a file>] [--top <rows>] [--warm <rounds>] [--warmed] [--fresh]: analyses every CUDA file of a folder as the
 * command line would (capability 9.0) and prints how much was understood: kernels, accesses, launches, times, crashes.
 * Times are taken twice, each over all files in a process of its own, so that neither finds the other's code compiled or results kept: of the
 * first answer, as an editor shows it while somebody types (what rests on a run of the host's program waits for it), and of the whole one.
 * Each is told by the clock (what a user waits) and in processor time of all threads (what it costs; other work on the machine counts for
 * little there). What serves a whole file is told as the file's, and counted for no kernel: parsing, launches, launches under sampled sizes, and the
 * run of the host's program, which an editor makes behind its first answer.
 * With --warmed the process does first what a server's worker does while nobody asks (server/src/worker/warm-up): a server a few seconds behind its start.
 * With --fresh each file has a process of its own: what the first document that somebody opens has to wait for.
 * With --warm the files are gone through as often before, with nothing kept but the code that V8 has compiled: a server that has run for a while.
 * With --typing it measures what half-typed code costs instead (typing-study.ts), with --latency how long edits keep their answers waiting (latency-study.ts).
 * With --unread it lists what the parser could not read (unread-study.ts).
 * A process of its own (survey-child.ts, bundled as the extension is) analyses the files; where it hangs or dies, that file is
 * reported and the rest goes on.
 */
import { type ChildProcess, fork } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { cudaFile, filesUnder } from '../server/src/workspace/source-tree';
import { bundled } from './bundled';
import { latencyStudy } from './latency-study';
import type { FileResult, KernelResult, Reason, Time } from './survey-child';
import { slowest, timeLines, timesOf } from './survey-times';
import { type TypingOptions, typingStudy } from './typing-study';
import { unreadStudy } from './unread-study';

interface Options {
  readonly folder: string;
  readonly json: boolean;
  readonly limitMs: number;
  readonly top: number;
  readonly typing?: TypingOptions;
  readonly latency: boolean;
  readonly unread: boolean;
  /** Rounds over all files before the one whose times count. */
  readonly warm: number;
  /** The process has warmed up as a server's worker does. */
  readonly warmed: boolean;
  /** Each file in a process of its own. */
  readonly fresh: boolean;
}

function optionsOf(args: readonly string[]): Options | undefined {
  const value = (name: string, otherwise: number) => {
    const at = args.indexOf(name);
    return at < 0 ? otherwise : Number(args[at + 1]);
  };
  const folder = args[0];
  if (folder === undefined || folder.startsWith('-') || !fs.existsSync(folder)) return undefined;
  return {
    folder: path.resolve(folder),
    json: args.includes('--json'),
    limitMs: value('--limit', 30) * 1000,
    top: value('--top', 25),
    latency: args.includes('--latency'),
    unread: args.includes('--unread'),
    warm: value('--warm', 0),
    warmed: args.includes('--warmed'),
    fresh: args.includes('--fresh'),
    typing: args.includes('--typing') ? { edits: value('--edits', 1000), seed: value('--seed', 1) } : undefined,
  };
}

/** An editor's first answer, or the whole one. */
type Answer = 'first' | 'whole';

/** Analyses the files one after another; a file that takes longer than the limit ends the child, and a new one goes on. */
async function analyseAll(
  program: string,
  answer: Answer,
  files: readonly string[],
  options: Options,
): Promise<FileResult[]> {
  let results: FileResult[] = [];
  let worker: ChildProcess | undefined;
  for (let round = 0; round <= options.warm; round++) {
    results = [];
    worker?.send('');
    for (const file of files) {
      worker ??= await startChild(program, options, answer);
      const result = await ask(worker, file, options.limitMs);
      results.push(result);
      if (result.crash === undefined && !options.fresh) continue;
      worker.kill('SIGKILL');
      worker = undefined;
    }
  }
  worker?.kill();
  return results;
}

function startChild(program: string, { folder, warmed }: Options, answer: Answer): Promise<ChildProcess> {
  return new Promise((resolve) => {
    const worker = fork(program, [folder, answer, ...(warmed ? ['warmed'] : [])], { execArgv: [] });
    worker.once('message', () => resolve(worker));
  });
}

const nothing: Time = { clock: 0, processor: 0 };

function ask(worker: ChildProcess, file: string, limitMs: number): Promise<FileResult> {
  return new Promise((resolve) => {
    const done = (result: FileResult) => {
      clearTimeout(timer);
      worker.removeAllListeners();
      resolve(result);
    };
    const failed = (crash: string) =>
      done({ file, time: { clock: limitMs, processor: limitMs }, fileWork: nothing, kernels: [], crash });
    const timer = setTimeout(() => failed(`hangs: no answer within ${limitMs / 1000} s`), limitMs);
    worker.on('message', (message: FileResult) => {
      if (message.kernels !== undefined) done(message);
    });
    worker.once('exit', (code, signal) => failed(`process ended: ${signal ?? code}`));
    worker.send(file);
  });
}

/** Files to analyse: first those that no other includes, then the rest (their kernels count where a first one showed them). */
function filesOf(folder: string): { files: string[]; launched: Set<string> } {
  const texts = new Map<string, string>();
  for (const file of filesUnder(folder, /\.(?:cuh?|h|hpp|cc|cpp|inl)$/i)) {
    const text = fs.readFileSync(file, 'latin1');
    texts.set(path.relative(folder, file), text);
  }
  const included = new Set<string>();
  for (const text of texts.values())
    for (const [, name] of text.matchAll(/^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]/gm))
      included.add(path.basename(name));
  const isRoot = (file: string) => /\.cu$/i.test(file) && !included.has(path.basename(file));
  const own = (text: string) => /__global__|<<</.test(text);
  const names = new Set(
    [...texts].filter(([file, text]) => cudaFile.test(file) && own(text)).map(([f]) => path.basename(f)),
  );
  // a root may have all its kernels from files it includes
  const brings = (text: string) =>
    [...text.matchAll(/^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]/gm)].some(([, n]) => names.has(path.basename(n)));
  const cuda = [...texts]
    .filter(([file, text]) => cudaFile.test(file) && (own(text) || (isRoot(file) && brings(text))))
    .map(([f]) => f);
  const launched = new Set<string>();
  for (const text of texts.values()) collectLaunched(text, launched);
  return { files: [...cuda.filter(isRoot), ...cuda.filter((f) => !isRoot(f))], launched };
}

/** Names that a text launches: `name<…><<<` and the first argument of cudaLaunch…Kernel. */
function collectLaunched(text: string, launched: Set<string>): void {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, ' ');
  for (const [, name] of code.matchAll(/(\w+)\s*(?:<[^;{}()]{0,300}>)?\s*<<</g)) launched.add(name);
  for (const [, name] of code.matchAll(
    /cudaLaunch(?:Cooperative)?Kernel(?:Ex|ExC)?\s*\(\s*(?:&\w+\s*,\s*)?(?:\([^)]*\)|reinterpret_cast<[^>]*>\()?\s*&?(\w+)/g,
  ))
    launched.add(name);
}

// ---- figures ----

/** Reasons that differ only in names and numbers are one. */
export function generalised(reason: string): string {
  return reason
    .replace(/(rests on assumed ).*/, '$1…')
    .replace(/^type .* is not declared/, 'type … is not declared')
    .replace(/^(parameter) [\w.]+: type .*? is not/, '$1 …: type … is not')
    .replace(/^(no definition of) \S+/, '$1 …')
    .replace(/^(operator\[\] of) .* is not/, '$1 … is not')
    .replace(/^(function|member|template parameter|reference|argument|size of) [\w:.<>]+/, '$1 …')
    .replace(/^[\w:]+(\[\w*\])? (is (?:not|a|recursive|too|declared)|cannot be|is neither|refers)/, '… $2')
    .replace(/^\S+<.*> is (declared|too)/, '… is $1')
    .replace(/(loaded from|read from|bits of a local variable seen as|conversion of a number to) .*/, '$1 …')
    .replace(/\d[\d,.]*/g, 'N');
}

interface Row {
  count: number;
  readonly example: string;
}

function table(reasons: Iterable<Reason>): [string, Row][] {
  const rows = new Map<string, Row>();
  for (const { reason, place } of reasons) {
    const key = generalised(reason);
    const row = rows.get(key);
    if (row) row.count++;
    else rows.set(key, { count: 1, example: `${place} ${reason === key ? '' : `(${reason.slice(0, 100)})`}` });
  }
  return [...rows].sort((a, b) => b[1].count - a[1].count);
}

/** Kernels by the place of their definition; of several results the one with a launch, else the first. */
function distinctKernels(results: readonly FileResult[]): KernelResult[] {
  const kernels = new Map<string, KernelResult>();
  for (const kernel of results.flatMap((r) => r.kernels)) {
    const known = kernels.get(kernel.place);
    if (known === undefined || (!known.hasLaunch && kernel.hasLaunch)) kernels.set(kernel.place, kernel);
  }
  return [...kernels.values()];
}

/** The address (or whether the access runs) follows from data in memory: nobody can know it from the text. */
export const restsOnData = (reason: string): boolean => /depends on loaded data/.test(reason);

function summary(results: readonly FileResult[], first: readonly FileResult[], launched: ReadonlySet<string>) {
  const kernels = distinctKernels(results);
  const accesses = kernels.flatMap((k) => k.accesses);
  const unknown = accesses.filter((a) => a.certainty === 'unknown');
  const fromData = unknown.filter((a) => restsOnData(a.reason));
  const withLaunch = kernels.filter((k) => launched.has(k.name));
  return {
    files: results.length,
    kernels: kernels.length,
    complete: kernels.filter((k) => k.skipped.length === 0 && k.problem === undefined).length,
    notParsed: kernels.filter((k) => k.problem !== undefined).length,
    withoutAccess: kernels.filter((k) => k.accesses.length === 0).length,
    accesses: accesses.length,
    exact: accesses.filter((a) => a.certainty === 'exact').length,
    assumed: accesses.filter((a) => a.certainty === 'assumed').length,
    unknown: unknown.length,
    unknownFromData: fromData.length,
    launchedInFolder: withLaunch.length,
    launchFound: withLaunch.filter((k) => k.hasLaunch).length,
    launchFoundElsewhere: kernels.filter((k) => k.hasLaunch && !launched.has(k.name)).length,
    first: timesOf(first),
    whole: timesOf(results),
    crashes: results.filter((r) => r.crash !== undefined).length + kernels.filter(failed).length,
  };
}

/** A defect of ours that was caught at the kernel. */
const failed = (kernel: KernelResult): boolean => /^the analysis failed/.test(kernel.problem ?? '');

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);

function print(
  results: readonly FileResult[],
  first: readonly FileResult[],
  launched: ReadonlySet<string>,
  options: Options,
): void {
  const s = summary(results, first, launched);
  const kernels = distinctKernels(results);
  const answerable = s.accesses - s.unknownFromData;
  const lines = [
    `files            ${s.files}`,
    `kernels          ${s.kernels}, nothing skipped in ${s.complete} (${percent(s.complete, s.kernels)}), not parsed ${s.notParsed}, without any access ${s.withoutAccess}`,
    `accesses         ${s.accesses} shared and global: exact ${s.exact}, assumed ${s.assumed}, unknown ${s.unknown} (of these ${s.unknownFromData} by loaded data)`,
    `with a figure    ${percent(s.exact + s.assumed, answerable)} of the ${answerable} that do not rest on loaded data`,
    `launches         ${s.launchFound} of ${s.launchedInFolder} kernels launched in the folder (${percent(s.launchFound, s.launchedInFolder)}), ${s.launchFoundElsewhere} more`,
    ...timeLines('first answer', s.first),
    ...timeLines('whole answer', s.whole),
    `crashes, hangs   ${s.crashes}`,
  ];
  const block = (title: string, rows: readonly [string, Row][]) => {
    if (rows.length === 0) return;
    lines.push('', title);
    for (const [reason, row] of rows.slice(0, options.top))
      lines.push(`${String(row.count).padStart(6)}  ${reason}\n        ${row.example}`);
  };
  block('skipped constructs', table(kernels.flatMap((k) => k.skipped)));
  block(
    'kernels that do not parse',
    table(kernels.flatMap((k) => (k.problem ? [{ reason: k.problem, place: k.place }] : []))),
  );
  block('unknown accesses', table(kernels.flatMap((k) => k.accesses.filter((a) => a.certainty === 'unknown'))));
  block(
    'incomplete executions',
    table(kernels.flatMap((k) => (k.incomplete ? [{ reason: k.incomplete, place: `${k.place} ${k.name}` }] : []))),
  );
  block(
    'launched in the folder, launch not found',
    table(
      kernels
        .filter((k) => launched.has(k.name) && !k.hasLaunch)
        .map((k) => ({ reason: `${k.name} ${k.place}`, place: '' })),
    ),
  );
  lines.push(...slowest(first, results));
  for (const r of results) if (r.crash !== undefined) lines.push('', `CRASH ${r.file}`, r.crash);
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const options = optionsOf(args);
  if (!options) {
    process.stderr.write(
      'npm run survey -- <folder> [--json] [--limit <seconds a file>] [--top <rows>] [--warm <rounds>] [--warmed] [--fresh] [--typing] [--latency] [--unread]\n',
    );
    process.exitCode = 2;
    return;
  }
  const { files, launched } = filesOf(options.folder);
  if (options.unread) return unreadStudy(options.folder, files);
  if (options.typing) return typingStudy(options.folder, files, options.typing);
  if (options.latency) return latencyStudy(options.folder, files, options.top);
  const program = bundled(path.join(__dirname, 'survey-child.ts'));
  const first = await analyseAll(program, 'first', files, options);
  const results = await analyseAll(program, 'whole', files, options);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ summary: summary(results, first, launched), results, first })}\n`);
  else print(results, first, launched, options);
  if ([...first, ...results].some((r) => r.crash !== undefined)) process.exitCode = 1;
}

void main();
