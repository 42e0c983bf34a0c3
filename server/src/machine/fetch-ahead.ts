/**
 * Loads from shared memory behind a branch are made with those before it where together they fill an aligned 8 or 16 bytes:
 * in a loop over four outputs with a `break` between them, the thirteen taps of the first and one new tap of each of the others
 * are four LDS.128 (H200: convolution_halo.cu:111); and so are the three of a rest behind a loop in fours (H200: chol_blocked.cu:67),
 * and the key and the value of a record whose value only some lanes want (machine code of 45 small kernels: whatever is computed, loaded, stored to global
 * memory or shuffled between them, behind several branches too, not behind a store to shared memory or a fence; H200: sort_networks.cu:13).
 * Shared memory may be read without need, global memory is not. So are loads in front of a branch and behind where its sides meet, however long those are
 * (machine code of 90 kernels: arms of 1 to 24 products, loads and stores to global memory, shuffles, atomics on global memory, sides that branch again;
 * not past a loop, a division or `__syncwarp`, nor where the first load is in one of the arms).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { bytesOf, type Instruction, type LoadInstruction, type Program } from '../program/program';
import { type Congruences, congruences } from './alignment';
import { isFenceToAssembler } from './memory-overlap';
import { hasSlowPath } from './pure';

interface Window {
  readonly width: number;
  /** Of its parts, which are of one size. */
  readonly size: number;
  /** Parts that have to be loaded. */
  readonly fewest: number;
}

/** Three words of four are enough (rest of a loop in fours, machine code of 14 loops: `LDS.128` of which three words are used). */
const windows: readonly Window[] = [
  { width: 16, size: 4, fewest: 3 },
  { width: 16, size: 8, fewest: 2 },
  { width: 8, size: 4, fewest: 2 },
];

/** A window behind an address. */
interface PlacedWindow extends Window {
  readonly start: number;
}

/** Blocks looked back through (H200: an insertion into twenty sorted numbers, of some forty blocks, between one word and the next). */
const FARTHEST = 96;

interface Place {
  readonly block: number;
  readonly index: number;
  readonly load: LoadInstruction;
}

export function fetchAhead(program: Program): Program {
  const flow = controlFlow(program);
  const isShared = addressesOfSeveralBlocks(program, flow);
  let known: Congruences | undefined;
  /** Copied where they change. */
  let blocks: (readonly Instruction[])[] | undefined;
  let changes = false;
  for (const block of flow.order) {
    if (wayBefore(program, flow, block) === undefined) continue;
    for (const instruction of program.blocks[block].instructions) {
      if (instruction.op !== 'load' || isShared[instruction.address] === 0) continue;
      if (!isMovable(program, instruction)) continue;
      known ??= congruences(program);
      const placed = windowsOf(known, instruction);
      if (placed.length === 0) continue;
      blocks ??= program.blocks.map((b) => b.instructions);
      const first = firstOfWindows(program, flow, blocks, block, instruction, placed);
      if (!first) continue;
      changes = true;
      blocks[block] = blocks[block].toSpliced(blocks[block].indexOf(instruction), 1);
      const at = blocks[first.block].indexOf(first.load) + 1;
      blocks[first.block] = blocks[first.block].toSpliced(at, 0, instruction);
    }
  }
  if (!blocks || !changes) return program;
  const moved = blocks;
  return { ...program, blocks: program.blocks.map((b, i) => ({ ...b, instructions: moved[i] })) };
}

/** By register: 1 where loads of several blocks have it as their address. No other load finds one to be made with. */
function addressesOfSeveralBlocks(program: Program, flow: ControlFlow): Uint8Array {
  const isSeveral = new Uint8Array(program.registers.length);
  const firstBlock = new Int32Array(program.registers.length).fill(-1);
  for (const block of flow.order)
    for (const i of program.blocks[block].instructions) {
      if (i.op !== 'load') continue;
      if (firstBlock[i.address] < 0) firstBlock[i.address] = block;
      else if (firstBlock[i.address] !== block) isSeveral[i.address] = 1;
    }
  return isSeveral;
}

/** One or two words of shared memory at a known offset behind a register that does not change. */
function isMovable(program: Program, { type, dst, address, access }: LoadInstruction): boolean {
  const { space, isVolatile } = program.accesses[access];
  return (
    space === 'shared' &&
    isVolatile !== true &&
    dst.length === 1 &&
    bytesOf[type] >= 4 &&
    program.registers[dst[0]].role === 'temporary' &&
    program.registers[address].role !== 'variable'
  );
}

/** The windows that a load is part of, as far as their alignment is known. */
const windowsOf = (known: Congruences, { address, offset, type }: LoadInstruction): PlacedWindow[] =>
  windows
    .filter(({ width, size }) => size === bytesOf[type] && known.modulus[address] >= width)
    .map((w) => ({ ...w, start: offset - modulo(offset + known.remainder[address], w.width) }));

const modulo = (a: number, n: number): number => ((a % n) + n) % n;

function firstOfWindows(
  program: Program,
  flow: ControlFlow,
  blocks: readonly (readonly Instruction[])[],
  from: number,
  load: LoadInstruction,
  placed: readonly PlacedWindow[],
): Place | undefined {
  for (const window of placed) {
    const first = firstOfWindow(program, flow, blocks, from, load, window);
    if (first) return first;
  }
  return undefined;
}

/**
 * The block from which all ways lead to a block: the one before it, or the branch whose sides meet there, where no side has a loop, a division
 * with a slow path, or what keeps loads of shared memory in their order.
 */
function wayBefore(program: Program, flow: ControlFlow, block: number): number | undefined {
  const before = flow.predecessors[block];
  if (before.length === 1) return isLoopTest(flow, before[0]) ? undefined : before[0];
  if (before.length === 0 || flow.loopAtHeader[block] >= 0) return undefined;
  const branch = flow.dominator[block];
  const between = new Set(before);
  between.delete(branch);
  for (const side of between) {
    if (between.size > FARTHEST || flow.loopOf[side] !== flow.loopOf[block]) return undefined;
    if (program.blocks[side].instructions.some((i) => endsWindow(program, i) || hasSlowPath(i))) return undefined;
    for (const further of flow.predecessors[side]) if (further !== branch) between.add(further);
  }
  return flow.loopOf[branch] === flow.loopOf[block] ? branch : undefined;
}

/** Where a `while` or `for` asks whether it ends: the compiler asks in front of the loop and behind each pass, and two ways lead to what follows. */
function isLoopTest(flow: ControlFlow, block: number): boolean {
  return flow.loops[flow.loopAtHeader[block]]?.exitBranches.includes(block) === true;
}

/**
 * The first load of the window in a block from which all ways lead to the given one, nothing being stored to shared
 * memory on them; and only if the window is filled by loads on that way or behind it.
 */
function firstOfWindow(
  program: Program,
  flow: ControlFlow,
  blocks: readonly (readonly Instruction[])[],
  from: number,
  load: LoadInstruction,
  window: PlacedWindow,
): Place | undefined {
  let found: Place | undefined;
  let block = from;
  let end = blocks[from].indexOf(load);
  for (let step = 0; step < FARTHEST; step++) {
    for (let index = end - 1; index >= 0; index--) {
      const instruction = blocks[block][index];
      if (endsWindow(program, instruction)) return found;
      if (
        instruction.op === 'load' &&
        isSame(load, instruction, window) &&
        block !== from &&
        isFilled(program, flow, from, load, window, instruction.offset)
      )
        found = { block, index, load: instruction };
    }
    const before = wayBefore(program, flow, block);
    if (before === undefined || before === from) return found;
    block = before;
    end = blocks[block].length;
  }
  return found;
}

const isSame = (a: LoadInstruction, b: LoadInstruction, { start, width, size }: PlacedWindow): boolean =>
  b.address === a.address &&
  bytesOf[b.type] === size &&
  b.dst.length === 1 &&
  b.offset >= start &&
  b.offset < start + width;

function endsWindow(program: Program, i: Instruction): boolean {
  if (i.op === 'barrier' || i.op === 'asyncCopy' || i.op === 'matrix' || isFenceToAssembler(i)) return true;
  return (i.op === 'store' || i.op === 'atomic') && program.accesses[i.access].space !== 'global';
}

/** Whether every word of the window is loaded before, in, or behind a block along the one way through it. */
function isFilled(
  program: Program,
  flow: ControlFlow,
  from: number,
  load: LoadInstruction,
  window: PlacedWindow,
  have: number,
): boolean {
  const words = new Set([have]);
  const collect = (block: number) => {
    for (const i of program.blocks[block].instructions)
      if (i.op === 'load' && isSame(load, i, window)) words.add(i.offset);
  };
  let block = from;
  for (let step = 0; step < FARTHEST; step++) {
    collect(block);
    const next = flow.successors[block].filter((to) => flow.predecessors[to].length === 1 && to !== from);
    const inside = next.find((to) =>
      program.blocks[to].instructions.some((i) => i.op === 'load' && isSame(load, i, window)),
    );
    if (inside === undefined) break;
    block = inside;
  }
  let back = wayBefore(program, flow, from);
  for (let step = 0; step < FARTHEST && back !== undefined; step++) {
    collect(back);
    back = wayBefore(program, flow, back);
  }
  return words.size >= window.fewest;
}
