/**
 * npm run survey -- <folder> --typing [--edits <number>] [--seed <number>]: what half-typed code costs. Each edit leaves one function of
 * a file unfinished; counted is how many of the file's other kernels are still read as before, so that their results stay.
 */
import * as path from 'node:path';
import { type ParsedUnit, parseUnit } from '../server/src/analysis/parsed-unit';
import type { Declaration } from '../server/src/parse/ast';
import { LexCache } from '../server/src/preprocess/lex-cache';
import { readSource } from '../server/src/workspace/text-files';
import { UnitReader } from '../server/src/workspace/units';

export interface TypingOptions {
  readonly edits: number;
  readonly seed: number;
}

/** What a person has typed so far, at the end of a line inside of a function; `rest` is deleted up to the end of the line. */
const unfinished: readonly {
  readonly name: string;
  readonly text?: string;
  readonly cut?: 'line' | 'brace' | 'half';
}[] = [
  { name: 'for', text: 'for (int i = 0; i <' },
  { name: 'for with brace', text: 'for (int i = 0; i < n; i++) {' },
  { name: 'if', text: 'if (threadIdx.x' },
  { name: 'if with else', text: 'if (x) { y = 1; } else {' },
  { name: 'subscript', text: 'float v = a[threadIdx.x +' },
  { name: 'call', text: 'float w = fmaxf(x, ' },
  { name: 'member', text: 'p.' },
  { name: 'declaration', text: 'float ' },
  { name: 'shared array', text: '__shared__ float tile[' },
  { name: 'template', text: 'std::vector<' },
  { name: 'cast', text: 'int k = static_cast<' },
  { name: 'string', text: 'printf("a' },
  { name: 'comment', text: 'x = 1; /' },
  { name: 'directive', text: '#if' },
  { name: 'pragma', text: '#pragma unr' },
  { name: 'lambda', text: 'auto f = [&](int i' },
  { name: 'closing brace', text: '}' },
  { name: 'half a line', cut: 'half' },
  { name: 'a line less', cut: 'line' },
  { name: 'a brace less', cut: 'brace' },
];

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A function with a body in the file itself, by the offsets of its braces. */
interface Body {
  readonly start: number;
  readonly end: number;
}

interface Kernel {
  readonly name: string;
  readonly key: string;
  /** Offsets of what its result depends on. */
  readonly pieces: readonly Body[];
}

interface Study {
  readonly text: string;
  readonly parse: (text: string) => ParsedUnit;
  readonly bodies: readonly Body[];
  readonly kernels: readonly Kernel[];
}

function studyOf(folder: string, file: string, units: UnitReader, lexCache: LexCache): Study | undefined {
  const full = path.join(folder, file);
  const source = readSource(full);
  if (!('text' in source)) return undefined;
  const options = { computeCapability: '9.0', defines: new Map<string, string>(), assume: new Map<string, number>() };
  const request = units.request(full, source.text, options, { folders: [folder], includePaths: [] });
  const parse = (text: string) => parseUnit({ ...request, root: undefined, text }, lexCache);
  const unit = parse(source.text);
  const kernels = kernelsOf(unit, full);
  const bodies = bodiesOf(unit, unit.tree.declarations, full, 0);
  return kernels.length > 1 && bodies.length > 0 ? { text: source.text, parse, bodies, kernels } : undefined;
}

function bodiesOf(unit: ParsedUnit, declarations: readonly Declaration[], file: string, depth: number): Body[] {
  const { tokens } = unit.source;
  return declarations.flatMap((declaration): Body[] => {
    if (declaration.kind === 'namespace' && depth < 20) return bodiesOf(unit, declaration.members, file, depth + 1);
    if (declaration.kind !== 'function' || !declaration.body) return [];
    const { first, last } = declaration.body;
    const isHere = tokens.files[tokens.file[first]]?.path === file && tokens.file[first] === tokens.file[last];
    const isPlain = tokens.expansion[first] < 0 && tokens.expansion[last] < 0;
    return isHere && isPlain ? [{ start: tokens.start[first], end: tokens.end[last] }] : [];
  });
}

/** Kernels of the file that parse, with what their results hang on. */
function kernelsOf({ source, kernels, fingerprints }: ParsedUnit, file: string): Kernel[] {
  const { tokens } = source;
  return kernels.flatMap(({ name, declaration }): Kernel[] => {
    if (declaration.broken || tokens.files[tokens.file[declaration.nameToken]]?.path !== file) return [];
    const { key, pieces } = fingerprints.of(declaration);
    const own = pieces.filter(({ first }) => tokens.files[tokens.file[first]]?.path === file);
    return [{ name, key, pieces: own.map((p) => ({ start: tokens.start[p.first], end: tokens.end[p.last] })) }];
  });
}

/** The text with one function left unfinished. */
function edited({ text }: Study, body: Body, edit: (typeof unfinished)[number], random: () => number): string {
  const at = body.start + 1 + Math.floor(random() * Math.max(1, body.end - body.start - 2));
  const lineStart = Math.max(body.start + 1, text.lastIndexOf('\n', at) + 1);
  const lineEnd = Math.min(body.end - 1, nextBreak(text, at));
  if (edit.cut === 'line') return text.slice(0, lineStart) + text.slice(lineEnd);
  if (edit.cut === 'half') return text.slice(0, at) + text.slice(lineEnd);
  if (edit.cut === 'brace') return text.slice(0, body.end - 1) + text.slice(body.end);
  return `${text.slice(0, lineStart)}\n  ${edit.text}\n${text.slice(lineStart)}`;
}

function nextBreak(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
}

interface Count {
  kept: number;
  all: number;
  example: string;
}

/** Makes the edits, spread evenly over the files and the kinds, and prints the shares of kernels kept. */
export function typingStudy(folder: string, files: readonly string[], options: TypingOptions): void {
  const random = generator(options.seed);
  const units = new UnitReader(new Map(), () => {});
  const lexCache = new LexCache();
  const counts = new Map<string, Count>(unfinished.map(({ name }) => [name, { kept: 0, all: 0, example: '' }]));
  const chosen = shuffled(files, random);
  let made = 0;
  for (const file of chosen) {
    if (made >= options.edits) break;
    const study = studyOf(folder, file, units, lexCache);
    if (!study) continue;
    for (const edit of shuffled(unfinished, random)) {
      const body = study.bodies[Math.floor(random() * study.bodies.length)];
      const count = counts.get(edit.name);
      if (!count || made >= options.edits) break;
      made++;
      const text = edited(study, body, edit, random);
      const after = kernelsOf(study.parse(text), path.join(folder, file));
      const keys = new Set(after.map(({ name, key }) => `${name} ${key}`));
      for (const { name, key, pieces } of study.kernels) {
        if (pieces.some(({ start, end }) => start < body.end && end > body.start)) continue;
        count.all++;
        if (keys.has(`${name} ${key}`)) count.kept++;
        else count.example ||= `${file}: ${name}, edit at line ${text.slice(0, body.start).split('\n').length}`;
      }
    }
  }
  print(counts, made);
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function print(counts: ReadonlyMap<string, Count>, made: number): void {
  const share = ({ kept, all }: Count) => (all === 0 ? '-' : `${((100 * kept) / all).toFixed(2)} %`);
  const total = { kept: 0, all: 0, example: '' };
  const lines: string[] = [];
  for (const [name, count] of counts) {
    total.kept += count.kept;
    total.all += count.all;
    lines.push(`${name.padEnd(16)} ${share(count).padStart(9)} of ${String(count.all).padStart(5)}  ${count.example}`);
  }
  process.stdout.write(`${made} edits: ${share(total)} of ${total.all} other kernels kept\n${lines.join('\n')}\n`);
}
