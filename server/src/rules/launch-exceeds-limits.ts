/** launch-exceeds-limits: the launch asks for more than the hardware of the chosen capability has, or for nothing, and fails. */
import type { LaunchFailure } from '../hardware/occupancy';
import { opensLaunch } from '../parse/launch-token';
import type { Finding, LaunchReport } from '../report/report';
import { launchBoundsFix } from './launch-bounds-fix';
import { type Rule, type RuleContext, shapeText } from './rule';

const reasons: Partial<Record<LaunchFailure['resource'], (f: LaunchFailure) => string>> = {
  'threads-per-block': (f) => `a block of ${f.wanted} threads, ${f.allowed} are allowed`,
  'shared-per-block': (f) => `${f.wanted} bytes of shared memory a block, ${f.allowed} are allowed`,
};

/** Only where the count is the compiler's or was given: an estimate fails no launch. */
const registerReasons: typeof reasons = {
  'registers-per-thread': (f) => `${f.wanted} registers a thread, ${f.allowed} are allowed`,
  'registers-per-block': (f) => `its threads need ${f.wanted} registers, a block may have ${f.allowed}`,
};

export const launchExceedsLimits: Rule = {
  id: 'launch-exceeds-limits',
  check(context) {
    // a case for 2048 threads fails nobody who never comes there
    const known = context.launches.filter(({ plan }) => !plan.launch?.isSupposed);
    return known.flatMap(({ report }) =>
      failuresOf(context, report).map((text): Finding => findingFor(context, report, text)),
    );
  },
};

/** Why a launch fails, in words; empty when it does not. */
export function failuresOf(context: RuleContext, launch: LaunchReport): string[] {
  const { block, grid } = context.capability.limits;
  return [
    ...hardware(launch),
    ...staticShared(context, launch),
    ...withoutOptIn(context, launch),
    ...bounds(launch),
    ...empty('block', launch.block),
    ...empty('grid', launch.grid),
    ...tooLong('block', launch.block, block),
    ...tooLong('grid', launch.grid, grid),
  ];
}

function hardware({ occupancy }: LaunchReport): string[] {
  if (!occupancy) return [];
  const isKnown = occupancy.registersOrigin === 'option' || occupancy.registersOrigin === 'compiler';
  const told = isKnown && !occupancy.compiled?.isStale ? { ...reasons, ...registerReasons } : reasons;
  return occupancy.launchFailures.flatMap((f) => told[f.resource]?.(f) ?? []);
}

/** The opt-in attribute is for dynamic memory: static arrays stay within the plain limit. */
function staticShared(context: RuleContext, launch: LaunchReport): string[] {
  const bytes = launch.occupancy?.staticSharedBytes ?? 0;
  const { sharedPerBlock } = context.capability.limits;
  const known = launch.occupancy?.launchFailures.some((f) => f.resource === 'shared-per-block');
  if (bytes <= sharedPerBlock || known) return [];
  return [`${bytes} bytes of static shared memory, ${sharedPerBlock} are allowed; more has to be dynamic`];
}

function bounds(launch: LaunchReport): string[] {
  const most = launch.launchBounds?.maxThreads;
  const threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (most === undefined || threads <= most || launch.origin !== 'launch-site') return [];
  return [`a block of ${threads} threads, __launch_bounds__ says ${most} at most`];
}

/** Mostly a quotient that rounds down: `n / 256` of 100 elements. */
function empty(what: keyof typeof units, size: readonly number[]): string[] {
  const at = size.findIndex((extent) => extent < 1);
  if (at < 0) return [];
  return [
    `a ${what} of 0 ${units[what]} in ${'xyz'[at]}, at least 1 is needed; a quotient of integers rounds down, (n + size - 1) / size rounds up`,
  ];
}

const units = { grid: 'blocks', block: 'threads' } as const;

function tooLong(what: keyof typeof units, size: readonly number[], most: readonly number[]): string[] {
  // a block of too many threads in all is said already
  if (what === 'block' && size[0] * size[1] * size[2] > most[0]) return [];
  return (['x', 'y', 'z'] as const).flatMap((axis, i) =>
    size[i] > most[i]
      ? [`a ${what} of ${size[i]} ${units[what]} in ${axis}, ${most[i]} ${most[i] === 1 ? 'is' : 'are'} allowed`]
      : [],
  );
}

/** More than the plain limit has to be asked for with an attribute of the kernel before the launch. */
function withoutOptIn(context: RuleContext, launch: LaunchReport): string[] {
  const { sharedPerBlock } = context.capability.limits;
  const { occupancy } = launch;
  if (!occupancy?.needsSharedOptIn || occupancy.staticSharedBytes > sharedPerBlock) return [];
  if (launch.assumptions.some(({ name }) => name === DYNAMIC_SHARED) || mayOptIn(context)) return [];
  const bytes = occupancy.staticSharedBytes + launch.dynamicSharedBytes;
  return [
    `${bytes} bytes of shared memory a block, ${sharedPerBlock} are allowed until cudaFuncSetAttribute(${context.report.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, ${launch.dynamicSharedBytes}) is called`,
  ];
}

/** The name under which a launch's unknown dynamic shared memory is assumed. */
const DYNAMIC_SHARED = 'dynamic shared memory';
const OPT_IN = /FuncSetAttribute|MaxDynamicSharedMemorySize|MAX_DYNAMIC_SHARED/;

/** Somewhere the attribute is named, or the kernel is handed to something that may set it. */
function mayOptIn({ tokens, report }: RuleContext): boolean {
  if (tokens.files.some(({ text }) => OPT_IN.test(text))) return true;
  for (let i = 1; i < tokens.count; i++) {
    if (tokens.text[i] !== report.name || opensLaunch(tokens.text, i + 1)) continue;
    if (HANDS_OVER.has(tokens.text[i - 1]) || tokens.text[i + 1] === '}') return true;
  }
  return false;
}

const HANDS_OVER = new Set(['(', ',', '&', '=', 'return']);

function findingFor(context: RuleContext, launch: LaunchReport, text: string): Finding {
  const fix = bounds(launch).includes(text) ? launchBoundsFix(context, launch) : undefined;
  const at = launch.location ?? context.report.nameRange;
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    endLine: at.endLine,
    endColumn: at.endColumn,
    rule: 'launch-exceeds-limits',
    severity: launch.origin === 'launch-site' ? 'error' : 'information',
    message: `This launch of ${context.report.name} (${shapeText(launch)}) fails on capability ${context.capability.cc}: ${text}.`,
    kernel: context.report.name,
    fixes: fix ? [fix] : [],
    related: [{ ...context.report.nameRange, message: `${context.report.name} is defined here` }],
  };
}
