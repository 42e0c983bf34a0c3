/**
 * What only one arm of a branch uses is computed and loaded there, by the lanes that take it: of `float u = a[i]; if (i < n) y[i] = u;` the
 * load is made behind the condition. Evidence: InstCombine of NVVM, PTX of 210 small kernels, nvcc 13.0:
 *
 * - all uses stand in one block, the arm or one behind it that only the arm leads to, also in a loop there; uses in two blocks keep the load
 *   where it is, even if both are in the arm (an unrolled loop has two bodies, and where it starts and ends is asked twice), and so does one behind
 *   the place where the arms meet again;
 * - it goes on through the conditions inside, as far as nothing between may change what is read: a store that may meet it (not behind
 *   `const … __restrict__`), and for all loads a barrier, shuffle, vote or volatile assembly, `__ldg` being such itself;
 * - a sum of a product and something else than a constant stays, with all it is made of (`u * u + t`; numbers with a fraction, which become one operation;
 *   `fmaf(u, u, t)` is one from the start, and goes: PTX of seven kernels),
 *   and so does what makes one value of two loads where such an operation that stays follows;
 * - where the condition asks an element of the same array, what is made of several loads stays (`s += a[(y + d) * w + x]`, then `if (a[i] == 1) y[i] = s`),
 *   but where all of them stand beside the one asked for, by constants (PTX of 620 kernels; of other arrays one in seven stays as well);
 * - what a copy of an aligned record reads at once stays together: it goes where all of it is used that is used at all (PTX of 13 kernels, records of two, four
 *   and eight numbers aligned to 8 and 16 bytes; H200: 16 bytes of halves, each used under a condition of its own);
 * - an early return is such a condition, and so is `continue`;
 * - conditions that ask for what is loaded already are one (`j != i && a[j] != 0` behind `m = a[j]`: machine.ts looks for cheap branches again behind reuseLoads);
 * - arms of a few cheap operations are selections before (if-conversion.ts), `c ? u : 0` among them; `c ? expf(u) : 0` is none.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsInto, readsOf, writesInto, writesOf } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
} from '../program/program';
import { isBeside, isFence, isReadOnly, mayTouch } from './memory-overlap';
import { isPure } from './pure';

/** In place of a block: no use, several. */
const NOWHERE = -1;
const SEVERAL = -2;

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly blocks: Block[];
  /** By register: the block that reads it. */
  readonly usedIn: Int32Array;
}

export function sinkIntoArms(program: Program): Program {
  if (!program.blocks.some(isCandidate)) return program;
  const flow = controlFlow(program);
  const work: Work = { program, flow, blocks: [...program.blocks], usedIn: usesOf(program, flow) };
  let changes = false;
  for (const block of flow.order) if (isCandidate(work.blocks[block]) && sinkFrom(work, block)) changes = true;
  return changes ? { ...program, blocks: work.blocks } : program;
}

const isCandidate = ({ instructions, terminator }: Block): boolean =>
  terminator.kind === 'branch' && instructions.some((i) => i.op === 'load');

const found: Register[] = [];

function usesOf({ blocks, registers }: Program, flow: ControlFlow): Int32Array {
  const usedIn = new Int32Array(registers.length).fill(NOWHERE);
  blocks.forEach(({ instructions, terminator }, block) => {
    // where a loop starts and ends is asked in front of it and in it
    const countsLoop =
      flow.loopAtHeader[block] >= 0 || flow.successors[block].some((next) => flow.loopAtHeader[next] >= 0);
    const use = (r: Register) => {
      const isOfLoop = countsLoop && !registers[r].type.startsWith('f');
      usedIn[r] = !isOfLoop && (usedIn[r] === NOWHERE || usedIn[r] === block) ? block : SEVERAL;
    };
    for (const i of instructions) {
      const count = readsInto(i, found);
      for (let k = 0; k < count; k++) use(found[k]);
    }
    if (terminator.kind === 'branch') use(terminator.condition);
  });
  return usedIn;
}

function sinkFrom(work: Work, block: number): boolean {
  const { flow, blocks, usedIn } = work;
  const arms = flow.successors[block].filter(
    (arm) =>
      flow.predecessors[arm].length === 1 &&
      flow.loopOf[arm] === flow.loopOf[block] &&
      !isEmpty(blocks[arm], flow.postDominator[block]),
  );
  if (arms.length === 0 || flow.successors[block].length < 2) return false;
  const { instructions, terminator } = blocks[block];
  const loaded = derivedFromLoads(work.program, instructions);
  const pieces = piecesOf(work.program, instructions);
  const asked = terminator.kind === 'branch' ? loadsUnder(loaded, terminator.condition) : [];
  const moved = new Map<number, Instruction[]>(arms.map((arm) => [arm, []]));
  const kept: Instruction[] = [];
  let joinsLoads = false;
  for (let at = instructions.length - 1; at >= 0; at--) {
    const i = instructions[at];
    const isJoin = joins(loaded, i);
    const isSum = isJoin && asked.length > 0 && isOfAskedArray(work.program, loaded, i, asked);
    const mayMove = loaded.by.has(i) && !isFused(work.program, loaded, i) && !(isJoin && joinsLoads) && !isSum;
    const arm = mayMove ? commonArmOf(work, arms, i, pieces.get(i)) : undefined;
    if (arm === undefined || !mayPass(work.program, i, kept)) {
      kept.push(i);
      if (isJoin) joinsLoads = true;
      for (const r of readsOf(i)) if (usedIn[r] !== block) usedIn[r] = SEVERAL;
      continue;
    }
    moved.get(arm)?.push(i);
    // its operands are used where it is now
    for (const r of readsOf(i)) {
      const isElsewhere = usedIn[r] === block ? isReadBy(kept, terminator, r) : usedIn[r] !== arm;
      usedIn[r] = isElsewhere ? SEVERAL : arm;
    }
  }
  if (kept.length === instructions.length) return false;
  blocks[block] = { instructions: kept.reverse(), terminator };
  for (const [arm, list] of moved)
    if (list.length > 0)
      blocks[arm] = {
        instructions: [...list.reverse(), ...blocks[arm].instructions],
        terminator: blocks[arm].terminator,
      };
  return true;
}

/** Of an arm that only assigns variables nothing is left in NVVM's code. */
const isEmpty = ({ instructions, terminator }: Block, join: number): boolean =>
  instructions.length > 0 &&
  instructions.every((i) => i.op === 'unary' && i.fn === 'mov') &&
  terminator.kind === 'jump' &&
  terminator.target === join;

interface Loaded {
  /** Loads, and what is computed of them. */
  readonly by: ReadonlySet<Instruction>;
  readonly definedBy: ReadonlyMap<Register, Instruction>;
}

function derivedFromLoads({ accesses, registers }: Program, instructions: readonly Instruction[]): Loaded {
  const by = new Set<Instruction>();
  const definedBy = new Map<Register, Instruction>();
  for (const i of instructions) {
    if (!writesOf(i).every((r) => registers[r].role === 'temporary')) continue;
    const isLoad = i.op === 'load' && !accesses[i.access].isVolatile && !accesses[i.access].isAssembly;
    if (!isLoad && !(isPure(i) && readsOf(i).some((r) => definedBy.has(r)))) continue;
    by.add(i);
    for (const r of writesOf(i)) definedBy.set(r, i);
  }
  return { by, definedBy };
}

/** Whether an operation makes one value of two that were loaded. */
const joins = ({ definedBy }: Loaded, i: Instruction): boolean =>
  isPure(i) && new Set(readsOf(i).filter((r) => definedBy.has(r))).size > 1;

/** What is loaded in the block for a value. */
function loadsUnder({ definedBy }: Loaded, value: Register): LoadInstruction[] {
  const loads = new Set<LoadInstruction>();
  const seen = new Set<Instruction>();
  const open = [value];
  for (let r = open.pop(); r !== undefined; r = open.pop()) {
    const by = definedBy.get(r);
    if (!by || seen.has(by)) continue;
    seen.add(by);
    if (by.op === 'load') loads.add(by);
    else open.push(...readsOf(by));
  }
  return [...loads];
}

/** Of elements of the array that the condition asks, which do not all stand beside the one that it asks for. */
function isOfAskedArray(
  { accesses }: Program,
  loaded: Loaded,
  i: Instruction,
  asked: readonly LoadInstruction[],
): boolean {
  const loads = writesOf(i).flatMap((r) => loadsUnder(loaded, r));
  const objects = new Set(loads.map(({ access }) => accesses[access].object));
  return asked.some(
    (load) =>
      objects.has(accesses[load.access].object) &&
      !loads.every(({ address, offset }) => address === load.address && offset !== load.offset),
  );
}

/** A product of numbers with a fraction to which something else than a constant is added. */
function isFused({ registers }: Program, { definedBy }: Loaded, i: Instruction): boolean {
  if (i.op !== 'binary' || !(i.fn === 'add' || i.fn === 'sub') || !i.type.startsWith('f')) return false;
  const isProduct = (r: Register) => {
    const by = definedBy.get(r);
    return by?.op === 'binary' && by.fn === 'mul';
  };
  return (
    (isProduct(i.a) && registers[i.b].role !== 'constant') || (isProduct(i.b) && registers[i.a].role !== 'constant')
  );
}

/** By load: those that a copy of an aligned record makes together with it, where there are others. */
function piecesOf(
  { accesses }: Program,
  instructions: readonly Instruction[],
): ReadonlyMap<Instruction, LoadInstruction[]> {
  const pieces = new Map<string, LoadInstruction[]>();
  const ofLoad = new Map<Instruction, LoadInstruction[]>();
  for (const i of instructions) {
    if (i.op !== 'load' || !i.aligned || accesses[i.access].copiedBytes === undefined) continue;
    const { modulus, isApart } = i.aligned;
    if (isApart || modulus <= bytesOf[i.type] * i.dst.length) continue;
    const key = `${i.access}:${i.address}:${Math.floor(i.offset / modulus)}`;
    const piece = pieces.get(key) ?? [];
    pieces.set(key, piece);
    piece.push(i);
    ofLoad.set(i, piece);
  }
  return ofLoad;
}

/** The arm in which all is used that an instruction gives, and what is loaded with it. */
function commonArmOf(
  work: Work,
  arms: readonly number[],
  i: Instruction,
  piece: readonly LoadInstruction[] | undefined,
): number | undefined {
  const arm = armOf(work, arms, i);
  return piece?.every((other) => armOf(work, arms, other) === arm) === false ? undefined : arm;
}

/** The arm in which all is used that an instruction gives. */
function armOf({ flow, usedIn }: Work, arms: readonly number[], i: Instruction): number | undefined {
  const [first, ...rest] = writesOf(i).map((r) => usedIn[r]);
  const user = rest.find((block) => block !== NOWHERE) ?? first;
  if (user < 0 || [first, ...rest].some((block) => block !== NOWHERE && block !== user)) return undefined;
  return arms.find((arm) => dominates(flow.dominator, arm, user));
}

/** @param behind what stands between an instruction and the end of its block */
export function mayPass(program: Program, i: Instruction, behind: readonly Instruction[]): boolean {
  const reads = readsOf(i).filter((r) => program.registers[r].role === 'variable');
  return behind.every((other) => {
    if (reads.length > 0) {
      const count = writesInto(other, found);
      for (let k = 0; k < count; k++) if (reads.includes(found[k])) return false;
    }
    return i.op !== 'load' || !mayChange(program, i, other);
  });
}

function mayChange(program: Program, load: LoadInstruction, by: Instruction): boolean {
  if (isFence(by)) return true;
  if (by.op !== 'store' && by.op !== 'atomic') return false;
  const site = program.accesses[load.access];
  return (
    !isReadOnly(site, program) &&
    mayTouch(program, site, program.accesses[by.access]) &&
    !(by.op === 'store' && isBeside(by, load))
  );
}

function isReadBy(instructions: readonly Instruction[], terminator: Block['terminator'], r: Register): boolean {
  if (terminator.kind === 'branch' && terminator.condition === r) return true;
  return instructions.some((i) => readsOf(i).includes(r));
}
