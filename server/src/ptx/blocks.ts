/** Basic blocks of a flat kernel, and which of its registers are assigned once. */

import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import type { Program, Terminator } from '../program/program';
import type { FlatInstruction, FlatKernel } from './flatten';
import type { Operand } from './module';

export type FlatEnd =
  | { readonly kind: 'jump'; readonly target: number }
  | { readonly kind: 'exit' }
  | {
      readonly kind: 'branch';
      readonly register: number;
      /** set: the branch compares the register with it; unset: the register is a predicate */
      readonly equals?: number;
      readonly ifTrue: number;
      readonly ifFalse: number;
      readonly instruction: FlatInstruction;
    };

export interface FlatBlock {
  readonly instructions: FlatInstruction[];
  end: FlatEnd;
}

export interface FlatGraph {
  readonly blocks: readonly FlatBlock[];
  readonly flow: ControlFlow;
}

/** Instructions that a guard switches off for good: lanes that are off take no part. All others are computed and selected. */
const masked = new Set([
  'ld',
  'ldu',
  'st',
  'atom',
  'red',
  'cp',
  'ldmatrix',
  'stmatrix',
  'wmma',
  'mma',
  'shfl',
  'vote',
  'match',
  'activemask',
  'redux',
  'elect',
  'bar',
  'barrier',
  'call',
  'mbarrier',
  'wgmma',
  'tcgen05',
  'multimem',
  'tex',
  'tld4',
  'suld',
  'sust',
  'sured',
]);

/** Not `trap`: a kernel that is aborted has no counters, and what it does for other sizes follows behind the test that led there. */
const ends = new Set(['bra', 'brx', 'ret', 'exit']);

/** `ld.param` reads a register in all but name. */
export function isMasked(instruction: FlatInstruction): boolean {
  return masked.has(instruction.opcode.base) && instruction.opcode.parts[1] !== 'param';
}

export function flatGraph(kernel: FlatKernel): FlatGraph {
  return graphOf(new BlockMaker(kernel).make());
}

/** Blocks with the control flow that their ends make. */
export function graphOf(blocks: readonly FlatBlock[]): FlatGraph {
  return { blocks, flow: controlFlow(skeleton(blocks)) };
}

/** A program with the same edges and nothing else, for the analyses of graphs. */
function skeleton(blocks: readonly FlatBlock[]): Program {
  const terminator = (end: FlatEnd): Terminator =>
    end.kind === 'branch' ? { kind: 'branch', condition: 0, ifTrue: end.ifTrue, ifFalse: end.ifFalse, branch: 0 } : end;
  return {
    kernel: '',
    registers: [],
    blocks: blocks.map((block) => ({ instructions: [], terminator: terminator(block.end) })),
    inputs: [],
    objects: [],
    accesses: [],
    branches: [],
    skipped: [],
  };
}

class BlockMaker {
  private readonly blocks: FlatBlock[] = [];
  private readonly labels = new Map<string, number>();
  private current: FlatBlock = { instructions: [], end: { kind: 'exit' } };
  private isOpen = true;

  constructor(private readonly kernel: FlatKernel) {
    this.blocks.push(this.current);
  }

  make(): FlatBlock[] {
    for (const item of this.kernel.items) {
      if (item.kind === 'label') this.continueIn(this.labelled(item.name, item.frame));
      else this.instruction(item);
    }
    return this.blocks;
  }

  private newBlock(): number {
    this.blocks.push({ instructions: [], end: { kind: 'exit' } });
    return this.blocks.length - 1;
  }

  private labelled(name: string, frame: number): number {
    const key = `${frame}:${name}`;
    let block = this.labels.get(key);
    if (block === undefined) this.labels.set(key, (block = this.newBlock()));
    return block;
  }

  /** Makes a block current, with a jump to it from the one before. */
  private continueIn(block: number): void {
    if (this.isOpen) this.current.end = { kind: 'jump', target: block };
    this.current = this.blocks[block];
    this.isOpen = true;
  }

  private instruction(instruction: FlatInstruction): void {
    const { base } = instruction.opcode;
    if (ends.has(base)) this.terminator(instruction);
    else if (instruction.guard && isMasked(instruction)) this.masked(instruction);
    else this.current.instructions.push(instruction);
  }

  private terminator(instruction: FlatInstruction): void {
    const { guard } = instruction;
    const target = this.targetOf(instruction);
    if (!guard) {
      if (this.isOpen) this.end(instruction, target);
      this.isOpen = false;
      this.current = { instructions: [], end: { kind: 'exit' } };
      return;
    }
    const next = this.newBlock();
    let taken = target;
    if (taken === undefined) {
      taken = this.newBlock();
      this.endOf(this.blocks[taken], instruction);
    }
    this.current.end = {
      kind: 'branch',
      register: guard.register,
      ifTrue: guard.isNegated ? next : taken,
      ifFalse: guard.isNegated ? taken : next,
      instruction,
    };
    this.current = this.blocks[next];
    this.isOpen = true;
  }

  private end(instruction: FlatInstruction, target: number | undefined): void {
    if (target !== undefined) this.current.end = { kind: 'jump', target };
    else this.endOf(this.current, instruction);
  }

  private targetOf(instruction: FlatInstruction): number | undefined {
    const operand = instruction.operands[0];
    if (instruction.opcode.base !== 'bra' || operand?.kind !== 'symbol') return undefined;
    return this.labelled(operand.name, instruction.frame);
  }

  /** Of a return: nothing; of brx.idx: a chain of comparisons, the last target for all others. */
  private endOf(block: FlatBlock, instruction: FlatInstruction): void {
    if (instruction.opcode.base !== 'brx') return;
    const [index, list] = instruction.operands;
    const names =
      list?.kind === 'symbol' ? this.kernel.frames[instruction.frame].function.branchTargets.get(list.name) : [];
    if (index?.kind !== 'register' || !names || names.length === 0) return;
    let at = block;
    names.forEach((name, value) => {
      const target = this.labelled(name, instruction.frame);
      if (value === names.length - 1) {
        at.end = { kind: 'jump', target };
        return;
      }
      const next = this.newBlock();
      at.end = { kind: 'branch', register: index.register, equals: value, ifTrue: target, ifFalse: next, instruction };
      at = this.blocks[next];
    });
  }

  /** A guarded access: a branch around it, so that its lanes are the right ones. */
  private masked(instruction: FlatInstruction): void {
    const { guard } = instruction;
    if (!guard || !this.isOpen) return;
    const inside = this.newBlock();
    const next = this.newBlock();
    this.blocks[inside].instructions.push({ ...instruction, guard: undefined });
    this.blocks[inside].end = { kind: 'jump', target: next };
    this.current.end = {
      kind: 'branch',
      register: guard.register,
      ifTrue: guard.isNegated ? next : inside,
      ifFalse: guard.isNegated ? inside : next,
      instruction,
    };
    this.current = this.blocks[next];
  }
}

/** Opcodes whose first operand is no result even when it is a register. */
const withoutResult = new Set([
  'bar',
  'barrier',
  'nanosleep',
  'brx',
  'bra',
  'setmaxnreg',
  'fence',
  'membar',
  'call',
  'wgmma',
]);

/** Registers an instruction assigns. */
export function assignedBy(instruction: FlatInstruction): readonly number[] {
  const { base, parts } = instruction.opcode;
  const hasResult = !withoutResult.has(base) || parts.includes('red') || (base === 'wgmma' && parts[1] === 'mma_async');
  const first = instruction.operands[0];
  if (!hasResult || first === undefined) return [];
  if (first.kind === 'register') return [first.register];
  if (first.kind !== 'vector' && first.kind !== 'pair') return [];
  return registersIn(first);
}

/** All registers of an operand. */
export function registersIn(operand: Operand): number[] {
  switch (operand.kind) {
    case 'register':
      return [operand.register];
    case 'vector':
    case 'list':
      return operand.elements.flatMap(registersIn);
    case 'pair':
      return [...registersIn(operand.first), ...registersIn(operand.second)];
    case 'not':
      return registersIn(operand.of);
    case 'address':
      return [...registersIn(operand.base), ...operand.more.flatMap(registersIn)];
    default:
      return [];
  }
}

export interface Assignments {
  /** 1: assigned at one place that dominates all uses and is in every loop that they are not in alone. */
  readonly isSingle: Uint8Array;
  /** Assigned in some reachable block. */
  readonly isAssigned: Uint8Array;
  readonly isUsed: Uint8Array;
  /** The instruction that assigns a single register. */
  readonly definition: readonly (FlatInstruction | undefined)[];
}

/** Which registers hold one value in each pass: those can be temporaries of the IR. */
export function assignmentsOf(registerCount: number, graph: FlatGraph): Assignments {
  const { flow, blocks } = graph;
  const isSingle = new Uint8Array(registerCount);
  const isAssigned = new Uint8Array(registerCount);
  const isUsed = new Uint8Array(registerCount);
  const home = new Int32Array(registerCount).fill(-1);
  const definition: (FlatInstruction | undefined)[] = new Array(registerCount);
  for (const block of flow.order) {
    for (const instruction of blocks[block].instructions) {
      for (const register of assignedBy(instruction)) {
        isSingle[register] = isAssigned[register] === 0 && !instruction.guard ? 1 : 0;
        isAssigned[register] = 1;
        home[register] = block;
        definition[register] = instruction;
      }
    }
  }
  const seen = new Uint8Array(registerCount);
  const use = (register: number, block: number) => {
    isUsed[register] = 1;
    if (isSingle[register] === 0) return;
    const isFine =
      home[register] === block
        ? seen[register] === 1
        : dominates(flow.dominator, home[register], block) && staysInLoops(flow, home[register], block);
    if (!isFine) isSingle[register] = 0;
  };
  for (const block of flow.order) {
    for (const instruction of blocks[block].instructions) {
      const assigned = assignedBy(instruction);
      const operands =
        assigned.length > 0 && instruction.opcode.base !== 'wgmma'
          ? instruction.operands.slice(1)
          : instruction.operands;
      for (const operand of operands) for (const register of registersIn(operand)) use(register, block);
      if (instruction.guard) use(instruction.guard.register, block);
      for (const register of assigned) seen[register] = 1;
    }
    const { end } = blocks[block];
    if (end.kind === 'branch') use(end.register, block);
  }
  return { isSingle, isAssigned, isUsed, definition };
}

/** Whether every loop around `from` is also around `to`. */
function staysInLoops(flow: ControlFlow, from: number, to: number): boolean {
  const loop = flow.loopOf[from];
  return loop < 0 || flow.loops[loop].contains[to] === 1;
}
