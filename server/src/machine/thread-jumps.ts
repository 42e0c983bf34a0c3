/**
 * `if (a && x[i])` leaves for the else part as soon as `a` fails, instead of joining and testing the outcome again: a block that
 * only tests a truth value goes, and each way into it goes on to where the value it brings leads. Then the second operand stands
 * before what it guards, and `if (i > 0 && s[i] != s[i - 1]) t[s[i]] = i` reads s[i] once. Evidence: clang emits conditions
 * this way and NVVM threads jumps (PTX of nvcc 13.0: findRadixOffsets of a radix sort, `if (n > 0 && k[i] > 0) y[i] = k[i]`).
 */
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register, Terminator } from '../program/program';

interface Graph {
  readonly program: Program;
  readonly blocks: { instructions: Instruction[]; terminator: Terminator }[];
  /** By block: those that lead to it, reached or not, in any order. */
  readonly predecessors: number[][];
  /** By block: 1 where the entry leads to it. */
  readonly isReached: Uint8Array;
  /** By register: how often it is read. */
  readonly reads: Int32Array;
  /** By block: 1 where it begins with a move to what it branches on. */
  readonly mayTest: Uint8Array;
}

/** What a block does when it only tests a variable that others assigned. */
interface Test {
  readonly variable: Register;
  /** Variables that it hands the value on to: of the test of `a && b` in `a && b && c`. */
  readonly copies: readonly Register[];
  readonly branch: Terminator & { kind: 'branch' };
}

export function threadJumps(program: Program): Program {
  if (!program.branches.some((site) => site.kind === 'logical')) return program;
  const blocks = program.blocks.map((b) => ({ instructions: [...b.instructions], terminator: b.terminator }));
  const graph: Graph = {
    program,
    blocks,
    predecessors: blocks.map(() => []),
    isReached: new Uint8Array(blocks.length),
    reads: new Int32Array(program.registers.length),
    mayTest: new Uint8Array(blocks.length),
  };
  for (let block = 0; block < blocks.length; block++) enter(graph, block);
  for (let changed = true, rounds = 0; changed && rounds < 50; rounds++) {
    changed = false;
    markReached(graph);
    for (let block = blocks.length - 1; block > 0; block--) {
      if (graph.mayTest[block] === 0) continue;
      const test = testOf(graph, block);
      if (!test || !thread(graph, block, test)) continue;
      changed = true;
      break;
    }
  }
  return { ...program, blocks };
}

/** Another block in place of one: what is known of the graph is kept, since a kernel has many blocks and few that change. */
function replace(graph: Graph, block: number, by: Graph['blocks'][number]): void {
  const { blocks, predecessors } = graph;
  countReads(graph, block, -1);
  for (const target of targetsOf(blocks[block].terminator)) {
    const from = predecessors[target];
    from.splice(from.indexOf(block), 1);
  }
  blocks[block] = by;
  enter(graph, block);
}

function enter(graph: Graph, block: number): void {
  countReads(graph, block, 1);
  const { instructions, terminator } = graph.blocks[block];
  for (const target of targetsOf(terminator)) graph.predecessors[target].push(block);
  const [first] = instructions;
  const isTest = terminator.kind === 'branch' && first && isMove(first) && first.dst === terminator.condition;
  graph.mayTest[block] = isTest ? 1 : 0;
}

const operands: Register[] = [];

function countReads({ blocks, reads }: Graph, block: number, by: number): void {
  const { instructions, terminator } = blocks[block];
  for (const i of instructions) {
    const count = readsInto(i, operands);
    for (let k = 0; k < count; k++) reads[operands[k]] += by;
  }
  if (terminator.kind === 'branch') reads[terminator.condition] += by;
}

const targetsOf = (t: Terminator): number[] =>
  t.kind === 'jump' ? [t.target] : t.kind === 'branch' ? [t.ifTrue, t.ifFalse] : [];

function markReached({ blocks, isReached }: Graph): void {
  isReached.fill(0);
  isReached[0] = 1;
  const open = [0];
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    for (const target of targetsOf(blocks[block].terminator)) {
      if (isReached[target] === 1) continue;
      isReached[target] = 1;
      open.push(target);
    }
  }
}

/** A block that reads a variable, which nothing else does, and branches on it. */
function testOf(graph: Graph, block: number): Test | undefined {
  const { instructions, terminator } = graph.blocks[block];
  if (terminator.kind !== 'branch' || instructions.length === 0) return undefined;
  const { registers } = graph.program;
  const [first, ...rest] = instructions;
  if (!isMove(first) || first.dst !== terminator.condition || registers[first.a].role !== 'variable') return undefined;
  const copies: Register[] = [];
  for (const i of rest) {
    const isCopy = isMove(i) && i.a === first.dst && registers[i.dst].role === 'variable' && graph.reads[i.dst] === 1;
    if (!isCopy) return undefined;
    copies.push(i.dst);
  }
  const isOnly = graph.reads[first.a] === 1 && graph.reads[first.dst] === copies.length + 1;
  return isOnly ? { variable: first.a, copies, branch: terminator } : undefined;
}

const isMove = (i: Instruction): i is Instruction & { op: 'unary' } =>
  i.op === 'unary' && i.fn === 'mov' && i.type === 'pred';

/** Sends every way into the test on; false when the value that one brings is not in sight. */
function thread(graph: Graph, block: number, test: Test): boolean {
  const ways = graph.predecessors[block].filter((way) => graph.isReached[way] === 1);
  if (ways.length < 2 || ways.some((way) => way === block)) return false;
  const changes = ways.map((way) => changeOf(graph, way, block, test));
  if (changes.some((change) => change === undefined)) return false;
  for (const [k, way] of ways.entries()) {
    const change = changes[k];
    if (!change) continue;
    const kept = graph.blocks[way].instructions.filter((i) => !writesOf(i).includes(test.variable));
    const copies = test.copies.map(
      (dst): Instruction => ({ op: 'unary', fn: 'mov', type: 'pred', dst, a: change.value }),
    );
    replace(graph, way, { instructions: [...kept, ...copies], terminator: change.terminator });
  }
  replace(graph, block, { instructions: [], terminator: { kind: 'exit' } });
  return true;
}

/** The value that the block `way` brings, and how it ends when it does without the test. */
function changeOf(
  graph: Graph,
  way: number,
  test: number,
  { variable, branch }: Test,
): { readonly value: Register; readonly terminator: Terminator } | undefined {
  const { instructions, terminator } = graph.blocks[way];
  const assigned = instructions.filter((i) => writesOf(i).includes(variable)).at(-1);
  if (assigned?.op !== 'unary' || assigned.fn !== 'mov') return undefined;
  const value = assigned.a;
  const { role } = graph.program.registers[value];
  if (role === 'variable') return undefined;
  if (terminator.kind === 'jump') {
    const known = role === 'constant' ? Boolean(graph.program.registers[value].value) : undefined;
    if (known !== undefined)
      return { value, terminator: { kind: 'jump', target: known ? branch.ifTrue : branch.ifFalse } };
    return { value, terminator: { ...branch, condition: value } };
  }
  // it leaves for the test when its own condition, the value, is false (&&) or true (||)
  if (terminator.kind !== 'branch' || terminator.condition !== value || terminator.ifTrue === terminator.ifFalse)
    return undefined;
  return {
    value,
    terminator:
      terminator.ifTrue === test
        ? { ...terminator, ifTrue: branch.ifTrue }
        : { ...terminator, ifFalse: branch.ifFalse },
  };
}
