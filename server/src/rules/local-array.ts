/** local-array: an array of a thread that is indexed by a run-time value cannot stay in registers. */
import { accessesOf, addressesOf } from '../program/operands';
import type { Program } from '../program/program';
import { grouped } from '../report/figures';
import type { AccessReport, Finding, LaunchReport } from '../report/report';
import { chosenArrays } from './chosen-arrays';
import { launchedText, type Rule, type RuleContext } from './rule';
import { type Certainty, runTimeCertainty } from './run-time-index';

/** Accesses of local memory a warp from which it is worth a warning rather than a remark. */
const WARN_FROM = 8;

export const localArray: Rule = {
  id: 'local-array',
  check(context) {
    const found = new Map<string, Finding>();
    const indexed = new Map<Program, Indexed>();
    for (const launch of context.launches) {
      if (hasNoStack(launch.report)) continue;
      const names = new Set(launch.report.accesses.flatMap((a) => (a.space === 'local' && a.object?.name) || []));
      if (names.size === 0) continue;
      const known = indexed.get(launch.program) ?? runTimeIndexed(context, launch.program);
      indexed.set(launch.program, known);
      const { places, chosen } = known;
      for (const name of names) {
        const own = launch.report.accesses.filter((a) => a.space === 'local' && a.object?.name === name);
        const access =
          own.find((a) => places.get(placeKey(a)) === 'certain') ?? own.find((a) => places.has(placeKey(a)));
        if (!access?.object) continue;
        const isCertain = places.get(placeKey(access)) === 'certain';
        const key = `${access.object.declaration.file}:${access.object.declaration.line}:${name}`;
        if (found.has(key)) continue;
        const isOpen = chosen.has(name);
        if (chosen.get(name) !== 'surely')
          found.set(key, findingFor(context, launch.report, access, own, { isCertain, isOpen }));
      }
    }
    return [...found.values()];
  },
};

const placeKey = (at: { file: string; line: number; column: number }) => `${at.file}:${at.line}:${at.column}`;

interface Indexed {
  /** Places of accesses to local arrays whose index is not known when compiling: from memory, a parameter, the thread, a loop. */
  readonly places: ReadonlyMap<string, Certainty>;
  /** By name: the assembler may keep it in registers all the same. */
  readonly chosen: ReadonlyMap<string, 'surely' | 'perhaps'>;
}

function runTimeIndexed(context: RuleContext, program: Program): Indexed {
  const places = new Map<string, Certainty>();
  if (!program.objects.some((o) => o.space === 'local')) return { places, chosen: new Map() };
  const certaintyOf = runTimeCertainty(program);
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      if (i.op !== 'load' && i.op !== 'store') continue;
      const addresses = addressesOf(i);
      for (const [k, index] of accessesOf(i).entries()) {
        const site = program.accesses[index];
        const certainty = site.space === 'local' ? certaintyOf(addresses[k]) : undefined;
        if (!certainty) continue;
        const key = placeKey(context.locate(site.place.first, site.place.last));
        if (places.get(key) !== 'certain') places.set(key, certainty);
      }
    }
  }
  const chosen = [...chosenArrays(program, (address) => certaintyOf(address) !== undefined)];
  return { places, chosen: new Map(chosen.map(([object, how]) => [program.objects[object].name, how])) };
}

/** The assembler has said that the kernel uses no local memory. */
function hasNoStack({ occupancy }: LaunchReport): boolean {
  const compiled = occupancy?.compiled;
  return compiled !== undefined && !compiled.isStale && compiled.stackBytes === 0;
}

function findingFor(
  context: RuleContext,
  launch: RuleContext['launches'][number]['report'],
  access: AccessReport,
  own: readonly AccessReport[],
  { isCertain, isOpen }: { readonly isCertain: boolean; readonly isOpen: boolean },
): Finding {
  const { object } = access;
  const [x, y, z] = launch.block;
  const warps = Math.ceil((x * y * z) / 32) * launch.grid[0] * launch.grid[1] * launch.grid[2];
  const isKnown = own.every((a) => a.certainty === 'exact') && launch.origin !== 'assumed';
  const requests = own.reduce((sum, a) => sum + a.requests, 0);
  const count = isKnown ? ` (${grouped(requests)} requests of the launch)` : '';
  const dimensions = object?.dimensions ?? [];
  // a size that is not known is not shown
  const shown = dimensions.every((d) => d > 0) ? dimensions.map((d) => `[${d}]`).join('') : '';
  const name = `${object?.name}${shown}`;
  return {
    file: access.file,
    line: access.line,
    column: access.column,
    endLine: access.endLine,
    endColumn: access.endColumn,
    rule: 'local-array',
    severity: isCertain && !isOpen && isKnown && requests >= WARN_FROM * warps ? 'warning' : 'information',
    message: `${name} ${isCertain && !isOpen ? 'is' : 'is likely'} in local memory, not in registers: ${access.expression} is indexed by a value that ${isCertain ? 'the compiler does not know' : 'changes in a loop'}${count}. Index it by unrolled loops only, or put it in shared memory.`,
    kernel: context.report.name,
    fixes: [],
    related: [
      ...(object ? [{ ...object.declaration, message: `${object.name} is declared here` }] : []),
      ...(launch.location ? [{ ...launch.location, message: launchedText(launch) }] : []),
    ],
  };
}
