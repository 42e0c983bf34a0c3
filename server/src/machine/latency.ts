/**
 * How long a warp takes through a basic block when nothing else is in its way: the longest chain of dependent instructions,
 * as a scheduler that may start everything early would leave it, and how many memory accesses wait for each other in it.
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { readsInto, writesInto } from '../program/operands';
import type { AccessSite, Instruction, MemorySpace, Program, Register } from '../program/program';

/**
 * What passes of a loop may do at the same time. 'serial': outside of loops, and loops with a barrier or with addresses that
 * they load. 'stores': loads that may not pass a store of the pass before. 'free': nothing holds the next pass back.
 */
export type Overlap = 'serial' | 'stores' | 'free';

export interface BlockLatency {
  readonly overlap: Overlap;
  /** Cycles with every memory access answered at once. */
  readonly arithmetic: number;
  /** Global and shared accesses that wait for one another. */
  readonly globalDepth: number;
  readonly sharedDepth: number;
}

/**
 * Cycles until a result may be used: 4 to 6 for plain arithmetic since 7.0 (microbenchmarks of Volta to Hopper agree within
 * a few), more for what is made of several instructions.
 */
const CYCLES = {
  plain: 5,
  convert: 10,
  double: 10,
  special: 20,
  lane: 25,
  barrier: 30,
  tensor: 33,
  divide: 90,
} as const;

const severalInstructions = new Set(['div', 'rem', 'pow', 'fmod', 'atan2', 'hypot']);
const plainUnary = new Set('mov neg bitnot lognot abs bitcast isnan isinf floor ceil rint trunc round'.split(' '));

function cyclesOf(i: Instruction): number {
  switch (i.op) {
    case 'unary':
      return plainUnary.has(i.fn) ? CYCLES.plain : CYCLES.special;
    case 'binary':
      return severalInstructions.has(i.fn) ? CYCLES.divide : i.type === 'f64' ? CYCLES.double : CYCLES.plain;
    case 'fma':
      return i.type === 'f64' ? CYCLES.double : CYCLES.plain;
    case 'convert':
    case 'lane':
      return CYCLES[i.op];
    case 'work':
      return i.unit === 'tensor' || i.unit === 'special' ? CYCLES[i.unit] : CYCLES.plain;
    case 'unknown':
      return 0;
    default:
      return CYCLES.plain;
  }
}

/** Whether an instruction is several of the machine: a division, a remainder. */
export const isDivision = (i: Instruction): boolean => i.op === 'binary' && severalInstructions.has(i.fn);

/** Launches of one kernel share its program, and mostly the spaces that its accesses go to. */
const knownLatencies = new WeakMap<
  Program['blocks'],
  { readonly spaces: string; readonly latencies: readonly BlockLatency[] }
>();

/**
 * By block of the program; unreachable ones take nothing.
 * @param spaceOf the space an access site went to
 */
export function blockLatencies(
  program: Program,
  spaceOf: (access: number) => MemorySpace | undefined,
): readonly BlockLatency[] {
  const spaces = program.accesses.map((_, access) => spaceOf(access)).join();
  const known = knownLatencies.get(program.blocks);
  if (known?.spaces === spaces) return known.latencies;
  const latencies = computeLatencies(program, spaceOf);
  knownLatencies.set(program.blocks, { spaces, latencies });
  return latencies;
}

function computeLatencies(
  program: Program,
  spaceOf: (access: number) => MemorySpace | undefined,
): readonly BlockLatency[] {
  const flow = controlFlow(program);
  const overlaps = loopOverlaps(program, flow);
  const chains = new Chains(program.registers.length);
  return program.blocks.map(({ instructions }, block) => {
    const { arithmetic, global, shared } = chains.of(instructions, spaceOf);
    const loop = flow.loopOf[block];
    return {
      overlap: loop < 0 ? 'serial' : overlaps[loop],
      arithmetic,
      globalDepth: (global - arithmetic) / FAR,
      sharedDepth: (shared - arithmetic) / FAR,
    };
  });
}

/** So far away that the chain with the most such accesses is the longest. */
const FAR = 1000;

/** Cycles of the longest chain of a block with accesses answered at once, and with those of one space far away. */
interface ChainLengths {
  readonly arithmetic: number;
  readonly global: number;
  readonly shared: number;
}

/** By register of a program: when its value is ready, three numbers each; kept for one block after the other. */
class Chains {
  private readonly ready: Float64Array;
  private readonly block: Int32Array;
  private current = 0;
  private readonly operands: Register[] = [];

  constructor(registers: number) {
    this.ready = new Float64Array(3 * registers);
    this.block = new Int32Array(registers);
  }

  /** Nothing passes a barrier. */
  of(instructions: readonly Instruction[], spaceOf: (access: number) => MemorySpace | undefined): ChainLengths {
    const { ready, block, operands } = this;
    const current = ++this.current;
    const floor = [0, 0, 0];
    const end = [0, 0, 0];
    const start = [0, 0, 0];
    for (const i of instructions) {
      for (let k = 0; k < 3; k++) start[k] = floor[k];
      const reads = readsInto(i, operands);
      for (let n = 0; n < reads; n++) {
        const r = operands[n];
        if (block[r] === current) for (let k = 0; k < 3; k++) start[k] = Math.max(start[k], ready[3 * r + k]);
      }
      if (i.op === 'barrier') {
        for (let k = 0; k < 3; k++) floor[k] = end[k] = Math.max(end[k], start[k]) + CYCLES.barrier;
        continue;
      }
      const cycles = cyclesOf(i);
      for (let k = 0; k < 3; k++) start[k] += cycles;
      const writes = writesInto(i, operands);
      if (writes > 0 && (i.op === 'load' || i.op === 'matrix' || i.op === 'atomic')) {
        const space = spaceOf(i.access);
        if (space === 'global') start[1] += FAR;
        else if (space === 'shared') start[2] += FAR;
      }
      for (let k = 0; k < 3; k++) end[k] = Math.max(end[k], start[k]);
      for (let n = 0; n < writes; n++) {
        const r = operands[n];
        block[r] = current;
        for (let k = 0; k < 3; k++) ready[3 * r + k] = start[k];
      }
    }
    return { arithmetic: end[0], global: end[1], shared: end[2] };
  }
}

function loopOverlaps(program: Program, flow: ControlFlow): Overlap[] {
  const loadedIn = new Int32Array(program.registers.length).fill(-1);
  return flow.loops.map((loop) => {
    const all = [...loop.blocks].sort((a, b) => a - b).flatMap((block) => program.blocks[block].instructions);
    if (all.some(({ op }) => op === 'barrier') || followsPointers(all, loadedIn, loop.index)) return 'serial';
    const stored = new Set<AccessSite['space']>();
    for (const i of all) if (i.op === 'store' || i.op === 'atomic') stored.add(program.accesses[i.access].space);
    const isHeld = all.some(
      (i) => i.op === 'load' && !program.accesses[i.access].readOnly && stored.has(program.accesses[i.access].space),
    );
    return isHeld ? 'stores' : 'free';
  });
}

/**
 * An address in the loop comes from a load in it: the next pass has to wait.
 * @param loadedIn by register; what other loops have left there counts for nothing
 */
function followsPointers(instructions: readonly Instruction[], loadedIn: Int32Array, loop: number): boolean {
  const operands: Register[] = [];
  const isMade = (i: Instruction): boolean => {
    if (i.op === 'load') return true;
    const reads = readsInto(i, operands);
    for (let k = 0; k < reads; k++) if (loadedIn[operands[k]] === loop) return true;
    return false;
  };
  // twice: what one pass makes the next one reads
  for (let pass = 0; pass < 2; pass++) {
    for (const i of instructions) {
      if (!isMade(i)) continue;
      const writes = writesInto(i, operands);
      for (let k = 0; k < writes; k++) loadedIn[operands[k]] = loop;
    }
  }
  return instructions.some((i) => i.op === 'load' && loadedIn[i.address] === loop);
}
