/**
 * What ptxas can know of shared addresses that move with a loop. NVVM (LLVM's loop strength reduction) gives the accesses of a pass one register that moves with
 * the loop and points at one of them: the last, the first from the middle on, or the first, whichever leaves the fewest bits of offsets (the earlier named
 * where they are equal). Of such a register ptxas knows by which power of two what it begins with can be divided, and no more: behind
 * `s[i].re * s[i].im` with two floats to a record it points at `im`, is aligned to 4 bytes, and the record is read by two LDS; four floats one behind the
 * other are two LDS.64, not one LDS.128. Evidence (nvcc 13.0, PTX and machine code of 200 loops written out in fours, and PTX of 140 over records and
 * rows of two to eleven words, in two of which the register points elsewhere):
 *
 * - four copies that begin at 0 behind the row of a thread: 8 bytes of floats, two copies: 4, eight copies: 16; loads and stores, u[t][c] and s[t * 64 + c] alike; four that
 *   begin at another constant: one by one;
 * - loops that stay as they are (`#pragma unroll 1`) and what is left over of those written out (H200: audio_frontend.cu:104 and 124) alike, loads and stores
 *   counted together; of the loop in fours itself the middle is a record's beginning;
 * - the counter moves by a constant (`i += blockDim.x`: the address is computed anew, and nothing is lost), the address by a constant times it (`i ^ 1`, `i % 8`,
 *   `i * i` are computed anew, and so is an unsigned sum with an index), and the loop has none inside;
 * - of a fixed array that the counter runs through from a constant the address is known, and what lies in it is merged as it lies (s[c] from 0); so is what __align__,
 *   the type or a dynamic array promises, which NVVM merges before.
 */
import { type ControlFlow, controlFlow, type Loop } from '../program/control-flow';
import { readsOf, writesOf } from '../program/operands';
import { bytesOf, type Instruction, type Program, type Register } from '../program/program';

/** By block and register of an address: the offset behind it at which the register of the loop points; undefined where there is no such register. */
export type PivotOf = (block: number, address: Register) => number | undefined;

interface Definition {
  readonly block: number;
  readonly instruction: Instruction;
}

type Definitions = ReadonlyMap<Register, readonly Definition[]>;

interface Work {
  readonly program: Program;
  readonly definitions: Definitions;
  readonly objects: ReadonlySet<Register>;
}

const none: PivotOf = () => undefined;

export function pivots(program: Program): PivotOf {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return none;
  const outer = new Set(flow.loops.map(({ parent }) => parent));
  const kept = keptAsTheyAre(flow);
  const objects = new Set(program.objects.map(({ register }) => register));
  const offsetsIn = new Map<Loop, Offsets>();
  let work: Work | undefined;
  return (block, address) => {
    const loop = flow.loops[flow.loopOf[block]];
    if (!loop || outer.has(loop.index) || kept.has(loop.index)) return undefined;
    work ??= { program, definitions: definitionsOf(program), objects };
    if (!movesByRegister(work, loop, address)) return undefined;
    let offsets = offsetsIn.get(loop);
    if (!offsets) offsetsIn.set(loop, (offsets = offsetsOf(program, loop)));
    return pointedAt(offsets.get(address) ?? [0]);
  };
}

/**
 * Loops whose addresses NVVM leaves as they are: those it comes to behind the first loop within another one. It goes from the last loop
 * of a kernel to the first, in each through the loops inside, the first before the second, and then to the loop itself (nvcc 13.0, machine
 * code of 37 kernels with one to four loops behind and within each other; H200: 16-byte stores of records in two programs).
 */
function keptAsTheyAre(flow: ControlFlow): ReadonlySet<number> {
  const kept = new Set<number>();
  if (flow.loops.every(({ parent }) => parent < 0)) return kept;
  const place = new Map(flow.order.map((block, index) => [block, index]));
  const inOrder = [...flow.loops].sort((a, b) => (place.get(a.header) ?? 0) - (place.get(b.header) ?? 0));
  const within = (parent: number) => inOrder.filter((loop) => loop.parent === parent);
  let isBehind = false;
  const visit = (loop: Loop) => {
    for (const inner of within(loop.index)) visit(inner);
    if (isBehind) kept.add(loop.index);
    isBehind ||= loop.parent >= 0;
  };
  for (const loop of within(-1).reverse()) visit(loop);
  return kept;
}

function definitionsOf(program: Program): Definitions {
  const found = new Map<Register, Definition[]>();
  program.blocks.forEach(({ instructions }, block) => {
    for (const instruction of instructions)
      for (const register of writesOf(instruction)) {
        const known = found.get(register);
        if (known) known.push({ block, instruction });
        else found.set(register, [{ block, instruction }]);
      }
  });
  return found;
}

/** Offsets of what a loop reads and writes, by the register of the address. */
type Offsets = ReadonlyMap<Register, readonly number[]>;

function offsetsOf(program: Program, loop: Loop): Offsets {
  const found = new Map<Register, number[]>();
  program.blocks.forEach(({ instructions }, block) => {
    if (loop.contains[block] === 0) return;
    for (const i of instructions) {
      if (i.op !== 'load' && i.op !== 'store') continue;
      const known = found.get(i.address);
      if (known) known.push(i.offset);
      else found.set(i.address, [i.offset]);
    }
  });
  return found;
}

/** The offset at which the register that moves with a loop points. */
function pointedAt(offsets: readonly number[]): number {
  const [least, greatest] = [Math.min(...offsets), Math.max(...offsets)];
  const middle = Math.min(...offsets.filter((offset) => offset >= (least + greatest) / 2));
  const cost = (pivot: number) => offsets.reduce((sum, offset) => sum + signedBits(offset - pivot), 0);
  return [greatest, middle, least].reduce((best, each) => (cost(each) < cost(best) ? each : best));
}

/** Bits of the shortest signed number that holds an integer; none of 0, which is not written. */
function signedBits(value: number): number {
  if (value === 0) return 0;
  return 33 - Math.clz32(value > 0 ? value : -value - 1);
}

/** Registers that an address may be made of; more are not followed. */
const MOST_PARTS = 500;

/** What an address is made of. */
interface Parts {
  /** Registers seen so far, and whether the loop moves them. */
  readonly seen: Map<Register, boolean>;
  readonly counters: Set<Register>;
  /** Something that is neither constant nor the place of an array. */
  isOpen: boolean;
  /** Moved by other than a constant times the counter. */
  isUneven: boolean;
}

function movesByRegister(work: Work, loop: Loop, address: Register): boolean {
  const parts: Parts = { seen: new Map(), counters: new Set(), isOpen: false, isUneven: false };
  collect(work, loop, address, parts);
  // a pointer that the source moves is such a register itself, and points where it says
  if (isCounter(work.program, work.definitions, address)) return false;
  if (parts.isUneven || parts.counters.size !== 1) return false;
  const [counter] = parts.counters;
  const known = work.definitions.get(counter) ?? [];
  const inside = known.filter(({ block }) => loop.contains[block] === 1);
  if (inside.length !== 1 || !isStep(work, inside[0].instruction, counter)) return false;
  const startsFixed = known.every((each) => each === inside[0] || isConstant(work, each.instruction));
  if (!startsFixed) return true;
  return parts.isOpen && (copiesOf(work, loop) !== undefined || !endsFixed(work, loop, counter));
}

/** Adds what a register depends on; whether the loop moves it. */
function collect(work: Work, loop: Loop, register: Register, parts: Parts): boolean {
  const known = parts.seen.get(register);
  if (known !== undefined) return known;
  if (parts.seen.size > MOST_PARTS) parts.isUneven = true;
  if (parts.isUneven) return false;
  parts.seen.set(register, false);
  const moves = collectNew(work, loop, register, parts);
  parts.seen.set(register, moves);
  return moves;
}

function collectNew(work: Work, loop: Loop, register: Register, parts: Parts): boolean {
  const { program, definitions, objects } = work;
  const { role } = program.registers[register];
  if (role === 'constant' || objects.has(register)) return false;
  const known = definitions.get(register) ?? [];
  const isInside = known.some(({ block }) => loop.contains[block] === 1);
  if (role === 'variable' && isInside) {
    parts.counters.add(register);
    return true;
  }
  const only = role === 'temporary' && known.length === 1 ? known[0].instruction : undefined;
  if (only?.op !== 'unary' && only?.op !== 'binary' && only?.op !== 'convert') {
    parts.isOpen = true;
    parts.isUneven ||= isInside;
    return isInside;
  }
  const moved = readsOf(only).filter((read) => collect(work, loop, read, parts));
  if (moved.length > 0) parts.isUneven ||= !isEven(work, only, moved);
  return moved.length > 0;
}

/** Whether the result moves by a constant times what its operand moves by. */
function isEven({ program, definitions }: Work, i: Instruction, moved: readonly Register[]): boolean {
  const isFixed = (register: Register) => program.registers[register].role === 'constant';
  if (i.op === 'unary') return i.fn === 'mov' || i.fn === 'neg';
  // an unsigned sum may wrap before it is widened: only the counter itself does not
  if (i.op === 'convert') return i.from !== 'u32' || bytesOf[i.type] <= 4 || isCounter(program, definitions, i.a);
  if (i.op !== 'binary') return false;
  if (i.fn === 'add' || i.fn === 'sub') return true;
  return (i.fn === 'mul' || i.fn === 'shl') && moved.length === 1 && (isFixed(i.b) || (i.fn === 'mul' && isFixed(i.a)));
}

/** A variable, or a copy of one. */
function isCounter(program: Program, definitions: Definitions, register: Register): boolean {
  if (program.registers[register].role === 'variable') return true;
  const [only] = definitions.get(register) ?? [];
  return (
    only?.instruction.op === 'unary' &&
    only.instruction.fn === 'mov' &&
    isCounter(program, definitions, only.instruction.a)
  );
}

/** `counter = counter + constant`, through copies. */
function isStep({ program, definitions }: Work, i: Instruction, counter: Register): boolean {
  let at: Instruction | undefined = i;
  for (let depth = 0; at !== undefined && depth < 100; depth++) {
    const next: Register | undefined =
      at.op === 'unary' && at.fn === 'mov'
        ? at.a
        : at.op === 'binary' && (at.fn === 'add' || at.fn === 'sub') && program.registers[at.b].role === 'constant'
          ? at.a
          : undefined;
    if (next === undefined) return false;
    if (next === counter) return true;
    at = definitions.get(next)?.[0].instruction;
  }
  return false;
}

const isConstant = ({ program }: Work, i: Instruction): boolean =>
  i.op === 'unary' && i.fn === 'mov' && program.registers[i.a].role === 'constant';

function copiesOf({ program }: Work, { header }: Loop): number | undefined {
  const end = program.blocks[header].terminator;
  return end.kind === 'branch' ? program.branches[end.branch].copies : undefined;
}

/** A loop from a constant to a constant, which the compiler may have written out as a whole. */
function endsFixed({ program, definitions }: Work, { header }: Loop, counter: Register): boolean {
  const end = program.blocks[header].terminator;
  const test = end.kind === 'branch' ? definitions.get(end.condition)?.[0].instruction : undefined;
  if (test?.op !== 'compare') return false;
  const isFixed = (register: Register) => program.registers[register].role === 'constant';
  const tested = isFixed(test.b) ? test.a : isFixed(test.a) ? test.b : undefined;
  return tested !== undefined && (tested === counter || isCounterOf(definitions, tested, counter));
}

function isCounterOf(definitions: Definitions, register: Register, counter: Register): boolean {
  const only = definitions.get(register)?.[0]?.instruction;
  return only?.op === 'unary' && only.fn === 'mov' && only.a === counter;
}
