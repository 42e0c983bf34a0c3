/**
 * Neighbouring accesses of one block become one wider access where their alignment is provable: four loads of s[k] … s[k+3]
 * are one of 16 bytes. It goes by bytes, not by type: a struct of a float and an int is read 8 bytes at once
 * (H200: reduce_variants.cu:111). Evidence: machine code of some forty small kernels, nvcc 13.0, sm_90.
 *
 * - Loads: three of the four words of an aligned 16 bytes are enough (s[1], s[2], s[3] → LDS.128, the fourth is read too);
 *   of two words both are needed, and they must be the first or the second half (s[1], s[2] → two loads).
 * - Stores: only exact 16 or 8 bytes; of elements of two bytes in shared memory 8 or 4 (30 kernels: `short`, halves, members; never bytes, nor loads; H200: hevc_intra_satd_sao.cu:69).
 * - Loads of two bytes in shared memory that are read to make words only (word-halves.ts): 8 or 4.
 * - Else elements of one or two bytes in shared memory are merged only where the array is declared with an alignment of 4 or more,
 *   or is dynamic (`__shared__ unsigned char s[1024]`: byte loads; with __align__(4): LDS.64), and not across inline assembly, as __ldg is
 *   (39 kernels: `__ldg(p + s[k])` byte by byte, `p[s[k]]` LDS.128; floats in both).
 * - Outside of shared memory: vector-windows.ts. Half-precision elements are merged only where their record is copied: read one
 *   by one, each goes through inline assembly.
 * - Loads move up to the first of them, stores down to the last. A shared store between two shared loads keeps them apart, even
 *   one to another array, and so does a shared load between stores; accesses of other spaces do not.
 * - What the type (float4 &v: v.x, v.y …), __align__ of the array or dynamic shared memory promises to be aligned is merged by NVVM already, which knows that
 *   different arrays and different members do not overlap: `a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w` of float4s in memory
 *   is two loads and a store (PTX of nvcc 13.0: sums of float4 in a reduction, through pointers without __restrict__ too).
 * - A function of the library that branches keeps apart what stands around it; one whose branches are short no shared loads (math.ts), and so does a branch of
 *   the program that becomes a selection only in the assembler (if-conversion.ts; 110 kernels);
 *   a division or root of full precision only what the assembler would merge, in shared memory (SASS of nine loops, H200: tsne_forces.cu:165).
 * - A merged load bears the line of the first of its parts (H200: scan_blocks.cu:57, fft_stages.cu:26), or of the one that NVVM writes first
 *   (issue-order.ts); a merged store that of the last (scan_blocks.cu:34).
 */
import { controlFlow } from '../program/control-flow';
import {
  bytesOf,
  type Instruction,
  type LibraryBranches,
  type Program,
  type Register,
  type RegisterInfo,
} from '../program/program';
import { type Congruences, congruences } from './alignment';
import { type StepOf, stepsOfChoosingLoops } from './choosing-loops';
import { type PivotOf, pivots } from './induction-alignment';
import { writtenFirst } from './issue-order';
import { changesAtFence, isFence, mayTouch } from './memory-overlap';
import { type Base, copyWindows, loadWindows, storeWindows, type Window } from './vector-windows';
import { type Access, type Candidate, replaceByOne } from './wide-access';
import { halvesOfWords } from './word-halves';

const WIDEST = 16;

export interface MergeWork {
  readonly program: Program;
  readonly registers: RegisterInfo[];
  readonly known: Congruences;
  /** Loaded by the half and only read as words (word-halves.ts). */
  readonly halves?: ReadonlySet<Register>;
  /** Where registers of loops point; only where widths are not read off machine code. */
  readonly pivotOf?: PivotOf;
  /** Where addresses are computed anew in every pass; likewise. */
  readonly stepOf?: StepOf;
}

export function mergeNeighbours(program: Program): Program {
  if (!program.blocks.some((block) => hasNeighbours(block.instructions))) return program;
  let halves: ReadonlySet<Register> | undefined;
  const work: MergeWork = {
    program,
    registers: [...program.registers],
    // asked for where several accesses may become one, which is seldom
    get known() {
      return congruences(program);
    },
    get halves() {
      halves ??= halvesOfWords(program);
      return halves;
    },
    pivotOf: pivots(program),
    stepOf: stepsOfChoosingLoops(program),
  };
  let changes = false;
  const blocks = program.blocks.map((block, index) => {
    const instructions = mergeBlock(work, index, block.instructions);
    if (instructions === block.instructions) return block;
    changes = true;
    return { ...block, instructions };
  });
  return changes ? { ...program, blocks, registers: work.registers } : program;
}

/** Two accesses behind one register: without them nothing merges. */
function hasNeighbours(instructions: readonly Instruction[]): boolean {
  const addresses = new Set<Register>();
  let accesses = 0;
  for (const i of instructions) {
    if (i.op !== 'load' && i.op !== 'store') continue;
    addresses.add(i.address);
    if (++accesses > addresses.size) return true;
  }
  return false;
}

const branchesOf = (i: Instruction) =>
  i.op === 'unary' || i.op === 'binary' || i.op === 'select' ? i.branches : undefined;

/** Short branches are none any more where the assembler looks for shared loads, but stores stay apart. */
const isApartAt = (branches: LibraryBranches, program: Program, first: Candidate): boolean =>
  branches === 'long' || first.instruction.op === 'store' || spaceOf(program, first) !== 'shared';

const spaceOf = (program: Program, { instruction }: Candidate) => program.accesses[instruction.access].space;

const countOf = (i: Access): number => (i.op === 'load' ? i.dst.length : i.values.length);

export const accessBytes = (i: Access): number => bytesOf[i.type] * countOf(i);

function isFenced(program: Program, { instruction }: Candidate): boolean {
  const site = program.accesses[instruction.access];
  return site.space !== 'shared' && !site.readOnly && changesAtFence(program, site);
}

function mergeBlock(work: MergeWork, block: number, instructions: readonly Instruction[]): readonly Instruction[] {
  const { program } = work;
  if (!hasNeighbours(instructions)) return instructions;
  const groups = new Map<number, Candidate[]>();
  /** Offsets in each of them, and how many of them are of shared memory, by operation. */
  const offsets = new Map<number, Set<number>>();
  const open = { load: 0, store: 0 };
  const done: Candidate[][] = [];
  const end = (key: number, group: Candidate[]): void => {
    done.push(group);
    groups.delete(key);
    if (spaceOf(program, group[0]) === 'shared') open[group[0].instruction.op]--;
  };
  const close = (isEnded: (group: readonly Candidate[]) => boolean): void => {
    for (const [key, group] of groups) if (isEnded(group)) end(key, group);
  };
  instructions.forEach((instruction, index) => {
    if (instruction.op === 'barrier') close(() => true);
    // NVVM, which merges outside of shared memory, moves nothing across them; ptxas does
    else if (isFence(instruction)) close(([first]) => isFenced(program, first));
    const branches = branchesOf(instruction);
    if (branches && branches !== 'assembled') close(([first]) => isApartAt(branches, program, first));
    if (instruction.op !== 'load' && instruction.op !== 'store') return;
    const site = program.accesses[instruction.access];
    // an access of the other direction to shared memory ends what is open there
    if (site.space === 'shared' && open[instruction.op === 'load' ? 'store' : 'load'] > 0)
      close(
        ([first]) =>
          first.instruction.op !== instruction.op &&
          program.accesses[first.instruction.access].space === 'shared' &&
          promisedAlignment(program, first.instruction) < 8,
      );
    if (site.isAssembly) {
      close(
        ([first]) =>
          bytesOf[first.instruction.type] < 4 && program.accesses[first.instruction.access].space === 'shared',
      );
      return;
    }
    if (site.isVolatile || instruction.aligned?.isAlone) return;
    if (program.registers[instruction.address].role === 'variable') return;
    const key = instruction.address * 4 + (instruction.op === 'load' ? 2 : 0) + (site.readOnly ? 1 : 0);
    const candidate = { index, instruction, bytes: accessBytes(instruction) };
    // the same place again: memory may have changed meanwhile
    const list = groups.get(key);
    if (list && offsets.get(key)?.has(instruction.offset) !== true) {
      list.push(candidate);
      offsets.get(key)?.add(instruction.offset);
      return;
    }
    if (list) end(key, list);
    groups.set(key, [candidate]);
    offsets.set(key, new Set([instruction.offset]));
    if (site.space === 'shared') open[instruction.op]++;
  });
  done.push(...groups.values());
  const replaced = new Map<number, readonly Instruction[]>();
  for (const group of done) {
    if (group.length < 2) continue;
    mergeGroup(work, instructions, group, provenBase(work, block, group[0].instruction), replaced);
  }
  if (replaced.size === 0) return instructions;
  return instructions.flatMap((instruction, index) => replaced.get(index) ?? [instruction]);
}

/** What is known of the register behind addresses with what the accesses themselves promise: register mod modulus is remainder. */
function promisedBase(proven: Base, group: readonly Candidate[]): Base {
  let best = proven;
  for (const { instruction } of group) {
    const { aligned, offset } = instruction;
    if (!aligned || aligned.modulus <= best.modulus) continue;
    best = { modulus: aligned.modulus, remainder: modulo(aligned.remainder - offset, aligned.modulus) };
  }
  return best;
}

/** What follows from the values an address is made of; in a loop what ptxas sees of it, or NVVM by the declaration of the array. */
function provenBase(work: MergeWork, block: number, { address, access }: Access): Base {
  const { program, pivotOf, stepOf } = work;
  const base = baseOf(work, address, access);
  const { space, object } = program.accesses[access];
  const step = space === 'shared' ? stepOf?.(block, address) : undefined;
  if (step !== undefined && step < base.modulus) return { modulus: step, remainder: modulo(base.remainder, step) };
  const pivot = space === 'shared' ? pivotOf?.(block, address) : undefined;
  if (pivot === undefined) return base;
  const declared = object === undefined ? undefined : program.objects[object];
  const modulus = Math.min(base.modulus, declared?.isDynamic ? WIDEST : (declared?.alignment ?? 1));
  const pointed = modulo(base.remainder + pivot, base.modulus);
  const divisor = pointed === 0 ? base.modulus : pointed & -pointed;
  return divisor > modulus
    ? { modulus: divisor, remainder: modulo(-pivot, divisor) }
    : { modulus, remainder: modulo(base.remainder, modulus) };
}

/**
 * Of an address that varies ptxas knows a power of two that divides it, no remainder: behind `char p[33]` elements `res[4 * t]`, `res[4 * t + 1]` … lie at 36 and on,
 * and are read one by one, behind `int p[2]` eight bytes at a time; at indices that are constant it knows the very place (machine code of 80 kernels, nvcc 13.0; H200: hevc_intra_satd_sao.cu:114).
 */
function baseOf({ program, known }: MergeWork, address: Register, access: number): Base {
  const [modulus, remainder] = [known.modulus[address], known.remainder[address]];
  const { object } = program.accesses[access];
  const array = object === undefined ? undefined : program.objects[object];
  if (array?.space !== 'shared' || array.isDynamic || array.register === undefined) return { modulus, remainder };
  const place = known.remainder[array.register];
  if (place % WIDEST === 0 || modulus >= known.modulus[array.register] || remainder === 0)
    return { modulus, remainder };
  return { modulus: remainder & -remainder, remainder: 0 };
}

export const modulo = (a: number, n: number): number => ((a % n) + n) % n;

/** Greedy from each aligned start: 16 bytes, then 8, then less for small elements. */
function mergeGroup(
  work: MergeWork,
  instructions: readonly Instruction[],
  group: readonly Candidate[],
  proven: Base,
  replaced: Map<number, readonly Instruction[]>,
): void {
  const byOffset = new Map<number, Candidate>();
  for (const c of group) if (!byOffset.has(c.instruction.offset)) byOffset.set(c.instruction.offset, c);
  if (work.program.accesses[group[0].instruction.access].space !== 'shared') {
    mergeVectors(work, instructions, [...byOffset.values()], proven, replaced);
    return;
  }
  const base = promisedBase(proven, group);
  const small = mergesSmall(work.program, group);
  const isHalfOfWord = ({ instruction: i, bytes }: Candidate): boolean =>
    i.op === 'load' && bytes === 2 && work.halves?.has(i.dst[0]) === true;
  for (const width of [WIDEST, 8, 4, 2]) {
    if (width > base.modulus) continue;
    const starts = new Set([...byOffset.keys()].map((offset) => offset - modulo(offset + base.remainder, width)));
    for (const start of [...starts].sort((a, b) => a - b)) {
      const run = within(byOffset, start, width).filter((c) => !replaced.has(c.index));
      const isSmall = small || (width <= 8 && (run.every(isHalfWordStore) || run.every(isHalfOfWord)));
      if (!isMergeable(run, width, isSmall) || !mayMove(work, instructions, run, width)) continue;
      replaceByOne(work.registers, run, start, width, replaced, bearerOf(work, instructions, run, width));
    }
  }
}

/** The site that a load bears which ptxas makes of several, unless the first of them. */
export function bearerOf(
  { program }: Pick<MergeWork, 'program'>,
  instructions: readonly Instruction[],
  run: readonly Candidate[],
  width: number,
): number | undefined {
  if (controlFlow(program).order.length === 1) return undefined;
  if (run.some(({ instruction }) => promisedAlignment(program, instruction) >= width)) return undefined;
  const loads = run.toSorted((a, b) => a.index - b.index).flatMap(({ instruction: i }) => (i.op === 'load' ? [i] : []));
  if (loads.length === 0) return undefined;
  return loads.reduce((first, load) => writtenFirst(program, instructions, first, load)).access;
}

/**
 * Accesses of one size outside of shared memory, by the windows that NVVM makes. What a neighbour of another size is aligned to tells NVVM
 * nothing (`struct { int d; char q[8]; }`: d is read by itself, and q in a loop byte by byte); what it tells the assembler: merge-beside-wider.ts.
 */
function mergeVectors(
  work: MergeWork,
  instructions: readonly Instruction[],
  group: readonly Candidate[],
  proven: Base,
  replaced: Map<number, readonly Instruction[]>,
): void {
  const sizes = new Set(group.map((c) => c.bytes));
  for (const size of sizes) {
    const all = group.filter((c) => c.bytes === size).sort((a, b) => a.instruction.offset - b.instruction.offset);
    // Members of several sizes are copied one by one (a float, two shorts, a double in 16 bytes: three loads).
    const isCopied = ({ instruction: { access, aligned } }: Candidate) =>
      sizes.size === 1 && work.program.accesses[access].copiedBytes !== undefined && aligned?.isApart !== true;
    const copied = all.filter((c) => isCopied(c) && c.instruction.op === 'load');
    const others = all.filter((c) => !copied.includes(c) && !isConverted(work.program, c.instruction));
    for (const set of [copied, others]) {
      if (set.length < 2) continue;
      const base = promisedBase(proven, set);
      for (const { start, width } of windowsOf(set, size, base, set === copied)) {
        const run = set.filter((c) => c.instruction.offset >= start && c.instruction.offset + size <= start + width);
        const isWider = run.length > 1 || (set === copied && width > size);
        if (isWider && mayMove(work, instructions, run, width))
          replaceByOne(work.registers, run, start, width, replaced);
      }
    }
  }
}

function windowsOf(set: readonly Candidate[], size: number, base: Base, isCopy: boolean): Window[] {
  const offsets = set.map((c) => c.instruction.offset);
  const pieces = set[0].instruction.aligned?.modulus ?? size;
  if (isCopy && pieces > size) return copyWindows(offsets, pieces, base);
  return set[0].instruction.op === 'load' ? loadWindows(offsets, size, base) : storeWindows(offsets, size, base);
}

const isHalfWordStore = ({ instruction: { op, type } }: Candidate): boolean => op === 'store' && bytesOf[type] === 2;

/** Whether elements of one or two bytes of shared memory are merged too. */
function mergesSmall(program: Program, group: readonly Candidate[]): boolean {
  const { object } = program.accesses[group[0].instruction.access];
  const known = object === undefined ? undefined : program.objects[object];
  return known !== undefined && (known.isDynamic || known.alignment >= 4);
}

/** Half-precision elements read one by one: each goes through inline assembly (__half2float), which keeps their order. */
function isConverted(program: Program, { type, access }: Access): boolean {
  return (type === 'f16' || type === 'bf16') && program.accesses[access].copiedBytes === undefined;
}

/** The accesses that lie in [start, start + width), by offset, none overlapping another. */
export function within(byOffset: ReadonlyMap<number, Candidate>, start: number, width: number): Candidate[] {
  const run: Candidate[] = [];
  for (let at = start; at < start + width; ) {
    const next = byOffset.get(at);
    if (next && at + next.bytes <= start + width) {
      run.push(next);
      at += next.bytes;
    } else at++;
  }
  return run;
}

function isMergeable(run: readonly Candidate[], width: number, small: boolean): boolean {
  if (run.length < 2) return false;
  const covered = run.reduce((n, c) => n + c.bytes, 0);
  const smallest = Math.min(...run.map((c) => bytesOf[c.instruction.type]));
  if (smallest < 4) return small && covered === width;
  return covered === width || (run[0].instruction.op === 'load' && width === 16 && covered === 12);
}

/**
 * What the type of an access or the declaration of its array says of its alignment: bytes. Dynamic shared memory of any type is
 * `.extern .shared .align 16` to nvcc 13.0, so NVVM merges there too: of eleven small kernels with stores and loads of other places
 * between, ten with dynamic arrays or __align__(16) come out as v2 or v4 wherever the places are provably others, plain arrays never
 * (H200: radar_range_doppler.cu:86).
 */
function promisedAlignment(program: Program, i: Access): number {
  const { object } = program.accesses[i.access];
  const own = i.aligned?.modulus ?? 1;
  const array = object === undefined ? undefined : program.objects[object];
  if (array?.space !== 'shared') return own;
  return Math.max(own, array.isDynamic ? WIDEST : array.alignment);
}

/** Nothing between the first and the last of them may touch the same memory. */
export function mayMove(
  work: Pick<MergeWork, 'program'>,
  instructions: readonly Instruction[],
  run: readonly Candidate[],
  width: number,
): boolean {
  const { program } = work;
  const indices = run.map((c) => c.index);
  const members = new Set(indices);
  const isLoad = run[0].instruction.op === 'load';
  const site = program.accesses[run[0].instruction.access];
  if (isLoad && site.readOnly) return true;
  // NVVM merges what types promise to be aligned, and knows what overlaps; the rest is left to ptxas, which does not look
  const isTyped = run.every((c) => promisedAlignment(program, c.instruction) >= width);
  for (let k = Math.min(...indices) + 1; k < Math.max(...indices); k++) {
    if (members.has(k)) continue;
    const other = instructions[k];
    if (other.op === 'barrier' || other.op === 'asyncCopy') return false;
    if (!isTyped && site.space === 'shared' && branchesOf(other) === 'assembled') return false;
    if (other.op === 'atomic' && mayTouch(program, site, program.accesses[other.access])) return false;
    const crosses = other.op === 'store' || (other.op === 'load' && !isLoad);
    if (!crosses) continue;
    const otherSite = program.accesses[other.access];
    if (!isTyped && site.space === 'shared' && otherSite.space === 'shared') return false;
    // loads move up past it, stores down
    const passing = run.filter((c) => (isLoad ? c.index > k : c.index < k));
    const isApart = disjoint(other, passing) || (isTyped && areOtherMembers(other, passing));
    if (mayTouch(program, site, otherSite) && !isApart) return false;
  }
  return true;
}

/** Other members of the same kind of vector: .x of one never overlaps .y of another. */
function areOtherMembers(other: Access, run: readonly Candidate[]): boolean {
  const { aligned } = other;
  const bytes = bytesOf[other.type] * countOf(other);
  if (!aligned || aligned.isElement) return false;
  return run.every(({ instruction, bytes: size }) => {
    const own = instruction.aligned;
    if (own?.modulus !== aligned.modulus || own.isElement) return false;
    return aligned.remainder + bytes <= own.remainder || own.remainder + size <= aligned.remainder;
  });
}

/** Same base, other bytes. */
function disjoint(other: Access, run: readonly Candidate[]): boolean {
  if (run.some((c) => c.instruction.address !== other.address)) return false;
  const size = bytesOf[other.type] * countOf(other);
  return run.every(
    (c) => other.offset + size <= c.instruction.offset || other.offset >= c.instruction.offset + c.bytes,
  );
}
