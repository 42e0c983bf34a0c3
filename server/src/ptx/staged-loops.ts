/**
 * Loops of an open number of passes that only the assembler writes out further. Of a loop of one block that counts towards a limit ptxas
 * makes three: four passes at a time as long as four are left, then two if two are, then one. It shows in the machine code: each access
 * of the body has become 4 + 2 + 1 instructions (90 loops of test/hardware, in front of all other numbers).
 * What one lane does stays the same, but lanes with different numbers of passes meet in steps of four, two and one, not in
 * every pass (H200: chol_blocked.cu:42 and :47, batched_block_cholesky.cu:38, branches.cu:54). Where all lanes of a block make
 * equally many passes nothing would count differently, so such loops stay as they are.
 */
import { assignedBy, type FlatBlock, type FlatEnd, type FlatGraph, graphOf, registersIn } from './blocks';
import { opposite, ptxComparisons } from './comparisons';
import { type FlatInstruction, type FlatKernel, opcodeOf } from './flatten';
import type { Operand, PtxRegister } from './module';
import { constantOf, type MachineOf, registerOf, stepOf } from './unrolled-loops';

const STAGES = [4, 2, 1];
const INSTRUCTIONS = STAGES.reduce((sum, passes) => sum + passes, 0);

export interface StagedKernel {
  readonly kernel: FlatKernel;
  readonly graph: FlatGraph;
  /** By block: passes that are made in one, for those with more than one. */
  readonly passes: ReadonlyMap<number, number>;
}

/** The kernel with the loops in stages that the machine code has in stages. */
export function stagedLoops(kernel: FlatKernel, graph: FlatGraph, machineOf: MachineOf): StagedKernel {
  const passes = new Map<number, number>();
  const candidates = graph.blocks.flatMap((block, index) => {
    const { end } = block;
    if (end.kind !== 'branch' || (end.ifTrue !== index && end.ifFalse !== index)) return [];
    const loop = isStaged(block, machineOf) ? loopOf(block, index) : undefined;
    return loop ? [loop] : [];
  });
  if (candidates.length === 0) return { kernel, graph, passes };
  const varying = varyingRegisters(kernel, graph);
  const registers = [...kernel.registers];
  const blocks = graph.blocks.map((block) => ({ ...block }));
  for (const loop of candidates) {
    if (![loop.counter, loop.limit].some((each) => registersIn(each).some((r) => varying[r] === 1))) continue;
    const locals = localsOf(graph, loop.block);
    stage(loop, { blocks, registers, passes, locals });
  }
  return { kernel: { ...kernel, registers }, graph: graphOf(blocks), passes };
}

/** Whether the accesses of a loop's body have as many machine instructions as the stages have passes, merged ones aside. */
function isStaged({ instructions, end }: FlatBlock, machineOf: MachineOf): boolean {
  if (end.kind !== 'branch' || end.equals !== undefined) return false;
  const counts = instructions
    .filter(({ opcode: { base, parts } }) => (base === 'ld' || base === 'st') && parts[1] !== 'param')
    .flatMap((each) => machineOf(each)?.length ?? []);
  return counts.includes(INSTRUCTIONS) && counts.every((n) => n === 0 || n === INSTRUCTIONS);
}

interface Loop {
  readonly block: number;
  readonly counter: Operand;
  readonly limit: Operand;
  /** What a pass adds to the counter. */
  readonly step: number;
  /** Passes are left as long as what is left to the limit is more than this. */
  readonly slack: number;
  /** 's32' */
  readonly type: string;
  readonly test: FlatInstruction;
  readonly exit: number;
}

/** A loop of one block that counts by constant steps towards a limit that stays, and compares behind the step. */
function loopOf({ instructions, end }: FlatBlock, block: number): Loop | undefined {
  if (end.kind !== 'branch' || (end.ifTrue !== block && end.ifFalse !== block)) return undefined;
  const test = instructions.findLast((each) => assignedBy(each).includes(end.register));
  if (test?.opcode.base !== 'setp' || test.guard || test.opcode.parts.length !== 3) return undefined;
  const [, written, type] = test.opcode.parts;
  const [, counter, limit] = test.operands;
  const register = registerOf(counter);
  const steps = instructions.filter((each) => assignedBy(each).includes(register));
  const step = steps.length === 1 ? stepOf(steps[0], register) : undefined;
  if (!step || !/^[sub](32|64)$/.test(type) || instructions.indexOf(test) < instructions.indexOf(steps[0]))
    return undefined;
  const isFixed = constantOf(limit) !== undefined || registerOf(limit) >= 0;
  if (!isFixed || instructions.some((each) => assignedBy(each).includes(registerOf(limit)))) return undefined;
  const plain = ptxComparisons[written];
  const goesOn = end.ifTrue === block ? plain : opposite[plain];
  const isUp = step > 0;
  if (goesOn !== 'ne' && goesOn !== (isUp ? 'lt' : 'gt') && goesOn !== (isUp ? 'le' : 'ge')) return undefined;
  const slack = goesOn === 'le' || goesOn === 'ge' ? -1 : 0;
  const exit = end.ifTrue === block ? end.ifFalse : end.ifTrue;
  return { block, counter, limit, step, slack, type, test, exit };
}

interface Work {
  readonly blocks: FlatBlock[];
  readonly registers: PtxRegister[];
  readonly passes: Map<number, number>;
  /** Registers of the body that nothing else reads: each stage has its own. */
  readonly locals: ReadonlySet<number>;
}

/**
 * In place of the loop's block: is there work for the first stage? Then that stage, which repeats; then the same for the next ones, which
 * do not. A loop is only come to with a pass left, as NVVM guards it.
 */
function stage(loop: Loop, { blocks, registers, passes, locals }: Work): void {
  const { instructions, end } = blocks[loop.block];
  if (end.kind !== 'branch') return;
  const body = instructions;
  const added = (block: FlatBlock): number => blocks.push(block) - 1;
  const checks = STAGES.map((_, k) => (k === 0 ? loop.block : added({ instructions: [], end })));
  STAGES.forEach((count, k) => {
    const next = checks[k + 1] ?? loop.exit;
    const renamed = new Map([...locals].map((r) => [r, registers.push(registers[r]) - 1]));
    const copy = body.map((each) => ({
      ...each,
      operands: each.operands.map((operand) => renamedIn(operand, renamed)),
    }));
    const at = added({ instructions: copy, end });
    if (count > 1) passes.set(at, count);
    const test = leftAtLeast(loop, count, registers);
    const branch: FlatEnd = { ...end, register: test.register, ifTrue: at, ifFalse: next };
    blocks[checks[k]] = { instructions: test.instructions, end: branch };
    if (k > 0) blocks[at].end = { kind: 'jump', target: next };
    else {
      const again = added({ ...blocks[checks[0]] });
      blocks[at].end = { kind: 'jump', target: again };
    }
  });
}

/** The question whether so many passes are left. */
function leftAtLeast(
  { counter, limit, step, slack, type, test }: Loop,
  passes: number,
  registers: PtxRegister[],
): { readonly instructions: FlatInstruction[]; readonly register: number } {
  const signed = `s${type.slice(1)}`;
  const left = registers.push({ name: '%left', type: signed }) - 1;
  const register = registers.push({ name: '%stage', type: 'pred' }) - 1;
  const operand = (of: number): Operand => ({ kind: 'register', register: of });
  const most: Operand = { kind: 'integer', value: BigInt((passes - 1) * Math.abs(step) + slack) };
  const [from, to] = step > 0 ? [limit, counter] : [counter, limit];
  const made = (name: string, operands: Operand[]): FlatInstruction => ({
    ...test,
    opcode: opcodeOf(...name.split('.')),
    operands,
    text: name,
  });
  return {
    register,
    instructions: [
      made(`sub.${signed}`, [operand(left), from, to]),
      made(`setp.gt.${signed}`, [operand(register), operand(left), most]),
    ],
  };
}

/** Registers that a block assigns once before it reads them, and that no other block knows. */
function localsOf({ blocks }: FlatGraph, block: number): Set<number> {
  const locals = new Set<number>();
  const seen = new Set<number>();
  for (const each of blocks[block].instructions) {
    const assigned = assignedBy(each);
    for (const r of each.operands.flatMap(registersIn)) if (!assigned.includes(r)) seen.add(r);
    for (const r of assigned) {
      if (seen.has(r) || each.guard) locals.delete(r);
      else locals.add(r);
      seen.add(r);
    }
  }
  blocks.forEach((other, index) => {
    if (index === block) return;
    for (const each of other.instructions) {
      for (const r of each.operands.flatMap(registersIn)) locals.delete(r);
      if (each.guard) locals.delete(each.guard.register);
    }
    if (other.end.kind === 'branch') locals.delete(other.end.register);
  });
  return locals;
}

function renamedIn(operand: Operand, names: ReadonlyMap<number, number>): Operand {
  switch (operand.kind) {
    case 'register':
      return { kind: 'register', register: names.get(operand.register) ?? operand.register };
    case 'address':
      return {
        ...operand,
        base: renamedIn(operand.base, names),
        more: operand.more.map((each) => renamedIn(each, names)),
      };
    case 'vector':
    case 'list':
      return { ...operand, elements: operand.elements.map((each) => renamedIn(each, names)) };
    case 'pair':
      return { ...operand, first: renamedIn(operand.first, names), second: renamedIn(operand.second, names) };
    case 'not':
      return { ...operand, of: renamedIn(operand.of, names) };
    default:
      return operand;
  }
}

/** Results of these differ between lanes whatever they read. */
const makesVarying = new Set(['ld', 'ldu', 'atom', 'shfl', 'match', 'tex', 'tld4', 'suld', 'call', 'wmma', 'ldmatrix']);

/** 1 for registers whose value may differ between the lanes of a block, as far as it follows from what they are computed of. */
function varyingRegisters({ registers }: FlatKernel, { blocks }: FlatGraph): Uint8Array {
  const varying = new Uint8Array(registers.length);
  const isVarying = (operand: Operand): boolean =>
    operand.kind === 'special'
      ? /^%(tid|laneid|warpid|lanemask)/.test(operand.name)
      : registersIn(operand).some((r) => varying[r] === 1);
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const { instructions } of blocks) {
      for (const each of instructions) {
        const assigned = assignedBy(each).filter((r) => varying[r] === 0);
        if (assigned.length === 0) continue;
        const { base, parts } = each.opcode;
        const isLoaded = makesVarying.has(base) && parts[1] !== 'param';
        const isGuarded = each.guard !== undefined && varying[each.guard.register] === 1;
        if (!isLoaded && !isGuarded && !each.operands.slice(1).some(isVarying)) continue;
        for (const r of assigned) varying[r] = 1;
        hasChanged = true;
      }
    }
  }
  return varying;
}
