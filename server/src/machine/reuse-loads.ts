/**
 * Loads that the compiler does not repeat: the same address read again without a store in between that might change it, a
 * value that was just stored, and read-only data (`const __restrict__`, __ldg, __constant__) across anything.
 * Evidence: NVVM's early CSE and GVN on kernels compiled with nvcc 13.0; fences (memory-overlap.ts) count as writes to all memory but
 * read-only data and what a `__restrict__` parameter points to (PTX: a[i] = n; __syncthreads(); b[i] = a[i] does not load), and
 * stores through a `__restrict__` parameter change nothing that is read through another pointer. A store of the value that is there already is dropped too: `Body b = p[i]; b.x += 1; p[i] = b` writes only
 * what changed (H200: nbody.cu:78 stores six of seven members).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type StoreInstruction,
} from '../program/program';
import { AvailableLoads, rangeOf, type Vector, valueKey } from './available-loads';
import { FixedVariables } from './fixed-variables';
import { isFence, isReadOnly } from './memory-overlap';
import { writtenBytes } from './merged-widths';
import { countReads } from './read-counts';

export function reuseLoads(program: Program): Program {
  if (!hasSeveralAccesses(program)) return program;
  const flow = controlFlow(program);
  const stable = stableRegisters(program);
  let reads: readonly number[] | undefined;
  const isRead = (register: Register): boolean => (reads ??= countReads(program))[register] > 0;
  if (!hasRepetitions(program, flow, stable)) return program;
  const blocks: Block[] = [...program.blocks];
  const tables = new Map<number, AvailableLoads>();
  const fixed = new FixedVariables(program, flow);
  const killers = program.blocks.map(({ instructions }) => instructions.filter(isKiller));
  let changes = false;
  for (const block of flow.order) {
    const { instructions, terminator } = program.blocks[block];
    const inherited = inheritedTable(program, flow, tables, killers, block);
    const isOther = inherited.isEmpty ? undefined : fixed.inArm(block);
    if (isOther) inherited.forget(isOther);
    const result = reuseInBlock(program, instructions, inherited, stable, isRead);
    tables.set(block, inherited);
    if (result === instructions) continue;
    blocks[block] = { instructions: result, terminator };
    changes = true;
  }
  return changes ? { ...program, blocks } : program;
}

/** One access alone repeats nothing. */
function hasSeveralAccesses({ blocks }: Program): boolean {
  let accesses = 0;
  for (const { instructions } of blocks)
    for (const { op } of instructions) if ((op === 'load' || op === 'store') && ++accesses > 1) return true;
  return false;
}

/**
 * Whether something is loaded that was loaded or stored at the same base before, or stored that was, whatever lies between: where there is nothing of
 * the kind, which is most of the time, nothing needs to be followed.
 */
function hasRepetitions(program: Program, flow: ControlFlow, stable: (r: Register) => boolean): boolean {
  /** By base and place: the first of the values that were there. */
  const seen = new Map<Register, Map<number, Register[]>>();
  /** Bases of vectors, whose elements may be loaded. */
  const vectors = new Set<Register>();
  for (const block of flow.order) {
    for (const i of program.blocks[block].instructions) {
      if ((i.op !== 'load' && i.op !== 'store') || !stable(i.address)) continue;
      const values = i.op === 'load' ? i.dst : i.values;
      if (values.length > 1) vectors.add(i.address);
      else if (i.op === 'load' && vectors.has(i.address)) return true;
      const key = valueKey(i.offset, i.type, values.length);
      let base = seen.get(i.address);
      if (base === undefined) seen.set(i.address, (base = new Map()));
      const known = base.get(key);
      if (known === undefined) base.set(key, [values[0]]);
      else if (i.op === 'load' || known.includes(values[0])) return true;
      else known.push(values[0]);
    }
  }
  return false;
}

/** Registers whose value cannot change between two reads that the first dominates. */
function stableRegisters(program: Program): (register: Register) => boolean {
  return (register) => program.registers[register].role !== 'variable';
}

/** What the dominator knows and nothing on the ways from it to the block can change. */
function inheritedTable(
  program: Program,
  flow: ControlFlow,
  tables: ReadonlyMap<number, AvailableLoads>,
  killers: readonly (readonly Instruction[])[],
  block: number,
): AvailableLoads {
  const dominator = flow.dominator[block];
  const from = dominator >= 0 ? tables.get(dominator) : undefined;
  if (!from || from.isEmpty) return new AvailableLoads(program);
  const inherited = from.fork();
  for (const between of blocksBetween(flow, dominator, block)) {
    for (const i of killers[between]) kill(program, inherited, i);
    if (inherited.isEmpty) break;
  }
  return inherited;
}

/** Blocks on ways from `dominator` (itself left out) to `block`; the block too, where a way leads through it. */
export function blocksBetween(flow: ControlFlow, dominator: number, block: number): Set<number> {
  const found = new Set<number>();
  const work = flow.predecessors[block].filter((p) => p !== dominator);
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    for (const p of flow.predecessors[next]) if (p !== dominator) work.push(p);
  }
  return found;
}

/** Instructions that may change memory. */
const isKiller = (i: Instruction): boolean =>
  i.op === 'store' ||
  i.op === 'atomic' ||
  i.op === 'asyncCopy' ||
  isFence(i) ||
  (i.op === 'matrix' && i.direction === 'store');

/** Forgets what an instruction may change. */
function kill(program: Program, table: AvailableLoads, i: Instruction): void {
  if (isFence(i)) table.fence();
  forgetStored(program, table, i);
}

/** Forgets what an instruction may write to. */
export function forgetStored(program: Program, table: AvailableLoads, i: Instruction): void {
  if (i.op === 'store') {
    const range = rangeOf(i.address, i.offset, i.type, i.values.length);
    table.store(program.accesses[i.access], range, writtenBytes(program, i));
  } else if (i.op === 'atomic') table.store(program.accesses[i.access]);
  else if (i.op === 'asyncCopy') table.store(program.accesses[i.storeAccess]);
  else if (i.op === 'matrix' && i.direction === 'store') table.store(program.accesses[i.access]);
}

/** The list itself where nothing is repeated. */
function reuseInBlock(
  program: Program,
  instructions: readonly Instruction[],
  table: AvailableLoads,
  stable: (r: Register) => boolean,
  isRead: (r: Register) => boolean,
): readonly Instruction[] {
  let out: Instruction[] | undefined;
  const pieces = new StoredPieces(program, instructions, table);
  for (let at = 0; at < instructions.length; at++) {
    const i = instructions[at];
    const known = i.op === 'load' ? knownValues(program, table, i, stable, isRead) : undefined;
    if (i.op === 'load' && known) {
      out ??= instructions.slice(0, at);
      for (let k = 0; k < known.length; k++)
        out.push({ op: 'unary', fn: 'mov', type: i.type, dst: i.dst[k], a: known[k] });
      continue;
    }
    if (i.op === 'store') {
      if (pieces.isThereAlready(i)) {
        out ??= instructions.slice(0, at);
        continue;
      }
      kill(program, table, i);
      const site = program.accesses[i.access];
      const forwards = stable(i.address) && i.values.every(stable) && !site.isVolatile && !site.isAssembly;
      if (forwards)
        table.add(site, false, rangeOf(i.address, i.offset, i.type, i.values.length), i.type, i.values, true);
    } else if (isKiller(i)) kill(program, table, i);
    out?.push(i);
  }
  return out ?? instructions;
}

/** What a load would read; it is known from here on if it is not yet. */
function knownValues(
  program: Program,
  table: AvailableLoads,
  i: LoadInstruction,
  stable: (r: Register) => boolean,
  isRead: (r: Register) => boolean,
): readonly Register[] | undefined {
  const site = program.accesses[i.access];
  if (site.isVolatile || site.isAssembly || !stable(i.address)) return undefined;
  const known = table.find(i.address, i.offset, i.type, i.dst.length);
  if (known) return known;
  // GVN follows loads of the same address, and stores of any part where it sees the distance: not that of `s[4 * t + 2]` (PTX of 20 kernels, nvcc 13.0)
  const isSeen = (element: number, { isStored, values }: Vector): boolean =>
    isStored ? element === 0 || site.isMember === true : element === 0 && isRead(values[0]);
  const element = i.dst.length === 1 ? table.findElement(i.address, i.offset, i.type, isSeen) : undefined;
  if (element !== undefined) return [element];
  table.add(site, isReadOnly(site, program), rangeOf(i.address, i.offset, i.type, i.dst.length), i.type, i.dst);
  return undefined;
}

/** The value was loaded from the same place, and nothing may have written there since. */
function isThereAlready(program: Program, table: AvailableLoads, i: StoreInstruction): boolean {
  if (program.accesses[i.access].isVolatile) return false;
  const known = table.find(i.address, i.offset, i.type, i.values.length);
  return known?.every((value, k) => value === i.values[k]) ?? false;
}

/**
 * A record whose type is aligned to 8 or 16 bytes is copied in such pieces: one of which a member has changed is written as a whole (PTX of nine kernels
 * that read a record, change some of it and write it back, nvcc 13.0).
 */
class StoredPieces {
  /** By piece: whether nothing of it has changed, as it was before its first member was written. */
  private readonly unchanged = new Map<string, boolean>();

  constructor(
    private readonly program: Program,
    private readonly instructions: readonly Instruction[],
    private readonly table: AvailableLoads,
  ) {}

  isThereAlready(store: StoreInstruction): boolean {
    const piece = this.pieceOf(store);
    if (piece === undefined) return isThereAlready(this.program, this.table, store);
    let isUnchanged = this.unchanged.get(piece);
    if (isUnchanged === undefined) {
      isUnchanged = this.instructions.every(
        (i) => i.op !== 'store' || this.pieceOf(i) !== piece || isThereAlready(this.program, this.table, i),
      );
      this.unchanged.set(piece, isUnchanged);
    }
    return isUnchanged;
  }

  private pieceOf({ access, address, offset, aligned, type, values }: StoreInstruction): string | undefined {
    if (aligned === undefined || aligned.isApart || this.program.accesses[access].copiedBytes === undefined)
      return undefined;
    if (aligned.modulus <= bytesOf[type] * values.length) return undefined;
    return `${access} ${address} ${offset - aligned.remainder}`;
  }
}
