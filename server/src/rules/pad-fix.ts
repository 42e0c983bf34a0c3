/** A wider row for a shared array, offered only when the edited text, simulated again, shows that it works. */
import { TokenFlag, type TokenStream } from '../preprocess/token';
import { locationOf } from '../report/positions';
import type { AccessReport, Fix, KernelReport, TextEdit } from '../report/report';
import { offsetsInArray } from './array-offsets';
import { mayFree, STILL_CONFLICTS } from './pad-screen';
import type { RuleContext, TriedPadding } from './rule';
import { launchAt, sharedExcess, type WorstAccess } from './worst-access';

/** Tried in this order; behind them the pitches at which rows of 16 and of 8 lanes fall side by side into the 32 banks. */
const PADS = [1, 2, 4, 8, 16];

/** A padding larger than that has to be at most half a row: nobody doubles an array for it. */
const SMALL = 8;

function padsFor(pitch: number): number[] {
  const sideBySide = [16, 8].map((lanes) => (((lanes - pitch) % 32) + 32) % 32);
  return [...new Set([...PADS, ...sideBySide])].filter((pad) => pad > 0 && pad <= Math.max(SMALL, pitch / 2));
}

interface Dimension {
  /** The edit, and the same as offsets in `source`, the file's text as the tokens know it (without byte-order mark). */
  readonly edit: (pad: number) => { edit: TextEdit; start: number; end: number; text: string; source: string };
  readonly shown: (pad: number) => string;
}

/** Whether paddings of the accessed array can be tried: it is declared in this file, with its sizes in sight. */
export function canPad(context: RuleContext, worst: WorstAccess): boolean {
  const object = worst.access.object;
  return (object?.dimensions.length ?? 0) >= 2 && !object?.isDynamic && lastDimension(context, worst) !== undefined;
}

/** The fix, or undefined when no padding helps or the array cannot be padded in this file. */
export function padFix(context: RuleContext, worst: WorstAccess): Fix | undefined {
  const object = worst.access.object;
  if (!object || object.isDynamic || object.dimensions.length < 2) return undefined;
  const dimension = lastDimension(context, worst);
  if (!dimension) return undefined;
  const { access } = worst;
  const key = `${object.name}:${access.line - context.report.range.line}:${access.column}:${access.operation}:${worst.launchIndex}`;
  if (!context.tried.has(key)) context.tried.set(key, tryPads(context, worst, dimension));
  const works = context.tried.get(key);
  if (!works) return undefined;
  return {
    title: `Pad ${object.name} to ${dimension.shown(works.pad)}`,
    edits: [dimension.edit(works.pad).edit],
    after: { wavefronts: works.wavefronts, idealWavefronts: works.idealWavefronts },
  };
}

/** The smallest padding that removes the conflict and makes the array as a whole cheaper, by simulating the edited text. */
function tryPads(context: RuleContext, worst: WorstAccess, dimension: Dimension): TriedPadding | undefined {
  const { access } = worst;
  const name = access.object?.name ?? '';
  const placed = access.witness ? offsetsInArray(context, worst, access.witness) : [];
  const pads = padsFor(access.object?.dimensions.at(-1) ?? 0).filter(
    (pad) => !breaksAlignment(context.report, name, pad) && mayFree(context.capability, access, placed, pad),
  );
  if (pads.length === 0) return undefined;
  // Only the source tier can say what an edited text does, so it has to say what the present one does too.
  const isCompiled = context.report.origin === 'ptx';
  const before = totalWavefronts(isCompiled ? reportOf(context, context.request.text) : context.report, name);
  for (const pad of pads) {
    const { edit, start, end, text, source } = dimension.edit(pad);
    const kernel = reportOf(context, source.slice(0, start) + text + source.slice(end));
    const improved = sameAccess(kernel, access, worst.launchIndex, text.length - (end - start), edit);
    if (!improved || sharedExcess(improved) >= STILL_CONFLICTS || totalWavefronts(kernel, name) >= before) continue;
    return { pad, wavefronts: improved.wavefronts, idealWavefronts: improved.idealWavefronts };
  }
  return undefined;
}

const reportOf = (context: RuleContext, text: string): KernelReport | undefined =>
  context.tryText(text).kernels.find((k) => k.name === context.report.name);

function totalWavefronts(report: KernelReport | undefined, name: string): number {
  let sum = 0;
  for (const launch of report?.launches ?? [])
    for (const a of launch.accesses) if (a.space === 'shared' && a.object?.name === name) sum += a.wavefronts;
  return report ? sum : Number.POSITIVE_INFINITY;
}

/** A row that is no multiple of the widest access makes that access fault. */
function breaksAlignment(report: KernelReport, name: string, pad: number): boolean {
  return report.launches.some((l) =>
    l.accesses.some((a) => {
      if (a.space !== 'shared' || a.object?.name !== name) return false;
      const row = ((a.object.dimensions.at(-1) ?? 0) + pad) * a.object.elementBytes;
      return row % declaredWidth(a) !== 0;
    }),
  );
}

/** Bytes of the access as written: merged neighbours fall apart again where they must, vector types do not. */
function declaredWidth(a: AccessReport): number {
  const element = a.object?.elementBytes ?? 4;
  return /\b(float4|int4|uint4|double2|float2|int2|uint2|half2|__half2|reinterpret_cast)\b|\*\s*\(/.test(a.expression)
    ? a.bytesPerLane
    : element;
}

/** The access at the same place in the report of the edited text. */
function sameAccess(
  kernel: KernelReport | undefined,
  access: AccessReport,
  launchIndex: number,
  grown: number,
  edit: TextEdit,
): AccessReport | undefined {
  const launch = kernel?.launches[launchIndex];
  const shift = access.line === edit.line && access.column > edit.column ? grown : 0;
  return launch?.accesses.find(
    (a) =>
      a.file === access.file &&
      a.line === access.line &&
      a.column === access.column + shift &&
      a.operation === access.operation &&
      a.space === access.space,
  );
}

/** The innermost dimension of the array's declaration, as text that can be edited. */
function lastDimension(context: RuleContext, worst: WorstAccess): Dimension | undefined {
  const { tokens, request } = context;
  const program = launchAt(context, worst.launchIndex).program;
  const object = program.objects.find((o) => o.name === worst.access.object?.name && o.space === 'shared');
  if (!object) return undefined;
  const name = object.place.last;
  const brackets = bracketsAfter(tokens, name);
  const last = brackets[brackets.length - 1];
  if (!last || brackets.length !== object.dimensions.length) return undefined;
  // a macro that stands for a size is edited as it is written; a declaration inside a macro is not edited
  for (const t of [name, ...brackets.flatMap((b) => [b.open, b.close])])
    if (tokens.flags[t] & TokenFlag.fromMacro || tokens.files[tokens.file[t]].path !== request.path) return undefined;
  const start = tokens.start[last.open + 1];
  const end = tokens.end[last.close - 1];
  const text = tokens.files[tokens.file[name]].text.slice(start, end);
  const at = locationOf(tokens, last.open + 1, last.close - 1);
  const padded = (pad: number) =>
    /^\d+$/.test(text.trim())
      ? String(Number(text) + pad)
      : /^[\w:]+$/.test(text.trim())
        ? `${text} + ${pad}`
        : `(${text}) + ${pad}`;
  const outer = brackets
    .slice(0, -1)
    .map((b) => `[${tokens.files[tokens.file[name]].text.slice(tokens.start[b.open + 1], tokens.end[b.close - 1])}]`);
  return {
    edit: (pad) => ({
      edit: { line: at.line, column: at.column, endLine: at.endLine, endColumn: at.endColumn, newText: padded(pad) },
      start,
      end,
      text: padded(pad),
      source: tokens.files[tokens.file[name]].text,
    }),
    shown: (pad) => `${outer.join('')}[${padded(pad)}]`,
  };
}

function bracketsAfter(tokens: TokenStream, name: number): { open: number; close: number }[] {
  const found: { open: number; close: number }[] = [];
  let t = name + 1;
  while (tokens.text[t] === '[' && found.length < 8) {
    let depth = 0;
    const open = t;
    for (; t < tokens.count; t++) {
      if (tokens.text[t] === '[') depth++;
      if (tokens.text[t] === ']' && --depth === 0) break;
    }
    found.push({ open, close: t });
    t++;
  }
  return found;
}
