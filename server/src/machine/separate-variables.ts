/**
 * A variable that is used for several things one after the other is several: what is assigned before one loop and in it never reaches the next. Evidence: NVVM
 * keeps values in SSA form, so that a counter declared at the head of a kernel and used in loop after loop (`int i; for (i = t; …) … for (i = 0; …) …`) tells
 * as much of addresses as one declared in each (nvcc 13.0: `s[i]` from 0 in fours is read 16 bytes at a time either way, 5 of 5 kernels).
 */
import { flowBackwards, forEachBit } from '../program/backward-flow';
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { hasBit, setBit } from '../program/liveness';
import { readsInto, writesInto } from '../program/operands';
import type { Block, Instruction, Program, Register, RegisterInfo } from '../program/program';
import { withOperands } from './common-expressions';

/** Blocks times variables: what is looked at. */
const MOST_PAIRS = 2 ** 21;

/** Variables that moves assign at two places or more, by number. */
interface Variables {
  /** By register: its number, -1 where it is none of them. */
  readonly numberOf: Int32Array;
  readonly registers: readonly Register[];
}

export function separateVariables(program: Program): Program {
  const variables = assignedTwice(program);
  const count = variables.registers.length;
  if (count === 0 || count * program.blocks.length > MOST_PAIRS) return program;
  const webs = websOf(program, controlFlow(program), variables);
  const names = namesOf(program, variables, webs);
  if (!names) return program;
  return { ...program, registers: names.registers, blocks: rename(program, variables, webs, names.ofWeb) };
}

const isMove = (i: Instruction): i is Instruction & { readonly op: 'unary' } => i.op === 'unary' && i.fn === 'mov';

function assignedTwice(program: Program): Variables {
  const moves = new Int32Array(program.registers.length);
  const writes: Register[] = [];
  for (const { instructions } of program.blocks)
    for (const i of instructions) {
      const writing = writesInto(i, writes);
      // what other instructions assign stays as it is
      for (let k = 0; k < writing; k++) moves[writes[k]] += isMove(i) ? 1 : Number.MIN_SAFE_INTEGER;
    }
  const numberOf = new Int32Array(program.registers.length).fill(-1);
  const registers: Register[] = [];
  program.registers.forEach(({ role }, register) => {
    if (role === 'variable' && moves[register] > 1) numberOf[register] = registers.push(register) - 1;
  });
  return { numberOf, registers };
}

/** What may hold a variable's value: an assignment, or what a block begins with; joined where one use may see both. */
interface Webs {
  /** By place of an assignment, in the order of the program: the web. */
  readonly ofMove: readonly number[];
  /** By block × variable: the web at its beginning; 0 where nothing reads it. */
  readonly atStart: Int32Array;
  readonly find: (web: number) => number;
}

function websOf(program: Program, flow: ControlFlow, { numberOf, registers }: Variables): Webs {
  const count = registers.length;
  const live = liveAtStart(program, flow, numberOf, count);
  const parent = [0];
  const make = (): number => parent.push(parent.length) - 1;
  const find = (web: number): number => {
    let at = web;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]];
    return at;
  };
  const atStart = new Int32Array(count * program.blocks.length);
  live.forEach((set, block) => {
    forEachBit(set, (v) => {
      atStart[block * count + v] = make();
    });
  });
  const ofMove: number[] = [];
  const present = new Int32Array(count);
  program.blocks.forEach(({ instructions }, block) => {
    present.set(atStart.subarray(block * count, (block + 1) * count));
    for (const i of instructions) {
      if (!isMove(i) || numberOf[i.dst] < 0) continue;
      ofMove.push((present[numberOf[i.dst]] = make()));
    }
    for (const next of flow.successors[block])
      forEachBit(live[next], (v) => {
        if (present[v] > 0) parent[find(present[v])] = find(atStart[next * count + v]);
      });
  });
  return { ofMove, atStart, find };
}

/** By block: the variables whose value at its start is read before they are assigned. */
function liveAtStart(program: Program, flow: ControlFlow, numberOf: Int32Array, count: number): Int32Array[] {
  const words = (count + 31) >> 5;
  const live = program.blocks.map(() => new Int32Array(words));
  const assigned = program.blocks.map(() => new Int32Array(words));
  const reads: Register[] = [];
  program.blocks.forEach(({ instructions, terminator }, block) => {
    const read = (register: Register) => {
      const v = numberOf[register];
      if (v >= 0 && !hasBit(assigned[block], v)) setBit(live[block], v);
    };
    for (const i of instructions) {
      const reading = readsInto(i, reads);
      for (let k = 0; k < reading; k++) read(reads[k]);
      if (isMove(i) && numberOf[i.dst] >= 0) setBit(assigned[block], numberOf[i.dst]);
    }
    if (terminator.kind === 'branch') read(terminator.condition);
  });
  flowBackwards(flow, live, assigned);
  return live;
}

/** The register of every web: the first of a variable keeps its own. Undefined where every variable is one web. */
function namesOf(
  program: Program,
  { numberOf, registers: variables }: Variables,
  { ofMove, find }: Webs,
): { readonly registers: readonly RegisterInfo[]; readonly ofWeb: ReadonlyMap<number, Register> } | undefined {
  const registers = [...program.registers];
  const ofWeb = new Map<number, Register>();
  const isUsed = new Uint8Array(variables.length);
  let at = 0;
  for (const { instructions } of program.blocks)
    for (const i of instructions) {
      if (!isMove(i) || numberOf[i.dst] < 0) continue;
      const web = find(ofMove[at++]);
      if (ofWeb.has(web)) continue;
      const v = numberOf[i.dst];
      ofWeb.set(web, isUsed[v] === 0 ? i.dst : registers.push(program.registers[i.dst]) - 1);
      isUsed[v] = 1;
    }
  return registers.length > program.registers.length ? { registers, ofWeb } : undefined;
}

function rename(
  program: Program,
  { numberOf, registers }: Variables,
  { ofMove, atStart, find }: Webs,
  ofWeb: ReadonlyMap<number, Register>,
): Block[] {
  const count = registers.length;
  const present = new Int32Array(count);
  // what is read before anything is assigned has no other name
  const now = (r: Register): Register =>
    numberOf[r] < 0 || present[numberOf[r]] === 0 ? r : (ofWeb.get(find(present[numberOf[r]])) ?? r);
  let at = 0;
  return program.blocks.map(({ instructions, terminator }, block): Block => {
    present.set(atStart.subarray(block * count, (block + 1) * count));
    const renamed = instructions.map((i): Instruction => {
      const read = withOperands(i, now);
      if (!isMove(i) || numberOf[i.dst] < 0) return read;
      present[numberOf[i.dst]] = ofMove[at++];
      return { ...(read as typeof i), dst: now(i.dst) };
    });
    if (terminator.kind !== 'branch') return { instructions: renamed, terminator };
    return { instructions: renamed, terminator: { ...terminator, condition: now(terminator.condition) } };
  });
}
