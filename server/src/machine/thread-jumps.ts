/**
 * A block that only tests what others have assigned goes, or is come to by fewer ways: each way that brings a known value goes on to where
 * that value leads. So `if (!passes(x))` leaves at the `return false` that decides, and what `passes` has read by its end is known to what
 * follows; `if (found)` behind a loop with `found = true; break;` likewise (PTX of nine kernels, nvcc 13.0: truth values, and integers that are
 * compared with a constant where all ways bring constants; not past a barrier, nor where the loop's counter is what it brings). Lanes that leave so go on
 * at once, pass by pass (H100, 17 kernels: 12 requests of two warps behind `if (!top)`, 2 where the loop is written out or the kernel ends there).
 *
 * `if (a && x[i])` leaves for the else part as soon as `a` fails, instead of joining and testing the outcome again: a block that
 * only tests a truth value goes, and each way into it goes on to where the value it brings leads. Then the second operand stands
 * before what it guards, and `if (i > 0 && s[i] != s[i - 1]) t[s[i]] = i` reads s[i] once. Evidence: clang emits conditions
 * this way and NVVM threads jumps (PTX of nvcc 13.0: findRadixOffsets of a radix sort, `if (n > 0 && k[i] > 0) y[i] = k[i]`).
 */
import { controlFlow } from '../program/control-flow';
import { foldCompare } from '../program/fold';
import { readsInto, writesOf } from '../program/operands';
import { type Instruction, isFloat, type Program, type Register, type Terminator } from '../program/program';
import { reconvergence } from '../program/reconvergence';

/** Tests that go: a kernel that is written out has one a copy and more. */
const MOST_TESTS = 1000;
/** Blocks that are looked at for what a variable holds. */
const MOST_BLOCKS_BACK = 64;

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
  /** Blocks that loops begin with: what is known on the way into a loop is not threaded into it. */
  readonly headers: ReadonlySet<number>;
  /** By block: where the sides of its branch meet. */
  readonly meets: Int32Array;
}

/** What a block does when it only tests a variable that others assigned. */
interface Test {
  readonly variable: Register;
  /** Variables that it hands the value on to: of the test of `a && b` in `a && b && c`. */
  readonly copies: readonly Register[];
  readonly branch: Terminator & { kind: 'branch' };
  /** What the branch asks of a number: true for those that lead to `ifTrue`. undefined: the value itself. */
  readonly holds?: (value: number) => boolean;
}

export function threadJumps(program: Program): Program {
  if (!program.blocks.some((b) => mayBeTest(b.instructions, b.terminator))) return program;
  const flow = controlFlow(program);
  const headers = new Set(flow.loops.map(({ header }) => header));
  const blocks = program.blocks.map((b) => ({ instructions: [...b.instructions], terminator: b.terminator }));
  const graph: Graph = {
    program,
    blocks,
    predecessors: blocks.map(() => []),
    isReached: new Uint8Array(blocks.length),
    reads: new Int32Array(program.registers.length),
    mayTest: new Uint8Array(blocks.length),
    headers,
    meets: reconvergence(program, flow).point,
  };
  for (let block = 0; block < blocks.length; block++) enter(graph, block);
  markReached(graph);
  let gone = 0;
  for (let changed = true; changed; ) {
    changed = false;
    for (let block = blocks.length - 1; block > 0 && gone < MOST_TESTS; block--) {
      if (graph.mayTest[block] === 0) continue;
      const test = testOf(graph, block);
      if (!test || !thread(graph, block, test)) continue;
      changed = true;
      gone++;
    }
  }
  return gone > 0 ? { ...program, blocks } : program;
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
  graph.mayTest[block] = mayBeTest(instructions, terminator) ? 1 : 0;
}

/** It begins with a copy of a variable, and asks for that alone. */
function mayBeTest(instructions: readonly Instruction[], terminator: Terminator): boolean {
  const [first, second] = instructions;
  if (terminator.kind !== 'branch' || first?.op !== 'unary' || first.fn !== 'mov') return false;
  if (first.dst === terminator.condition) return first.type === 'pred';
  return instructions.length === 2 && writesOf(second).includes(terminator.condition);
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

/** A block may not be reached any more, nor what it leads to. */
function unreach(graph: Graph, block: number): void {
  const { blocks, predecessors, isReached, headers } = graph;
  const open = [block];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === 0 || isReached[at] === 0) continue;
    // a loop leads to its own beginning
    if (headers.has(at)) {
      markReached(graph);
      return;
    }
    if (predecessors[at].some((from) => isReached[from] === 1)) continue;
    isReached[at] = 0;
    open.push(...targetsOf(blocks[at].terminator));
  }
}

/** A block that reads a variable, which nothing else does, and branches on it. */
function testOf(graph: Graph, block: number): Test | undefined {
  const { instructions, terminator } = graph.blocks[block];
  if (terminator.kind !== 'branch' || instructions.length === 0) return undefined;
  const { registers } = graph.program;
  const [first, ...rest] = instructions;
  if (first.op !== 'unary' || first.fn !== 'mov' || registers[first.a].role !== 'variable') return undefined;
  if (graph.headers.has(block) || targetsOf(terminator).some((target) => graph.headers.has(target))) return undefined;
  const { condition, ifTrue, ifFalse } = terminator;
  if (first.dst !== condition) {
    if (rest.length !== 1 || graph.reads[first.dst] !== 1 || graph.reads[condition] !== 1) return undefined;
    const [asks] = rest;
    const opposite = { ...terminator, condition: first.dst, ifTrue: ifFalse, ifFalse: ifTrue };
    if (asks.op === 'unary' && asks.fn === 'lognot') return { variable: first.a, copies: [], branch: opposite };
    const holds = questionOf(graph, first.dst, asks);
    return holds && { variable: first.a, copies: [], branch: terminator, holds };
  }
  if (first.type !== 'pred') return undefined;
  const copies: Register[] = [];
  for (const i of rest) {
    const isCopy = isMove(i) && i.a === first.dst && registers[i.dst].role === 'variable' && graph.reads[i.dst] <= 1;
    if (!isCopy) return undefined;
    // nobody reads it any more where a test behind has gone
    if (graph.reads[i.dst] === 1) copies.push(i.dst);
  }
  return graph.reads[first.dst] === rest.length + 1 ? { variable: first.a, copies, branch: terminator } : undefined;
}

/** A comparison with a constant. */
function questionOf({ program }: Graph, value: Register, i: Instruction): Test['holds'] {
  if (i.op !== 'compare' || isFloat(i.type)) return undefined;
  const { fn, type, a, b } = i;
  const constant = program.registers[a === value ? b : a];
  if (constant.role !== 'constant') return undefined;
  const { value: by } = constant;
  return (of) => (a === value ? foldCompare(fn, type, of, by) : foldCompare(fn, type, by, of)) === 1;
}

const isMove = (i: Instruction): i is Instruction & { op: 'unary' } =>
  i.op === 'unary' && i.fn === 'mov' && i.type === 'pred';

/** Sends ways into the test on; false when none brings a value that is in sight. */
function thread(graph: Graph, block: number, test: Test): boolean {
  const ways = waysInto(graph, block);
  if (ways.length < 2 || ways.some(({ from }) => from === block)) return false;
  const changes = ways.map((way) => changeOf(graph, way, test));
  // a truth value is known way by way; a number that is asked has to be a constant on all of them
  const isPartly = changes.some((change) => change === undefined);
  if (changes.every((change) => change === undefined) || (isPartly && test.holds)) return false;
  if (parts(graph, block, test, changes)) return false;
  for (const change of changes) if (change) redirect(graph, change, test.copies);
  if (!isPartly) replace(graph, block, { instructions: [], terminator: { kind: 'exit' } });
  for (const { to } of ways) unreach(graph, to);
  for (const side of targetsOf(test.branch)) unreach(graph, side);
  return true;
}

/**
 * Several ways would come to one side each by itself, and what accesses there would be made for the lanes of one after the other. Seen on an H100:
 * lanes of `if (d <= 0) flip = true; else flip = draw() < p; if (flip) s[i] = -s[i];` store together. Parts of `a || b` go on by themselves.
 */
function parts(
  { blocks, meets }: Graph,
  block: number,
  { branch }: Test,
  changes: readonly (Change | undefined)[],
): boolean {
  if (changes.every((change) => change?.isPart)) return false;
  const meet = meets[block];
  return [branch.ifTrue, branch.ifFalse].some((side) => {
    const arrivals = changes.filter((change) => typeof change?.target !== 'number' || change.target === side).length;
    return arrivals > 1 && accessesBefore(blocks, side, meet);
  });
}

function accessesBefore(blocks: Graph['blocks'], from: number, end: number): boolean {
  const seen = new Set([end]);
  const open = [from];
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    if (seen.has(block)) continue;
    seen.add(block);
    const { instructions, terminator } = blocks[block];
    if (instructions.some((i) => 'access' in i || i.op === 'asyncCopy')) return true;
    open.push(...targetsOf(terminator));
  }
  return false;
}

/** A block that leads to the test, through blocks that do nothing else. */
export interface Way {
  readonly from: number;
  /** Where it goes: the test, or the first of the empty blocks. */
  readonly to: number;
}

function waysInto(graph: Graph, block: number, depth = 0): Way[] {
  return graph.predecessors[block].flatMap((from): Way[] => {
    if (graph.isReached[from] === 0) return [];
    const { instructions, terminator } = graph.blocks[from];
    const isEmpty = instructions.length === 0 && terminator.kind === 'jump' && !graph.headers.has(from);
    return isEmpty && depth < 8 && from !== 0 ? waysInto(graph, from, depth + 1) : [{ from, to: block }];
  });
}

interface Change extends Way {
  readonly value: Register;
  readonly target: number | Test['branch'];
  /** It is part of a condition: it ends with the question whether the value that it brings decides. */
  readonly isPart?: boolean;
}

function redirect(graph: Graph, { from, to, value, target }: Change, copies: readonly Register[]): void {
  const { instructions, terminator } = graph.blocks[from];
  const handed = copies.map((dst): Instruction => ({ op: 'unary', fn: 'mov', type: 'pred', dst, a: value }));
  const ends = typeof target === 'number' ? leading(terminator, to, target) : target;
  replace(graph, from, { instructions: [...instructions, ...handed], terminator: ends });
}

/** The end of a block, going on to another one on the side that led to the first. */
export function leading(terminator: Terminator, from: number, to: number): Terminator {
  if (terminator.kind !== 'branch') return { kind: 'jump', target: to };
  return terminator.ifTrue === from ? { ...terminator, ifTrue: to } : { ...terminator, ifFalse: to };
}

/** The value that a way brings, and where it goes without the test. */
function changeOf(graph: Graph, way: Way, { variable, branch, holds, copies }: Test): Change | undefined {
  const { terminator } = graph.blocks[way.from];
  const value = valueBehind(graph, way.from, variable);
  if (value === undefined) return undefined;
  const { role, value: constant } = graph.program.registers[value];
  const isBranch = terminator.kind === 'branch';
  if (isBranch && terminator.ifTrue === terminator.ifFalse) return undefined;
  if (role === 'constant') {
    // what is handed on would be for the other way of the branch as well
    if (isBranch && copies.length > 0) return undefined;
    const isTrue = holds ? holds(constant ?? 0) : Boolean(constant);
    return { ...way, value, target: isTrue ? branch.ifTrue : branch.ifFalse };
  }
  const asked = holds && !isBranch ? conditionOf(graph, way.from, value, holds) : undefined;
  if (asked) {
    const [ifTrue, ifFalse] = asked.isOpposite ? [branch.ifFalse, branch.ifTrue] : [branch.ifTrue, branch.ifFalse];
    return { ...way, value, target: { ...branch, condition: asked.condition, ifTrue, ifFalse } };
  }
  if (holds || role === 'variable') return undefined;
  if (!isBranch) return { ...way, value, target: { ...branch, condition: value }, isPart: true };
  // it leaves for the test when its own condition, the value, is false (&&) or true (||)
  if (terminator.condition !== value) return undefined;
  return { ...way, value, target: terminator.ifTrue === way.to ? branch.ifTrue : branch.ifFalse, isPart: true };
}

interface Found {
  readonly block: number;
  readonly index: number;
  readonly instruction: Instruction;
}

/** What a register was assigned last before a place, on the only way there. */
function assignmentOf({ blocks, predecessors, isReached }: Graph, register: Register, place: Place): Found | undefined {
  let { block, index } = place;
  for (let depth = 0; depth < 16; depth++) {
    const { instructions } = blocks[block];
    for (let i = index - 1; i >= 0; i--)
      if (writesOf(instructions[i]).includes(register)) return { block, index: i, instruction: instructions[i] };
    const before = predecessors[block].filter((each) => isReached[each] === 1);
    if (before.length !== 1) return undefined;
    [block] = before;
    index = blocks[block].instructions.length;
  }
  return undefined;
}

type Place = Pick<Found, 'block' | 'index'>;

/** The number that a register holds at a place, through copies. */
function numberAt(graph: Graph, register: Register, place: Place, depth = 0): number | undefined {
  const { role, value } = graph.program.registers[register];
  if (role === 'constant') return value ?? 0;
  const found = depth < 8 ? assignmentOf(graph, register, place) : undefined;
  const i = found?.instruction;
  return found && i?.op === 'unary' && i.fn === 'mov' ? numberAt(graph, i.a, found, depth + 1) : undefined;
}

/** What a variable holds at the end of a block. */
function valueBehind(graph: Graph, block: number, variable: Register): Register | undefined {
  const found = assignmentOf(graph, variable, { block, index: graph.blocks[block].instructions.length });
  if (!found) return constantBehind(graph, block, variable);
  return found.instruction.op === 'unary' && found.instruction.fn === 'mov' ? found.instruction.a : undefined;
}

/** The constant that a variable holds at the end of a block whichever way was taken there: no pass of the loop in between changes it. */
function constantBehind({ program, blocks, predecessors, isReached }: Graph, block: number, variable: Register) {
  const seen = new Set<number>();
  const open = [block];
  let constant: Register | undefined;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    if (seen.size > MOST_BLOCKS_BACK) return undefined;
    const last = blocks[at].instructions.findLast((i) => writesOf(i).includes(variable));
    if (!last) {
      const before = predecessors[at].filter((each) => isReached[each] === 1);
      if (before.length === 0) return undefined;
      open.push(...before);
      continue;
    }
    if (last.op !== 'unary' || last.fn !== 'mov') return undefined;
    const { role, value } = program.registers[last.a];
    if (role !== 'constant' || (constant !== undefined && program.registers[constant].value !== value))
      return undefined;
    constant = last.a;
  }
  return constant;
}

/** A number that is one of two by a condition (`if (x[i] == 0) keep = 0` that became a selection), where the answers differ. */
function conditionOf(graph: Graph, block: number, value: Register, holds: (value: number) => boolean) {
  const found = assignmentOf(graph, value, { block, index: graph.blocks[block].instructions.length });
  if (found?.block !== block || found.instruction.op !== 'select') return undefined;
  const { p, a, b } = found.instruction;
  const [first, second] = [numberAt(graph, a, found), numberAt(graph, b, found)];
  if (first === undefined || second === undefined || holds(first) === holds(second)) return undefined;
  return { condition: p, isOpposite: holds(second) };
}
