/**
 * `if (i == 0 || s[i] != s[i - 1]) y[i] = s[i]`: what the second condition has loaded is not loaded again behind both. Where it begins with that load,
 * it is made in front of the first condition, by all lanes; where another comes first, those that the first condition decides load by themselves.
 * NVVM does the one by eliminating partial redundancies and then taking together what both ways begin with. Evidence: PTX of 13 small
 * kernels (nvcc 13.0, sm_90); not where the branch stores before it loads, and of three conditions what the last one loads is loaded again.
 * Nor is a load behind a function of the library with branches of its own, to which other ways lead (`isFunctionWithBranches`).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { writesOf } from '../program/operands';
import type { Block, Instruction, LoadInstruction, Program, Register, RegisterInfo } from '../program/program';
import { withOperands } from './common-expressions';
import { type Beginning, beginningOf, collect, isFunctionWithBranches } from './hoist-common';
import { isPure } from './pure';

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly blocks: Block[];
  readonly registers: RegisterInfo[];
  /** By block that a way was made from. */
  readonly changed: Set<number>;
}

/** A branch to `last`, or to `second`, which may lead to `last` as well. */
interface Alternatives {
  readonly first: number;
  readonly second: number;
  readonly last: number;
}

export function loadForAlternatives(program: Program): Program {
  if (!program.branches.some((site) => site.kind === 'logical')) return program;
  const flow = controlFlow(program);
  const work: Work = {
    program,
    flow,
    blocks: [...program.blocks],
    registers: [...program.registers],
    changed: new Set(),
  };
  for (const first of flow.order) {
    const found = alternativesAt(work, first);
    if (found) loadOnce(work, found);
  }
  return work.changed.size === 0 ? program : { ...program, blocks: work.blocks, registers: work.registers };
}

function alternativesAt({ blocks, flow, changed }: Work, first: number): Alternatives | undefined {
  const { terminator } = blocks[first];
  if (terminator.kind !== 'branch') return undefined;
  const ways = [
    { second: terminator.ifTrue, last: terminator.ifFalse },
    { second: terminator.ifFalse, last: terminator.ifTrue },
  ];
  for (const { second, last } of ways) {
    if (second === last || changed.has(second) || changed.has(last) || flow.loopAtHeader[last] >= 0) continue;
    if (flow.predecessors[second].length !== 1 || flow.loopOf[first] !== flow.loopOf[last]) continue;
    const others = flow.predecessors[last].filter((block) => block !== first);
    if (others.length > 0 && others.every((block) => isBehind(flow, second, block))) return { first, second, last };
  }
  return undefined;
}

/** Whether each block on the only way from one to another leads to nothing but the next, or elsewhere. */
function isBehind({ predecessors }: ControlFlow, from: number, block: number): boolean {
  for (let at = block, steps = 0; steps < 8; steps++) {
    if (at === from) return true;
    if (predecessors[at].length !== 1) return false;
    [at] = predecessors[at];
  }
  return false;
}

function loadOnce(work: Work, at: Alternatives): void {
  const { program, blocks, flow } = work;
  const others = flow.predecessors[at.last].filter((block) => block !== at.first);
  const between = [at.second, ...others.flatMap((block) => wayTo(flow, at.second, block))];
  const onlyLoads = (i: Instruction) => isPure(i) || (i.op === 'load' && !program.accesses[i.access].isVolatile);
  if (!between.every((block) => blocks[block].instructions.every(onlyLoads))) return;
  const numbers = new Map<string, number>();
  const before = beginningOf(program, blocks[at.second].instructions, numbers);
  const behind = beginningOf(program, blocks[at.last].instructions, numbers, isFunctionWithBranches);
  for (const { key, instruction: again } of behind.sequence) {
    const same = before.sequence.find((each) => each.key === key)?.instruction;
    if (again.op !== 'load' || same?.op !== 'load') continue;
    const isFirst = same === before.sequence[0].instruction;
    if (isFirst) hoist(work, at, before, same, again);
    else if (others.length !== 1 || !splitWay(work, at, behind, same, again)) continue;
    work.changed.add(at.second).add(at.last);
    return;
  }
}

/** The blocks behind one to another. */
function wayTo({ predecessors }: ControlFlow, from: number, block: number): number[] {
  const way: number[] = [];
  for (let at = block; at !== from; [at] = predecessors[at]) way.push(at);
  return way;
}

/** The load goes to the end of the first block, with what its address is computed by. */
function hoist(
  work: Work,
  { first, second, last }: Alternatives,
  before: Beginning,
  load: LoadInstruction,
  again: LoadInstruction,
): void {
  const { blocks } = work;
  const moved = new Set<Instruction>();
  collect(before, load, moved);
  const { instructions } = blocks[second];
  blocks[first] = {
    ...blocks[first],
    instructions: [...blocks[first].instructions, ...instructions.filter((i) => moved.has(i))],
  };
  blocks[second] = { ...blocks[second], instructions: instructions.filter((i) => !moved.has(i)) };
  replace(work, last, again, load.dst);
}

/** Who comes from the first condition loads on the way, who comes from the second has loaded. False: nothing is changed. */
function splitWay(
  work: Work,
  { first, second, last }: Alternatives,
  behind: Beginning,
  same: LoadInstruction,
  again: LoadInstruction,
): boolean {
  const { program, blocks, registers } = work;
  const needed = new Set<Instruction>();
  collect(behind, again, needed);
  const own = blocks[last].instructions.filter((i) => needed.has(i));
  if (!own.every((i) => i === again || isPure(i))) return false;
  // what else needs the address computes it again
  const names = new Map<Register, Register>();
  const onWay = own.map((i): Instruction => {
    const copy = withOperands(i, (r) => names.get(r) ?? r);
    for (const r of writesOf(i)) names.set(r, registers.push(registers[r]) - 1);
    const named = (r: Register): Register => names.get(r) ?? r;
    if (copy.op === 'load') return { ...copy, dst: copy.dst.map(named) };
    return 'dst' in copy && typeof copy.dst === 'number' ? ({ ...copy, dst: named(copy.dst) } as Instruction) : copy;
  });
  const variables = again.dst.map((dst) => registers.push({ ...program.registers[dst], role: 'variable' }) - 1);
  const moves = (from: readonly Register[]): Instruction[] =>
    variables.map((dst, k) => ({ op: 'unary', fn: 'mov', type: again.type, dst, a: from[k] }));
  const loaded = again.dst.map((dst) => names.get(dst) ?? dst);
  const way =
    blocks.push({ instructions: [...onWay, ...moves(loaded)], terminator: { kind: 'jump', target: last } }) - 1;
  const { terminator } = blocks[first];
  if (terminator.kind === 'branch') {
    const side = terminator.ifTrue === last ? { ifTrue: way } : { ifFalse: way };
    blocks[first] = { ...blocks[first], terminator: { ...terminator, ...side } };
  }
  blocks[second] = { ...blocks[second], instructions: [...blocks[second].instructions, ...moves(same.dst)] };
  replace(work, last, again, variables);
  return true;
}

function replace({ blocks }: Work, block: number, load: LoadInstruction, by: readonly Register[]): void {
  const moves = load.dst.map((dst, k): Instruction => ({ op: 'unary', fn: 'mov', type: load.type, dst, a: by[k] }));
  const { instructions } = blocks[block];
  blocks[block] = { ...blocks[block], instructions: instructions.flatMap((i) => (i === load ? moves : [i])) };
}
