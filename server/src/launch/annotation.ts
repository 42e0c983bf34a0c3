/**
 * Annotation comments: `// warplens: block=(32,8) grid=64 n=4096 shared=8192 T=float`, before a kernel (also before its
 * `template <…>`). Inside of a host function they give values to its variables.
 */
import type { FunctionDeclaration } from '../parse/ast';
import type { SourceFile, WarplensComment } from '../preprocess/token';
import type { LaunchNote } from './found-launch';
import type { HostIndex } from './scope';

type Triple = readonly [number, number, number];

export interface Annotation {
  readonly block?: Triple;
  readonly grid?: Triple;
  readonly dynamicSharedBytes?: number;
  /** Registers a thread, `registers=40`. */
  readonly registers?: number;
  /** Parameters and template parameters by name; a field by `params.n`. */
  readonly values: ReadonlyMap<string, number>;
  /** Template type parameters: `T=float`. */
  readonly types: ReadonlyMap<string, string>;
}

export interface ParsedAnnotation {
  readonly annotation: Annotation;
  /** Positions in the comment's file. */
  readonly notes: readonly LaunchNote[];
}

interface Draft {
  block?: Triple;
  grid?: Triple;
  dynamicSharedBytes?: number;
  registers?: number;
  readonly values: Map<string, number>;
  readonly types: Map<string, string>;
}

/** name = value, the value (1,2,3), "text", 1<<20, a type with its template arguments, or a plain word such as 32x8 */
const item =
  /\s*([A-Za-z_][\w.]*(?:->[\w.]+)*)\s*=\s*(\([^()]*\)|"[^"]*"|\d+\s*<<\s*\d+|[A-Za-z_][\w:]*(?:\s*<(?:[^<>]|<[^<>]*>)*>)?[\s*]*\*|[A-Za-z_][\w:]*(?:\s*<(?:[^<>]|<[^<>]*>)*>)?|[^\s,;()]+)[\s,;]*/y;

/**
 * Reads the text of one annotation. What is wrong in it gives a note, the rest counts.
 * `textStart`: where in the file the comment's text begins (behind `warplens:`); the comment's start without it.
 */
export function parseAnnotation(comment: WarplensComment, textStart = comment.start): ParsedAnnotation {
  const draft: Draft = { values: new Map(), types: new Map() };
  const notes: LaunchNote[] = [];
  const text = comment.text;
  const note = (at: number, length: number, message: string) =>
    notes.push({ file: comment.file, start: textStart + at, end: textStart + at + length, message });
  for (let at = 0; at < text.length; ) {
    item.lastIndex = at;
    const match = item.exec(text);
    if (!match) {
      const rest = /^\s*\S*/.exec(text.slice(at))?.[0] ?? '';
      const skipped = rest.trimStart();
      if (skipped === '') break;
      note(
        at + rest.length - skipped.length,
        skipped.length,
        `'${skipped}' is not understood: write name=value, for example block=(32,8) n=4096.`,
      );
      at += Math.max(1, rest.length);
      continue;
    }
    const start = at + match[0].indexOf(match[1]);
    const problem = put(draft, match[1], match[2].trim());
    if (problem) note(start, match[0].trimEnd().replace(/[,;]+$/, '').length - (start - at), problem);
    at += match[0].length;
  }
  return { annotation: draft, notes };
}

/** Takes one item; gives what is wrong with it. */
function put(draft: Draft, name: string, value: string): string | undefined {
  if (name === 'block' || name === 'grid') return putTriple(draft, name, value);
  const number = readNumber(value);
  if (name === 'shared' || name === 'registers') {
    if (number === undefined || number < 0 || !Number.isInteger(number))
      return `${name} wants a whole number, not '${value}'.`;
    if (name === 'shared') draft.dynamicSharedBytes = number;
    else draft.registers = number;
    return undefined;
  }
  if (number !== undefined) draft.values.set(name, number);
  else if (/^"?[A-Za-z_][\w:\s<>,*]*"?$/.test(value)) draft.types.set(name, value.replaceAll('"', ''));
  else return `'${value}' is neither a number nor a type.`;
  return undefined;
}

function putTriple(draft: Draft, name: 'block' | 'grid', value: string): string | undefined {
  const parts = value
    .replace(/^\(|\)$/g, '')
    .split(/[,x×]/)
    .map((part) => readNumber(part.trim()));
  if (parts.length > 3 || parts.some((part) => part === undefined || !Number.isInteger(part) || part < 1)) {
    return `${name} wants one to three positive numbers, for example ${name}=(32,8), not '${value}'.`;
  }
  const [x = 1, y = 1, z = 1] = parts;
  const threads = x * y * z;
  if (name === 'block' && threads > 1024) return `block=${value} has ${threads} threads: a block can have 1024.`;
  draft[name] = [x, y, z];
  return undefined;
}

const units: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** `4096`, `0x100`, `48K`, `1<<20`, `2.5`, `true` */
function readNumber(text: string): number | undefined {
  if (text === 'true' || text === 'false') return text === 'true' ? 1 : 0;
  const shift = /^(\d+)\s*<<\s*(\d+)$/.exec(text);
  if (shift) return Number(shift[1]) * 2 ** Number(shift[2]);
  const scaled = /^(\d+)([KMG])$/.exec(text);
  if (scaled) return Number(scaled[1]) * units[scaled[2]];
  if (!/^-?(0[xX][0-9a-fA-F]+|\d+(\.\d*)?([eE][-+]?\d+)?|\.\d+)[fFuUlL]*$/.test(text)) return undefined;
  const isHex = /^-?0[xX]/.test(text);
  const value = Number(isHex ? text.replace(/[uUlL]+$/, '') : text.replace(/[fFuUlL]+$/, ''));
  return Number.isFinite(value) ? value : undefined;
}

interface Annotatable {
  readonly declaration: FunctionDeclaration;
}

/** Annotations of the kernels they stand before; several of one kernel are joined, the later one wins. */
export function readAnnotations<K extends Annotatable>(
  kernels: readonly K[],
  comments: readonly WarplensComment[],
): ReadonlyMap<K, Annotation> {
  const result = new Map<K, Annotation>();
  for (const comment of comments.filter(isAnnotation)) {
    const kernel = kernelBehind(kernels, comment);
    if (!kernel) continue;
    const { annotation } = parseAnnotation(comment);
    const earlier = result.get(kernel);
    result.set(kernel, earlier ? joined(earlier, annotation) : annotation);
  }
  return result;
}

/** `warplens:`; the other keywords silence rules. */
function isAnnotation(comment: WarplensComment): boolean {
  return comment.keyword === 'warplens' && comment.hasColon;
}

function joined(a: Annotation, b: Annotation): Annotation {
  return {
    block: b.block ?? a.block,
    grid: b.grid ?? a.grid,
    dynamicSharedBytes: b.dynamicSharedBytes ?? a.dynamicSharedBytes,
    registers: b.registers ?? a.registers,
    values: new Map([...a.values, ...b.values]),
    types: new Map([...a.types, ...b.types]),
  };
}

/** The kernel whose declaration begins behind the comment, or whose head (up to the body) the comment stands in. */
function kernelBehind<K extends Annotatable>(kernels: readonly K[], comment: WarplensComment): K | undefined {
  return kernels.find(({ declaration }) => {
    const end = declaration.body?.first ?? declaration.last;
    return comment.beforeToken >= declaration.first && comment.beforeToken <= end;
  });
}

/** What is wrong with the annotations of a unit: text that is not understood, names no kernel has, no kernel behind it. */
export function annotationNotes(
  kernels: readonly Annotatable[],
  hostFunctions: readonly Annotatable[],
  comments: readonly WarplensComment[],
  files: readonly SourceFile[],
): LaunchNote[] {
  return comments.filter(isAnnotation).flatMap((comment) => {
    const textStart = Math.max(comment.start, files[comment.file]?.text.indexOf(comment.text, comment.start) ?? 0);
    const { annotation, notes } = parseAnnotation(comment, textStart);
    const kernel = kernelBehind(kernels, comment);
    if (kernel) return [...notes, ...strangers(comment, textStart, annotation, kernel.declaration)];
    if (hostFunctions.some(({ declaration }) => isWithin(declaration, comment))) return [...notes];
    return [
      {
        file: comment.file,
        start: comment.start,
        end: comment.end,
        message: 'No kernel follows this annotation: put it directly before a __global__ function.',
      },
    ];
  });
}

function strangers(
  comment: WarplensComment,
  textStart: number,
  annotation: Annotation,
  kernel: FunctionDeclaration,
): LaunchNote[] {
  const known = new Set(kernel.mentions);
  for (const parameter of [...kernel.parameters, ...(kernel.templateParameters ?? [])]) {
    if (parameter.name) known.add(parameter.name);
  }
  const names = [...annotation.values.keys(), ...annotation.types.keys()];
  return names
    .filter((name) => !known.has(name.split(/[.-]/)[0]))
    .map((name) => {
      const start = textStart + Math.max(0, comment.text.search(new RegExp(`\\b${name.replaceAll('.', '\\.')}\\s*=`)));
      return { file: comment.file, start, end: start + name.length, message: `The kernel has no parameter '${name}'.` };
    });
}

function isWithin(declaration: FunctionDeclaration, comment: WarplensComment): boolean {
  return comment.beforeToken > declaration.first && comment.beforeToken <= declaration.last;
}

/** Values that annotations inside of host functions give to variables. */
export function hostAssumptions(index: HostIndex, comments: readonly WarplensComment[]): Map<string, number> {
  const result = new Map<string, number>();
  for (const comment of comments.filter(isAnnotation)) {
    const inside = index.functions.some(
      ({ declaration }) => !declaration.specifiers.isGlobal && isWithin(declaration, comment),
    );
    if (inside) for (const [name, value] of parseAnnotation(comment).annotation.values) result.set(name, value);
  }
  return result;
}
