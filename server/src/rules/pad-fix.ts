/** A wider row for a shared array, offered only when the edited text, simulated again, shows that it works. */
import type { TokenStream } from '../preprocess/token';
import { locationOf } from '../report/positions';
import type { AccessReport, FileReport, Fix, KernelReport, TextEdit } from '../report/report';
import { type RuleContext, sharedExcess, type WorstAccess } from './rule';

const PADS = [1, 2, 4, 8];

interface Dimension {
  readonly edit: (pad: number) => { edit: TextEdit; start: number; end: number; text: string };
  readonly shown: (pad: number) => string;
}

/** The fix, or undefined when no padding helps or the array cannot be padded in this file. */
export function padFix(context: RuleContext, worst: WorstAccess): Fix | undefined {
  const { access } = worst;
  const object = access.object;
  if (!object || object.isDynamic || object.dimensions.length < 2) return undefined;
  const dimension = lastDimension(context, worst);
  if (!dimension) return undefined;
  const before = totalWavefronts(context.report, object.name);
  for (const pad of PADS) {
    const row = (object.dimensions[object.dimensions.length - 1] + pad) * object.elementBytes;
    if (breaksAlignment(context.report, object.name, row)) continue;
    const { edit, start, end, text } = dimension.edit(pad);
    const after = context.tryText(context.request.text.slice(0, start) + text + context.request.text.slice(end));
    const improved = sameAccess(
      after,
      access,
      context.report.name,
      worst.launchIndex,
      text.length - (end - start),
      edit,
    );
    const total = totalWavefronts(
      after.kernels.find((k) => k.name === context.report.name),
      object.name,
    );
    if (!improved || sharedExcess(improved) >= 1.05 || total >= before) continue;
    return {
      title: `Pad ${object.name} to ${dimension.shown(pad)}`,
      edits: [edit],
      after: { wavefronts: improved.wavefronts, idealWavefronts: improved.idealWavefronts },
    };
  }
  return undefined;
}

function totalWavefronts(report: KernelReport | undefined, name: string): number {
  let sum = 0;
  for (const launch of report?.launches ?? [])
    for (const a of launch.accesses) if (a.space === 'shared' && a.object?.name === name) sum += a.wavefronts;
  return report ? sum : Number.POSITIVE_INFINITY;
}

/** A row that is no multiple of the widest access makes that access fault. */
function breaksAlignment(report: KernelReport, name: string, rowBytes: number): boolean {
  return report.launches.some((l) =>
    l.accesses.some(
      (a) =>
        a.space === 'shared' && a.object?.name === name && declaredWidth(a) > 0 && rowBytes % declaredWidth(a) !== 0,
    ),
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
  after: FileReport,
  access: AccessReport,
  kernel: string,
  launchIndex: number,
  grown: number,
  edit: TextEdit,
): AccessReport | undefined {
  const report = after.kernels.find((k) => k.name === kernel);
  const launch = report?.launches[launchIndex];
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
  const program = context.launches[worst.launchIndex].program;
  const object = program.objects.find((o) => o.name === worst.access.object?.name && o.space === 'shared');
  if (!object) return undefined;
  const name = object.place.last;
  const brackets = bracketsAfter(tokens, name);
  const last = brackets[brackets.length - 1];
  if (!last || brackets.length !== object.dimensions.length) return undefined;
  for (let t = name; t <= last.close; t++)
    if (tokens.flags[t] & 4 || tokens.files[tokens.file[t]].path !== request.path) return undefined;
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
