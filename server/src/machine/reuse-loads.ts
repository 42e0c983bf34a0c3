/**
 * Loads that the compiler does not repeat: the same address read again without a store in between that might change it, a
 * value that was just stored, and read-only data (`const __restrict__`, __ldg, __constant__) across anything.
 * Evidence: NVVM's early CSE and GVN on kernels compiled with nvcc 13.0; barriers count as writes to all memory but
 * read-only data and what a `__restrict__` parameter points to (PTX: a[i] = n; __syncthreads(); b[i] = a[i] does not load), and
 * stores through a `__restrict__` parameter change nothing that is read through another pointer. A store of the value that is there already is dropped too: `Body b = p[i]; b.x += 1; p[i] = b` writes only
 * what changed (H200: nbody.cu:78 stores six of seven members).
 */
import { type ControlFlow, controlFlow } from '../program/control-flow';
import {
  type AccessSite,
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type ScalarType,
  type StoreInstruction,
} from '../program/program';

interface Available {
  readonly access: number;
  readonly values: readonly Register[];
  readonly readOnly: boolean;
  /** Where it is: register + first … register + last (bytes, inclusive). */
  readonly address: Register;
  readonly first: number;
  readonly last: number;
}

type Table = Map<string, Available>;

export function reuseLoads(program: Program): Program {
  const flow = controlFlow(program);
  const blocks: Block[] = program.blocks.map((b) => ({ ...b }));
  const tables = new Map<number, Table>();
  const stable = stableRegisters(program);
  for (const block of flow.order) {
    const inherited = inheritedTable(program, flow, tables, block);
    const result = reuseInBlock(program, program.blocks[block], inherited, stable);
    tables.set(block, inherited);
    blocks[block] = { ...program.blocks[block], instructions: result };
  }
  return { ...program, blocks };
}

/** Registers whose value cannot change between two reads that the first dominates. */
function stableRegisters(program: Program): (register: Register) => boolean {
  return (register) => program.registers[register].role !== 'variable';
}

/** What the dominator knows and nothing on the ways from it to the block can change. */
function inheritedTable(program: Program, flow: ControlFlow, tables: ReadonlyMap<number, Table>, block: number): Table {
  const dominator = flow.dominator[block];
  const from = dominator >= 0 ? tables.get(dominator) : undefined;
  if (!from || from.size === 0) return new Map();
  const inherited = new Map(from);
  for (const between of blocksBetween(flow, dominator, block)) {
    for (const i of program.blocks[between].instructions) kill(program, inherited, i);
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

/** Forgets what an instruction may change. */
function kill(program: Program, table: Table, i: Instruction): void {
  if (i.op === 'store') invalidate(program, table, program.accesses[i.access], rangeOf(i, i.values.length));
  else if (i.op === 'atomic') invalidate(program, table, program.accesses[i.access]);
  else if (i.op === 'asyncCopy') invalidate(program, table, program.accesses[i.storeAccess]);
  else if (i.op === 'matrix' && i.direction === 'store') invalidate(program, table, program.accesses[i.access]);
  else if (i.op === 'barrier') {
    for (const [key, a] of table)
      if (!a.readOnly && changesAtBarrier(program, program.accesses[a.access])) table.delete(key);
  }
}

function keyOf(address: Register, offset: number, type: ScalarType, count: number): string {
  return `${address}+${offset}:${type}x${count}`;
}

function reuseInBlock(program: Program, block: Block, table: Table, stable: (r: Register) => boolean): Instruction[] {
  const out: Instruction[] = [];
  for (const i of block.instructions) {
    if (i.op === 'load' && !program.accesses[i.access].isVolatile && stable(i.address)) {
      const key = keyOf(i.address, i.offset, i.type, i.dst.length);
      const known = table.get(key);
      if (known) {
        i.dst.forEach((dst, k) => {
          out.push({ op: 'unary', fn: 'mov', type: i.type, dst, a: known.values[k] });
        });
        continue;
      }
      const site = program.accesses[i.access];
      table.set(key, {
        access: i.access,
        values: i.dst,
        readOnly: isReadOnly(site, program),
        ...rangeOf(i, i.dst.length),
      });
    } else if (i.op === 'store') {
      if (isThereAlready(program, table, i)) continue;
      kill(program, table, i);
      const forwards = stable(i.address) && i.values.every(stable) && !program.accesses[i.access].isVolatile;
      if (forwards)
        table.set(keyOf(i.address, i.offset, i.type, i.values.length), {
          access: i.access,
          values: i.values,
          readOnly: false,
          ...rangeOf(i, i.values.length),
        });
    } else kill(program, table, i);
    out.push(i);
  }
  return out;
}

/** The value was loaded from the same place, and nothing may have written there since. */
function isThereAlready(program: Program, table: Table, i: StoreInstruction): boolean {
  if (program.accesses[i.access].isVolatile) return false;
  const known = table.get(keyOf(i.address, i.offset, i.type, i.values.length));
  return known?.values.every((value, k) => value === i.values[k]) ?? false;
}

export function isReadOnly(site: AccessSite, program: Program): boolean {
  if (site.readOnly) return true;
  const space = site.object === undefined ? site.space : program.objects[site.object].space;
  return space === 'constant';
}

type Range = Pick<Available, 'address' | 'first' | 'last'>;

const rangeOf = (i: LoadInstruction | StoreInstruction, count: number): Range => ({
  address: i.address,
  first: i.offset,
  last: i.offset + bytesOf[i.type] * count - 1,
});

/** Forgets what a store may change; other bytes of the same base it does not. */
function invalidate(program: Program, table: Table, store: AccessSite, range?: Range): void {
  for (const [key, a] of table) {
    if (a.readOnly || !mayTouch(program, program.accesses[a.access], store)) continue;
    if (range && range.address === a.address && (range.last < a.first || a.last < range.first)) continue;
    table.delete(key);
  }
}

/**
 * Whether two accesses may meet: not in different spaces, not in different declared arrays, not through a pointer that is
 * `__restrict__` and another one. Pointers that are not may point to the same buffer, a declared array among them.
 */
export function mayTouch(program: Program, a: AccessSite, b: AccessSite): boolean {
  const space = (s: AccessSite) => (s.object === undefined ? s.space : program.objects[s.object].space);
  const sa = space(a);
  const sb = space(b);
  if (sa !== 'generic' && sb !== 'generic' && sa !== sb) return false;
  if (a.object === undefined || b.object === undefined || a.object === b.object) return true;
  const [first, second] = [program.objects[a.object], program.objects[b.object]];
  if (first.isRestrict || second.isRestrict) return false;
  return first.bytes === undefined || second.bytes === undefined;
}

/** Whether a barrier may change what is read: others have written it meanwhile, but not behind a `__restrict__` pointer. */
export function changesAtBarrier(program: Program, site: AccessSite): boolean {
  return site.object === undefined || !program.objects[site.object].isRestrict;
}
