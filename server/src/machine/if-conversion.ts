/**
 * Short branches without memory accesses become selections (a load of a fixed element of a declared array, which cannot fail, is made
 * by all lanes: PTX of `c ? a : count[0] + i`), and blocks that follow each other become one: only then do loads
 * on both sides of `if (x < 0) x = -x;` stand in one block and merge. Evidence: NVVM's SimplifyCFG and ptxas's predication on
 * kernels compiled with nvcc 13.0 (H200: monte_carlo.cu:34 reads .x and .y of a float2 at once though a branch lies between).
 */
import { writesOf } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LibraryBranches,
  type Program,
  type Register,
  type RegisterInfo,
  type Terminator,
} from '../program/program';
import { callsFunction, costOf, isFolded } from '../program/speculation';
import { withOperands } from './common-expressions';

/** Instructions that one side may have; longer ones stay branches. */
const LONGEST_SIDE = 40;

/** And with a load among them (PTX of ten kernels: two sums with two elements are computed by all lanes, three by those that take the branch). */
const LONGEST_LOADING_SIDE = 4;

/** Instructions of a block, in pieces: blocks that follow each other are joined without copying. */
interface Piece {
  readonly instructions: Instruction[];
  /** Made here, so that it may grow. */
  readonly isOwn: boolean;
  next: Piece | undefined;
}

interface OpenBlock {
  first: Piece;
  last: Piece;
  count: number;
  terminator: Terminator;
}

interface Graph {
  /** Only what NVVM selects when it first looks at branches. */
  readonly isFirst: boolean;
  readonly program: Program;
  readonly registers: RegisterInfo[];
  readonly blocks: readonly OpenBlock[];
  readonly predecessors: number[];
}

export const convertBranches = (program: Program): Program => convertSides(program, false);

/** What NVVM has selected before it looks what only one arm uses (sink-into-arms.ts). Evidence: PTX of 320 small kernels. */
export const convertCheapBranches = (program: Program): Program => convertSides(program, true);

function convertSides(program: Program, isFirst: boolean): Program {
  const blocks = program.blocks.map((b): OpenBlock => {
    const piece: Piece = { instructions: b.instructions as Instruction[], isOwn: false, next: undefined };
    return { first: piece, last: piece, count: b.instructions.length, terminator: b.terminator };
  });
  const graph: Graph = {
    isFirst,
    program,
    registers: [...program.registers],
    blocks,
    predecessors: countPredecessors(blocks),
  };
  for (let changed = true, rounds = 0; changed && rounds < 200; rounds++) {
    changed = false;
    for (let block = blocks.length - 1; block >= 0; block--) {
      if (block > 0 && graph.predecessors[block] === 0) continue;
      while (joinNext(graph, block) || convert(graph, block)) changed = true;
    }
  }
  const written = blocks.map((b): Block => ({ instructions: instructionsOf(b), terminator: b.terminator }));
  return { ...program, blocks: written, registers: graph.registers };
}

function instructionsOf({ first }: OpenBlock): readonly Instruction[] {
  if (first.next === undefined) return first.instructions;
  const all: Instruction[] = [];
  for (let piece: Piece | undefined = first; piece; piece = piece.next) for (const i of piece.instructions) all.push(i);
  return all;
}

function append(block: OpenBlock, ...instructions: readonly Instruction[]): void {
  if (!block.last.isOwn) block.last = block.last.next = { instructions: [], isOwn: true, next: undefined };
  block.last.instructions.push(...instructions);
  block.count += instructions.length;
}

/** Nothing leads to the block any more. */
function empty(block: OpenBlock): void {
  block.first = block.last = { instructions: [], isOwn: true, next: undefined };
  block.count = 0;
  block.terminator = { kind: 'exit' };
}

const targetsOf = (t: Terminator): number[] =>
  t.kind === 'jump' ? [t.target] : t.kind === 'branch' ? [t.ifTrue, t.ifFalse] : [];

/** Of reachable blocks only. */
function countPredecessors(blocks: readonly { readonly terminator: Terminator }[]): number[] {
  const count = blocks.map(() => 0);
  const seen = new Set([0]);
  for (const block of seen) {
    for (const target of targetsOf(blocks[block].terminator)) {
      count[target]++;
      seen.add(target);
    }
  }
  return count;
}

/** A jump to a block that nothing else leads to. */
function joinNext(graph: Graph, index: number): boolean {
  const block = graph.blocks[index];
  const { terminator } = block;
  if (terminator.kind !== 'jump' || terminator.target === index || terminator.target === 0) return false;
  if (graph.predecessors[terminator.target] !== 1) return false;
  const next = graph.blocks[terminator.target];
  block.last.next = next.first;
  block.last = next.last;
  block.count += next.count;
  block.terminator = next.terminator;
  empty(next);
  graph.predecessors[terminator.target] = 0;
  return true;
}

/** `if` without or with `else`, whose sides only compute and meet behind it. */
function convert(graph: Graph, index: number): boolean {
  const block = graph.blocks[index];
  const end = block.terminator;
  if (end.kind !== 'branch' || end.ifTrue === end.ifFalse) return false;
  if (graph.program.branches[end.branch].kind === 'loop') return false;
  const ifTrue = sideOf(graph, end.ifTrue);
  const ifFalse = sideOf(graph, end.ifFalse);
  const meets =
    ifTrue !== undefined && (ifTrue === end.ifFalse || ifTrue === ifFalse)
      ? ifTrue
      : ifFalse !== undefined && ifFalse === end.ifTrue
        ? ifFalse
        : undefined;
  if (meets === undefined || meets === index) return false;
  const sides = [end.ifTrue, end.ifFalse].filter((side) => side !== meets);
  const written = sides.map((side) => instructionsOf(graph.blocks[side]));
  const folds = isFolded(graph.registers, written);
  const { call } = graph.program.branches[end.branch].place;
  if (graph.isFirst && !(folds && !written.some((side) => callsFunction(graph.registers, side, call)))) return false;
  const branches = folds ? undefined : 'short';
  for (const side of sides) select(graph, index, side, { p: end.condition, whenTrue: side === end.ifTrue, branches });
  block.terminator = { kind: 'jump', target: meets };
  graph.predecessors[meets] = Math.max(1, graph.predecessors[meets] - 1);
  return true;
}

/** Where a side goes on, when it only computes and nothing else leads to it. */
function sideOf(graph: Graph, side: number): number | undefined {
  const block = graph.blocks[side];
  const { terminator } = block;
  if (graph.predecessors[side] !== 1 || terminator.kind !== 'jump' || block.count > LONGEST_SIDE) return undefined;
  const instructions = instructionsOf(block);
  if (!instructions.every((i) => isPure(i) || isSafeLoad(graph.program, i))) return undefined;
  const isTooLong = instructions.some((i) => i.op === 'load') && costOf(instructions) > LONGEST_LOADING_SIDE;
  return isTooLong ? undefined : terminator.target;
}

function isPure(i: Instruction): boolean {
  switch (i.op) {
    case 'unary':
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
    case 'unknown':
      return true;
    default:
      return false;
  }
}

/** A load that cannot fail: a fixed element of a declared array or variable. */
function isSafeLoad(program: Program, i: Instruction): boolean {
  if (i.op !== 'load' || program.accesses[i.access].isVolatile) return false;
  const object = program.objects.find((o) => o.register === i.address);
  const end = i.offset + bytesOf[i.type] * i.dst.length;
  return object?.bytes !== undefined && i.offset >= 0 && end <= object.bytes;
}

interface Selection {
  readonly p: Register;
  readonly whenTrue: boolean;
  readonly branches: LibraryBranches | undefined;
}

/** Puts a side in front of the meeting point: what it assigns to variables holds where the condition does. */
function select(graph: Graph, index: number, side: number, { p, whenTrue, branches }: Selection): void {
  const block = graph.blocks[index];
  const renamed = new Map<Register, Register>();
  for (const i of instructionsOf(graph.blocks[side])) append(block, rename(graph, i, renamed));
  for (const [variable, value] of renamed) {
    const type = graph.registers[variable].type;
    const old = temporary(graph, type);
    const merged = temporary(graph, type);
    const [a, b] = whenTrue ? [value, old] : [old, value];
    append(
      block,
      { op: 'unary', fn: 'mov', type, dst: old, a: variable },
      { op: 'select', type, dst: merged, p, a, b, branches },
      { op: 'unary', fn: 'mov', type, dst: variable, a: merged },
    );
  }
  empty(graph.blocks[side]);
  graph.predecessors[side] = 0;
}

function temporary(graph: Graph, type: RegisterInfo['type']): Register {
  graph.registers.push({ type, role: 'temporary' });
  return graph.registers.length - 1;
}

/** The instruction with variables that the side assigned replaced by what it assigned. */
function rename(graph: Graph, i: Instruction, renamed: Map<Register, Register>): Instruction {
  const now = (r: Register): Register => renamed.get(r) ?? r;
  const reading = withOperands(i, now);
  const [dst] = writesOf(i);
  if (graph.registers[dst].role !== 'variable') return reading;
  const fresh = temporary(graph, graph.registers[dst].type);
  renamed.set(dst, fresh);
  return { ...reading, dst: fresh } as Instruction;
}
