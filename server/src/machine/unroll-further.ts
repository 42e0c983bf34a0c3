/**
 * Loops that NVVM wrote out four times and ptxas writes out further: sixteen passes of the source in one as long as there are as many, then eight,
 * then four. Lanes with different counts are then at different places: one with 20 passes left makes sixteen and four, one with 12 eight
 * and four, and they meet in the eight and the four only if both have them. Where all lanes of a warp have the same count it counts the same and is left.
 *
 * Evidence (nvcc 13.0, sm_90, machine code of 1,080 small loops; H200: chol_blocked.cu:42 and 47, batched_block_cholesky.cu:38, branches.cu:54):
 * a body of one block is written out further if it is small and no pragma says how often. Counted over the four copies, without the addresses and the loop's own counter:
 *
 * - shared memory alone: other instructions are at most 3 an access and 16, and with twice the accesses at most 96;
 * - with global memory: with twice the accesses at most 44;
 * - at most 12 stores; no division, root, logarithm or exponential of full precision; what the special function unit does counts 6. 64-bit floats
 *   count like others (92 loops), but what that unit begins for them is a function with branches.
 *
 * Not modelled: of loops that start at a constant those stay as they are whose end NVVM tests on a sum with an index.
 */
import { type ControlFlow, controlFlow, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import type { Block, BranchSite, Instruction, Program, Register, RegisterInfo, ScalarType } from '../program/program';
import { divergentRegisters } from '../program/uniformity';

/** Passes of the source that one pass of the first machine loop makes. */
const MOST_COPIES = 16;
const FEWEST_COPIES = 4;

const MOST_STORES = 12;
const OTHERS_OF_SHARED = { perAccess: 3, least: 16, together: 96 };
const TOGETHER_WITH_GLOBAL = 44;
const SPECIAL_FUNCTION = 6;

/** A loop that counts down, in steps of four, the passes that are left. */
interface Counted {
  readonly loop: Loop;
  readonly before: number;
  readonly body: number;
  readonly exit: number;
  readonly left: Register;
  /** What `left` begins with. */
  readonly passes: Register;
}

interface Work {
  readonly blocks: Block[];
  readonly registers: RegisterInfo[];
}

export function unrollFurther(program: Program): Program {
  if (!program.branches.some(isCandidate)) return program;
  const flow = controlFlow(program);
  const found = flow.loops.map((loop) => countedLoop(program, flow, loop)).filter((each) => each !== undefined);
  const small = found.filter(({ body }) => isSmall(program, program.blocks[body].instructions));
  if (small.length === 0) return program;
  const divergent = divergentRegisters(program);
  const chosen = small.filter(({ passes }) => divergent[passes] === 1);
  if (chosen.length === 0) return program;
  const work: Work = { blocks: [...program.blocks], registers: [...program.registers] };
  for (const each of chosen) inStages(work, each);
  return { ...program, ...work };
}

const isCandidate = ({ copies, isFree }: BranchSite): boolean => copies === FEWEST_COPIES && isFree === true;

function countedLoop(program: Program, flow: ControlFlow, loop: Loop): Counted | undefined {
  const { instructions, terminator } = program.blocks[loop.header];
  if (terminator.kind !== 'branch' || !isCandidate(program.branches[terminator.branch])) return undefined;
  const test = instructions.find((i) => writesOf(i).includes(terminator.condition));
  const [body, exit] = [terminator.ifTrue, terminator.ifFalse];
  const before = flow.predecessors[loop.header].filter((each) => each !== body);
  const end = program.blocks[body].terminator;
  if (test?.op !== 'compare' || before.length !== 1 || end.kind !== 'jump' || end.target !== loop.header)
    return undefined;
  const left = sourceOf(instructions, test.a);
  const start = program.blocks[before[0]].instructions.findLast((i) => writesOf(i).includes(left));
  if (start?.op !== 'unary' || start.fn !== 'mov' || program.blocks[before[0]].terminator.kind !== 'jump')
    return undefined;
  return { loop, before: before[0], body, exit, left, passes: start.a };
}

/** The variable that a block reads its register from. */
function sourceOf(instructions: readonly Instruction[], register: Register): Register {
  const move = instructions.find((i) => writesOf(i).includes(register));
  return move?.op === 'unary' && move.fn === 'mov' ? move.a : register;
}

/**
 * The loop runs three times, for what is left of sixteens, eights and fours:
 * `for (size = 16; size >= 4; size /= 2) { left = total / size * size; total %= size; for (; left > 0; left -= 4) … }`
 */
function inStages(work: Work, { loop, before, exit, left, passes }: Counted): void {
  const header = work.blocks[loop.header];
  if (header.terminator.kind !== 'branch') return;
  const add = (info: RegisterInfo): Register => work.registers.push(info) - 1;
  const temporary = (type: ScalarType): Register => add({ type, role: 'temporary' });
  const constant = (value: number): Register => add({ type: 'i32', role: 'constant', value });
  const total = add({ type: 'i32', role: 'variable' });
  const size = add({ type: 'i32', role: 'variable' });
  const move = (dst: Register, a: Register): Instruction => ({ op: 'unary', fn: 'mov', type: 'i32', dst, a });
  const binary = (fn: 'and' | 'sub' | 'shr', a: Register, b: Register): Instruction & { op: 'binary' } => ({
    op: 'binary',
    fn,
    type: 'i32',
    dst: temporary('i32'),
    a,
    b,
  });
  const test = work.blocks.length;
  const next = test + 1;

  const { instructions } = work.blocks[before];
  work.blocks[before] = {
    instructions: [...instructions, move(total, passes), move(size, constant(MOST_COPIES))],
    terminator: { kind: 'jump', target: test },
  };
  const more = temporary('pred');
  work.blocks.push({
    instructions: [{ op: 'compare', fn: 'ge', type: 'i32', dst: more, a: size, b: constant(FEWEST_COPIES) }],
    terminator: { ...header.terminator, condition: more, ifTrue: next, ifFalse: exit },
  });
  const mask = binary('sub', size, constant(1));
  const rest = binary('and', total, mask.dst);
  const whole = binary('sub', total, rest.dst);
  const half = binary('shr', size, constant(1));
  work.blocks.push({
    instructions: [
      ...[mask, rest, whole, half],
      ...[move(left, whole.dst), move(total, rest.dst), move(size, half.dst)],
    ],
    terminator: { kind: 'jump', target: loop.header },
  });
  work.blocks[loop.header] = { ...header, terminator: { ...header.terminator, ifFalse: test } };
}

const neverFunctions = new Set([
  'sqrt',
  'exp',
  'exp10',
  'log',
  'log2',
  'log10',
  'sin',
  'cos',
  'tan',
  'asin',
  'acos',
  'atan',
]);
const neverBinaries = new Set(['div', 'rem', 'pow', 'fmod', 'atan2', 'hypot']);
const specialFunctions = new Set(['rsqrt', 'rcp', 'exp2']);

function isSmall(program: Program, body: readonly Instruction[]): boolean {
  let [shared, global, stores] = [0, 0, 0];
  for (const i of body) {
    if (i.op === 'load' || i.op === 'store') {
      if (program.accesses[i.access].space === 'shared') shared++;
      else global++;
      if (i.op === 'store') stores++;
    } else if (!isPlain(i)) return false;
  }
  const others = countValues(program, body);
  if (stores > MOST_STORES) return false;
  if (global > 0) return 2 * (shared + global) + others <= TOGETHER_WITH_GLOBAL;
  const { perAccess, least, together } = OTHERS_OF_SHARED;
  return others <= perAccess * shared + least && 2 * shared + others <= together;
}

function isPlain(i: Instruction): boolean {
  switch (i.op) {
    case 'unary':
      return !neverFunctions.has(i.fn) && !(i.type === 'f64' && specialFunctions.has(i.fn));
    case 'binary':
      return !neverBinaries.has(i.fn);
    case 'convert':
    case 'compare':
    case 'select':
    case 'fma':
      return true;
    default:
      return false;
  }
}

/** Instructions that a stored value or a variable other than a counter rests on, but for addresses; a product that is added at once is part of the sum. */
function countValues(program: Program, body: readonly Instruction[]): number {
  const needed = new Set<Register>();
  const reads = new Map<Register, number>();
  for (const i of body) for (const r of readsOf(i)) reads.set(r, (reads.get(r) ?? 0) + 1);
  let count = 0;
  for (const i of body.toReversed()) {
    if (i.op === 'store') for (const r of i.values) needed.add(r);
    else if (i.op !== 'load') {
      const [dst] = writesOf(i);
      const isVariable = program.registers[dst].role === 'variable';
      if (!needed.has(dst) && !(isVariable && !isCounter(program, body, i))) continue;
      for (const r of readsOf(i)) needed.add(r);
      count += weightOf(body, i, reads);
    }
  }
  return count;
}

/** `i = i + 4` */
function isCounter(program: Program, body: readonly Instruction[], i: Instruction): boolean {
  const [dst] = writesOf(i);
  const value = i.op === 'unary' && i.fn === 'mov' ? body.find((each) => writesOf(each).includes(i.a)) : i;
  if (value?.op !== 'binary' || (value.fn !== 'add' && value.fn !== 'sub')) return false;
  return program.registers[value.b].role === 'constant' && sourceOf(body, value.a) === dst;
}

function weightOf(body: readonly Instruction[], i: Instruction, reads: ReadonlyMap<Register, number>): number {
  if (i.op === 'unary') return i.fn === 'mov' ? 0 : specialFunctions.has(i.fn) ? SPECIAL_FUNCTION : 1;
  if (i.op !== 'binary' || i.fn !== 'mul' || reads.get(i.dst) !== 1) return 1;
  const user = body.find((each) => readsOf(each).includes(i.dst));
  return user?.op === 'binary' && (user.fn === 'add' || user.fn === 'sub') ? 0 : 1;
}
