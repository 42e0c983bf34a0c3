/** local-array: an array of a thread that is indexed by a run-time value cannot stay in registers. */
import { accessesOf, addressesOf, readsInto, readsOf, writesInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { grouped } from '../report/figures';
import type { AccessReport, Finding } from '../report/report';
import { launchedText, type Rule, type RuleContext } from './rule';

/** Accesses of local memory a warp from which it is worth a warning rather than a remark. */
const WARN_FROM = 8;

export const localArray: Rule = {
  id: 'local-array',
  check(context) {
    const found = new Map<string, Finding>();
    for (const launch of context.launches) {
      const places = runTimeIndexed(context, launch.program);
      for (const name of new Set(
        launch.report.accesses.flatMap((a) => (a.space === 'local' && a.object?.name) || []),
      )) {
        const own = launch.report.accesses.filter((a) => a.space === 'local' && a.object?.name === name);
        const access =
          own.find((a) => places.get(placeKey(a)) === 'certain') ?? own.find((a) => places.has(placeKey(a)));
        if (!access?.object) continue;
        const isCertain = places.get(placeKey(access)) === 'certain';
        const key = `${access.object.declaration.file}:${access.object.declaration.line}:${name}`;
        if (!found.has(key)) found.set(key, findingFor(context, launch.report, access, own, isCertain));
      }
    }
    return [...found.values()];
  },
};

const placeKey = (at: { file: string; line: number; column: number }) => `${at.file}:${at.line}:${at.column}`;

/** 'likely': counted up in a loop that stays a loop here; the compiler might unroll it all the same. */
type Certainty = 'certain' | 'likely';

/** Places of accesses to local arrays whose index is not known when compiling: from memory, a parameter, the thread, a loop. */
function runTimeIndexed(context: RuleContext, program: Program): ReadonlyMap<string, Certainty> {
  const places = new Map<string, Certainty>();
  if (!program.objects.some((o) => o.space === 'local')) return places;
  const each = (work: (i: Instruction) => void) => {
    for (const { instructions } of program.blocks) for (const i of instructions) work(i);
  };
  const isOpen = openRegisters(program);
  let makers: Map<Register, Instruction[]> | undefined;
  const unrollable = new Map<Register, boolean>();
  const isCounter = (r: Register, made: readonly Instruction[]): boolean => {
    let known = unrollable.get(r);
    if (known === undefined) unrollable.set(r, (known = isUnrollable(program, r, made)));
    return known;
  };
  const findIndex = (start: Register): Certainty | undefined => {
    if (isOpen[start] === 1) return 'certain';
    makers ??= makersOf(program);
    const seen = new Set([start]);
    for (const r of seen) {
      const made = makers.get(r) ?? [];
      if (made.length > 1 && !isCounter(r, made)) return 'likely';
      for (const i of made) for (const operand of readsOf(i)) seen.add(operand);
    }
    return undefined;
  };
  // written out, many accesses share few addresses
  const indices = new Map<Register, Certainty | undefined>();
  const indexOf = (start: Register): Certainty | undefined => {
    if (!indices.has(start)) indices.set(start, findIndex(start));
    return indices.get(start);
  };
  each((i) => {
    if (i.op !== 'load' && i.op !== 'store') return;
    for (const [k, index] of accessesOf(i).entries()) {
      const site = program.accesses[index];
      const certainty = site.space === 'local' ? indexOf(addressesOf(i)[k]) : undefined;
      const key = placeKey(context.locate(site.place.first, site.place.last));
      if (certainty && places.get(key) !== 'certain') places.set(key, certainty);
    }
  });
  return places;
}

/** By register: 1 where its value follows from a parameter, the thread, memory or another lane. */
function openRegisters(program: Program): Uint8Array {
  const isOpen = new Uint8Array(program.registers.length);
  for (const { register, source } of program.inputs) if (source.kind !== 'object') isOpen[register] = 1;
  const registers: Register[] = [];
  // what is assigned in a loop may be read before it
  for (let changes = true; changes; ) {
    changes = false;
    for (const { instructions } of program.blocks) {
      for (const i of instructions) {
        let opens = i.op === 'load' || i.op === 'atomic' || i.op === 'lane';
        const reads = opens ? 0 : readsInto(i, registers);
        for (let k = 0; k < reads; k++) opens ||= isOpen[registers[k]] === 1;
        if (!opens) continue;
        const writes = writesInto(i, registers);
        for (let k = 0; k < writes; k++) {
          changes ||= isOpen[registers[k]] === 0;
          isOpen[registers[k]] = 1;
        }
      }
    }
  }
  return isOpen;
}

function makersOf(program: Program): Map<Register, Instruction[]> {
  const makers = new Map<Register, Instruction[]>();
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      for (const r of writesOf(i)) {
        const made = makers.get(r);
        if (made) made.push(i);
        else makers.set(r, [i]);
      }
    }
  }
  return makers;
}

/**
 * A counter from a constant by constant steps to a constant: the compiler unrolls such a loop where an array depends on it,
 * though it was too long for us.
 */
function isUnrollable(program: Program, counter: Register, makers: readonly Instruction[]): boolean {
  // a beginning and a step
  if (makers.length !== 2) return false;
  const steps = new Set([counter]);
  const isConstant = (r: Register) => program.registers[r].role === 'constant';
  for (const i of makers) {
    // the step may be made in a register of its own
    if (i.op === 'unary' && i.fn === 'mov' && !isConstant(i.a)) steps.add(i.a);
    else if (!readsOf(i).every((r) => r === counter || isConstant(r))) return false;
  }
  // its value is read into temporaries
  for (const { instructions } of program.blocks)
    for (const i of instructions) if (i.op === 'unary' && i.fn === 'mov' && i.a === counter) steps.add(i.dst);
  return program.blocks.some(({ instructions }) =>
    instructions.some(
      (i) => i.op === 'compare' && ((steps.has(i.a) && isConstant(i.b)) || (steps.has(i.b) && isConstant(i.a))),
    ),
  );
}

function findingFor(
  context: RuleContext,
  launch: RuleContext['launches'][number]['report'],
  access: AccessReport,
  own: readonly AccessReport[],
  isCertain: boolean,
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
    severity: isCertain && isKnown && requests >= WARN_FROM * warps ? 'warning' : 'information',
    message: `${name} ${isCertain ? 'is' : 'is likely'} in local memory, not in registers: ${access.expression} is indexed by a value that ${isCertain ? 'the compiler does not know' : 'changes in a loop'}${count}. Index it by unrolled loops only, or put it in shared memory.`,
    kernel: context.report.name,
    fixes: [],
    related: [
      ...(object ? [{ ...object.declaration, message: `${object.name} is declared here` }] : []),
      ...(launch.location ? [{ ...launch.location, message: launchedText(launch) }] : []),
    ],
  };
}
