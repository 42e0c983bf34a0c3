/**
 * What the next pass of a loop begins by reading, and this one has read already, is handed on in a register: of `v[j - 1] * v[j]` with `j++`, or `v[k]` with
 * `k = j++`, only the very first is read in front of the loop (NVVM: elimination of partly redundant loads, before and after loops are written out). Evidence (PTX and
 * machine code of 37 kernels, nvcc 13.0):
 *
 * - either order of the two, three in a row, two apart once the loop is written out, rows of shared memory (`s[j - 1][t]`), counting down, a search by `while`;
 * - what is read must be a counter and a constant from a place that the loop keeps: of `v[t + j]`, `v[(j - 1) * 32 + t]` and `v[y * w + j]` every pass reads
 *   both (the sum has other parts in the next pass, and nobody takes it apart); a counter that may wrap between the two (`unsigned char`, `short`) or
 *   is of floating point has another index in the next pass, and so has a vector of which the next pass needs other parts (11 of 11 kernels);
 * - a loop that is left between the reads and a step that some index has made already (`if (v[i] > v[i + 1]) break; i++`) keeps its question in front
 *   and is not read ahead of (7 of 7; with anything else beside the step it is: 2 of 2);
 * - both are read in every pass, the one handed on before any branch, and nothing in the loop may change them;
 * - the read in front bears the line of the one that it replaces, and is for those that have a pass.
 */
import { type ControlFlow, controlFlow, dominates, type Loop } from '../program/control-flow';
import { readsInto, writesInto, writesOf } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type RegisterInfo,
  type ScalarType,
} from '../program/program';
import { withOperands } from './common-expressions';
import { changesAtFence, isFence, isReadOnly, mayTouch } from './memory-overlap';
import { isPure } from './pure';

interface Definition {
  readonly block: number;
  readonly instruction: Instruction;
}

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly registers: RegisterInfo[];
  readonly blocks: Block[];
  /** Registers that something reads. */
  readonly needed: ReadonlySet<Register>;
}

/** A loop with what it writes. */
interface Around {
  readonly loop: Loop;
  readonly before: number;
  readonly latch: number;
  readonly inside: readonly number[];
  /** By register: its definitions in the loop. */
  readonly definitions: ReadonlyMap<Register, readonly Definition[]>;
}

/** `base + scale × counter + at`. */
interface Form {
  readonly counter: Counter;
  readonly scale: number;
  readonly base: string;
  readonly at: number;
}

/** What is made of a variable as the pass began. */
interface Counter {
  readonly variable: Register;
  /** What is added last. */
  readonly plus: number;
  /** Conversions that may change the number, from the last to the first, each with what is added before it. */
  readonly before: readonly Conversion[];
}

interface Conversion {
  readonly types: string;
  readonly plus: number;
}

interface Read {
  readonly block: number;
  readonly load: LoadInstruction;
  readonly form: Form;
}

export function carryLoads(program: Program): Program {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return program;
  const { registers, blocks } = program;
  const work: Work = { program, flow, registers: [...registers], blocks: [...blocks], needed: neededIn(blocks) };
  for (const loop of flow.loops) carryIn(work, loop);
  if (work.registers.length === program.registers.length) return program;
  return { ...program, registers: work.registers, blocks: work.blocks };
}

function carryIn(work: Work, loop: Loop): void {
  const { flow, blocks } = work;
  const [before, ...others] = flow.predecessors[loop.header].filter((p) => !loop.contains[p]);
  const [latch, ...latches] = flow.predecessors[loop.header].filter((p) => loop.contains[p]);
  if (before === undefined || latch === undefined || others.length + latches.length > 0) return;
  if (blocks[before].terminator.kind !== 'jump' || blocks[latch].terminator.kind !== 'jump') return;
  const inside = loop.blocks;
  const own = inside.filter((b) => flow.loopOf[b] === loop.index && dominates(flow.dominator, b, latch));
  const loads = own.flatMap((block) =>
    blocks[block].instructions.flatMap((i) =>
      i.op === 'load' && isPlain(work.program, i) ? [{ block, load: i }] : [],
    ),
  );
  if (loads.length < 2) return;
  const around: Around = { loop, before, latch, inside, definitions: definitionsIn(blocks, inside) };
  const reads = loads.flatMap(({ block, load }): Read[] => {
    const form = formOf(work, around, load);
    return form && isKept(work, around, load) ? [{ block, load, form }] : [];
  });
  const byForm = new Map(reads.map((read) => [keyOf(read.load, read.form), read]));
  for (const read of reads) {
    const next = isAtHead(work, around, read.block) ? nextForm(work, around, read.form) : undefined;
    const same = next && byForm.get(keyOf(read.load, next));
    if (!next || !same || !needsAsMuch(work, same.load, read.load)) continue;
    if (!isAskedFirst(work, around, read, next, reads)) carry(work, around, read, same);
  }
}

function isPlain({ accesses }: Program, { access, dst }: LoadInstruction): boolean {
  const { space, isVolatile, isAssembly, atomic } = accesses[access];
  return (space === 'global' || space === 'shared') && !isVolatile && !isAssembly && !atomic && dst.length > 0;
}

function definitionsIn(blocks: readonly Block[], inside: readonly number[]): Map<Register, Definition[]> {
  const found = new Map<Register, Definition[]>();
  const writes: Register[] = [];
  for (const block of inside)
    for (const instruction of blocks[block].instructions) {
      const count = writesInto(instruction, writes);
      for (let k = 0; k < count; k++) {
        const list = found.get(writes[k]);
        if (list) list.push({ block, instruction });
        else found.set(writes[k], [{ block, instruction }]);
      }
    }
  return found;
}

const keyOf = ({ type, dst }: LoadInstruction, { counter, scale, base, at }: Form): string =>
  `${type}x${dst.length}:${nameOf(counter)}*${scale}+${base}+${at}`;

const nameOf = ({ variable, before }: Counter): string =>
  before.reduceRight((name, { types, plus }) => `${types}(${name}+${plus})`, String(variable));

function neededIn(blocks: readonly Block[]): Set<Register> {
  const needed = new Set<Register>();
  const reads: Register[] = [];
  for (const { instructions } of blocks)
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) needed.add(reads[k]);
    }
  return needed;
}

/** Whether all parts of a vector are needed that are needed of another. */
const needsAsMuch = ({ needed }: Work, a: LoadInstruction, b: LoadInstruction): boolean =>
  b.dst.every((part, k) => !needed.has(part) || needed.has(a.dst[k]));

/**
 * Whether the loop keeps its question in front: it is left right before the step, and an index in it has made that step already, so that nothing stands
 * between the two (NVVM turns a loop round where its end asks nothing).
 */
function isAskedFirst(
  { flow, blocks, registers }: Work,
  { loop, latch }: Around,
  { form }: Read,
  next: Form,
  reads: readonly Read[],
): boolean {
  const [from, ...others] = flow.predecessors[latch];
  const asks = (block: number): boolean => loop.exitBranches.includes(block);
  if (others.length > 0 || from === loop.header || !asks(from) || !asks(loop.header)) return false;
  const { instructions } = blocks[latch];
  const assigned = instructions.flatMap((i) => writesOf(i).filter((r) => registers[r].role === 'variable'));
  if (!instructions.every(isPure) || assigned.some((r) => r !== form.counter.variable)) return false;
  const step = innermost(next) - innermost(form);
  return reads.some((read) => read.form.counter.variable === form.counter.variable && innermost(read.form) === step);
}

/** What is added to the variable before anything else happens to it. */
const innermost = ({ counter, scale, at }: Form): number => counter.before.at(-1)?.plus ?? at / scale;

/** Nothing in the loop may change what is read. */
function isKept({ program, blocks }: Work, { inside }: Around, { access }: LoadInstruction): boolean {
  const site = program.accesses[access];
  if (isReadOnly(site, program)) return true;
  const changes = (i: Instruction): boolean => {
    if (isFence(i) && changesAtFence(program, site)) return true;
    if (i.op === 'store' || i.op === 'atomic') return mayTouch(program, site, program.accesses[i.access]);
    if (i.op === 'asyncCopy') return mayTouch(program, site, program.accesses[i.storeAccess]);
    return i.op === 'matrix' && i.direction === 'store';
  };
  return !inside.some((block) => blocks[block].instructions.some(changes));
}

/** No branch stands before it but the question whether there is a pass. */
function isAtHead({ flow, blocks }: Work, { loop }: Around, block: number): boolean {
  for (let at = block; at !== loop.header; ) {
    const [from, ...others] = flow.predecessors[at];
    if (others.length > 0 || (from !== loop.header && blocks[from].terminator.kind !== 'jump')) return false;
    at = from;
  }
  return true;
}

// ---- what an address is made of ----

const one = (around: Around, register: Register): Definition | undefined => {
  const found = around.definitions.get(register);
  return found?.length === 1 ? found[0] : undefined;
};

const constantOf = ({ registers }: Work, register: Register): number | undefined =>
  registers[register].role === 'constant' ? registers[register].value : undefined;

function formOf(work: Work, around: Around, { address, offset, access }: LoadInstruction): Form | undefined {
  const kept: Register[] = [];
  const moving: Register[] = [];
  const split = (register: Register, depth: number): void => {
    const made = one(around, register)?.instruction;
    if (!around.definitions.has(register)) kept.push(register);
    else if (made?.op === 'binary' && made.fn === 'add' && depth < 8) {
      split(made.a, depth + 1);
      split(made.b, depth + 1);
    } else moving.push(register);
  };
  split(address, 0);
  if (moving.length !== 1) return undefined;
  const scaled = scaledOf(work, around, moving[0]);
  const counted = scaled && counterOf(work, around, scaled.register);
  if (!scaled || !counted) return undefined;
  const { scale } = scaled;
  if (!isPlainIndex(work.program, access, kept, scale)) return undefined;
  return {
    counter: counted,
    scale,
    base: kept.sort((a, b) => a - b).join('+'),
    at: offset + scale * counted.plus,
  };
}

/** A counter and a constant as an index of its own: of an array that has several, or of a pointer to elements with nothing added. */
function isPlainIndex(program: Program, access: number, kept: readonly Register[], scale: number): boolean {
  const { object } = program.accesses[access];
  const array = object === undefined ? undefined : program.objects[object];
  if (array === undefined) return kept.length === 0;
  if (array.dimensions.length > 1) return true;
  return kept.length === 0 || (kept.length === 1 && kept[0] === array.register && scale === array.elementBytes);
}

function scaledOf(work: Work, around: Around, register: Register): { register: Register; scale: number } | undefined {
  const made = one(around, register)?.instruction;
  if (made?.op !== 'binary' || (made.fn !== 'mul' && made.fn !== 'shl')) return { register, scale: 1 };
  const by = constantOf(work, made.b);
  return by === undefined ? undefined : { register: made.a, scale: made.fn === 'mul' ? by : 2 ** by };
}

/** A counter as it is when a pass begins, and constants. */
function counterOf(work: Work, around: Around, register: Register): Counter | undefined {
  const before: Conversion[] = [];
  // what is added first stands last
  const sums = [0];
  let at = register;
  for (let depth = 0; depth < 8; depth++) {
    const found = one(around, at);
    const made = found?.instruction;
    if (!found || !made || !('type' in made) || isFloat(made.type)) return undefined;
    if (made.op === 'convert') {
      if (isFloat(made.from)) return undefined;
      // a sum of signed words may be taken as one that does not overflow, and the longest integers are all addresses
      if (bytesOf[made.type] !== 8 || (made.from !== 'i32' && bytesOf[made.from] !== 8)) {
        before.push({ types: `${made.from}>${made.type}`, plus: 0 });
        sums.push(0);
      }
      at = made.a;
    } else if (made.op === 'binary' && (made.fn === 'add' || made.fn === 'sub')) {
      const by = constantOf(work, made.b);
      if (by === undefined) return undefined;
      sums[sums.length - 1] += made.fn === 'add' ? by : -by;
      at = made.a;
    } else if (made.op === 'unary' && made.fn === 'mov' && work.registers[at].role === 'temporary') {
      const changed = one(around, made.a);
      if (work.registers[made.a].role !== 'variable' || !changed) return undefined;
      if (!comesBefore(work, found, changed)) return undefined;
      return { variable: made.a, plus: sums[0], before: before.map((each, k) => ({ ...each, plus: sums[k + 1] })) };
    } else return undefined;
  }
  return undefined;
}

const isFloat = (type: ScalarType): boolean => type.startsWith('f');

function comesBefore({ flow, blocks }: Work, a: Definition, b: Definition): boolean {
  if (a.block !== b.block) return dominates(flow.dominator, a.block, b.block);
  const { instructions } = blocks[a.block];
  return instructions.indexOf(a.instruction) < instructions.indexOf(b.instruction);
}

/** The same address in the next pass, told by what this one begins with. */
function nextForm(work: Work, around: Around, form: Form): Form | undefined {
  const changed = one(around, form.counter.variable);
  if (changed?.instruction.op !== 'unary' || changed.instruction.fn !== 'mov') return undefined;
  if (!dominates(work.flow.dominator, changed.block, around.latch)) return undefined;
  const next = counterOf(work, around, changed.instruction.a);
  if (!next) return undefined;
  const { before } = form.counter;
  const last = before.at(-1);
  // the variable's own sum is added where the form begins with it
  const at = form.at + (last ? 0 : form.scale * next.plus);
  const own = last ? [...before.slice(0, -1), { ...last, plus: last.plus + next.plus }] : [];
  return { ...form, counter: { ...next, plus: 0, before: [...own, ...next.before] }, at };
}

// ---- the change ----

function carry(work: Work, around: Around, read: Read, same: Read): void {
  const { registers, blocks } = work;
  const { before, latch } = around;
  const { type, dst } = read.load;
  const move = (to: Register, a: Register): Instruction => ({ op: 'unary', fn: 'mov', type, dst: to, a });
  const make = (role: 'variable' | 'temporary') => dst.map(() => registers.push({ type, role }) - 1);
  const [held, first] = [make('variable'), make('temporary')];
  const address: Instruction[] = [];
  const start = inFront(work, around, read.load.address, address);
  append(blocks, before, [
    ...address,
    { ...read.load, dst: first, address: start, isOfLoop: true },
    ...held.map((to, k) => move(to, first[k])),
  ]);
  blocks[read.block] = {
    ...blocks[read.block],
    instructions: blocks[read.block].instructions.flatMap((i) =>
      i === read.load ? dst.map((to, k) => move(to, held[k])) : [i],
    ),
  };
  append(
    blocks,
    latch,
    held.map((to, k) => move(to, same.load.dst[k])),
  );
}

function append(blocks: Block[], block: number, instructions: readonly Instruction[]): void {
  blocks[block] = { ...blocks[block], instructions: [...blocks[block].instructions, ...instructions] };
}

/** Computes an address of the loop once more, in front of it. */
function inFront(work: Work, around: Around, register: Register, out: Instruction[]): Register {
  const made = one(around, register)?.instruction;
  if (!made || !isPure(made) || work.registers[register].role !== 'temporary') return register;
  const operands = new Map<Register, Register>();
  const copied = withOperands(made, (r) => {
    let copy = operands.get(r);
    if (copy === undefined) operands.set(r, (copy = inFront(work, around, r, out)));
    return copy;
  });
  const [dst] = writesOf(made);
  const copy = work.registers.push(work.registers[dst]) - 1;
  out.push({ ...copied, dst: copy } as Instruction);
  return copy;
}
