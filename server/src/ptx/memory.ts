/** Loads, stores, atomics and copies. PTX ISA 9.0, 9.7.9, 9.7.13 and 9.7.14. */

import { type AtomicClass, atomicClassOf, isSwapLoop } from '../hardware/atomic-class';
import { narrowed } from '../machine/narrow-vectors';
import {
  type AccessSite,
  type AtomicInstruction,
  bytesOf,
  isFloat,
  type LoadInstruction,
  type MemorySpace,
  type Register,
  type ScalarType,
} from '../program/program';
import type { Handler } from './arithmetic';
import type { Context } from './context';
import type { FlatInstruction } from './flatten';
import type { Memory } from './memory-objects';
import type { Operand } from './module';
import { irType, signed, typeOf } from './types';
import { windowOf } from './variables-of-kernel';

const spaces = new WeakMap<readonly string[], string>();

/** The state space an opcode names, '' for generic addresses. @param parts of an opcode, which all that spell it alike share */
export function spaceOf(parts: readonly string[]): string {
  let space = spaces.get(parts);
  if (space === undefined) spaces.set(parts, (space = findSpace(parts)));
  return space;
}

function findSpace(parts: readonly string[]): string {
  for (let i = 1; i < parts.length; i++) {
    const part = parts[i].split('::')[0];
    if (windowOf[part] !== undefined || part === 'param') return part;
  }
  return '';
}

const siteSpaces: Readonly<Record<string, MemorySpace | 'generic'>> = {
  shared: 'shared',
  local: 'local',
  const: 'constant',
  global: 'global',
  '': 'generic',
};

/** The space of an access as its opcode names it. */
export const accessSpace = (parts: readonly string[]): MemorySpace | 'generic' =>
  siteSpaces[spaceOf(parts)] ?? 'generic';

/** An address of the IR: a 64-bit register and a constant number of bytes. */
export interface SplitAddress {
  readonly register: Register;
  readonly offset: number;
}

/** The IR address of an operand in a space. */
export function addressOf(ctx: Context, operand: Operand | undefined, space: string): SplitAddress {
  const { builder } = ctx;
  const base = operand?.kind === 'address' ? operand.base : operand;
  const offset = operand?.kind === 'address' ? operand.offset : 0;
  const window = windowOf[space] ?? 0;
  let register = wide(ctx, base);
  if (window !== 0) register = builder.binary('add', 'i64', register, builder.constant('i64', window));
  const split = builder.splitAddress(register);
  return { register: split.register, offset: split.offset + offset };
}

/** Addresses of 32 bits (shared memory) are widened. */
function wide(ctx: Context, base: Operand | undefined): Register {
  if (base?.kind !== 'register') return ctx.read(base, 'i64');
  const value = ctx.valueOf(base.register);
  const type = ctx.builder.typeOf(value);
  if (type === 'i64' || type === 'u64') return value;
  return ctx.builder.convert('i32', 'i64', ctx.coerce(value, 'i32'));
}

/** Whether some instruction reads the register. */
function isUsed(ctx: Context, operand: Operand | undefined): boolean {
  return operand?.kind === 'register' && ctx.assignments.isUsed[operand.register] === 1;
}

interface SiteDetails {
  readonly isPastL1?: boolean;
  readonly atomic?: AccessSite['atomic'];
  readonly resultUsed?: boolean;
  readonly isVolatile?: boolean;
}

/** A new access site of the current instruction. */
export function newSite(
  ctx: Context,
  memory: Memory,
  instruction: FlatInstruction,
  operation: AccessSite['operation'],
  space: string,
  operand: Operand | undefined,
  elementBytes: number,
  details: SiteDetails = {},
): number {
  const { parts, text } = instruction.opcode;
  const object = memory.objectOf(ctx, operand, instruction.frame, elementBytes);
  const name = object === undefined ? undefined : ctx.builder.objects[object].name;
  return ctx.builder.access({
    place: ctx.place,
    expression: name === undefined ? instruction.text : `${name} (${text})`,
    operation,
    space: siteSpaces[space] ?? 'generic',
    object,
    readOnly: parts.includes('nc') ? true : undefined,
    isVolatile: parts.includes('volatile') || parts.includes('mmio') ? true : undefined,
    machine: ctx.machine?.of(instruction.at, operation, siteSpaces[space] ?? 'generic'),
    ...details,
  });
}

interface Shape {
  readonly type: ScalarType;
  readonly count: number;
  readonly isWhole: boolean;
}

const shapes = new WeakMap<readonly string[], Shape>();

/** Type and number of the elements of an access; wider ones than the IR knows count as several. */
function shapeOf(parts: readonly string[]): Shape {
  let shape = shapes.get(parts);
  if (!shape) shapes.set(parts, (shape = findShape(parts)));
  return shape;
}

function findShape(parts: readonly string[]): Shape {
  const name = typeOf(parts) ?? 'b32';
  const vector = parts.find((part) => part === 'v2' || part === 'v4' || part === 'v8');
  const count = vector === undefined ? 1 : Number(vector.slice(1));
  if (name === 'b128') return { type: 'i64', count: 2 * count, isWhole: false };
  if (name === 'f16x2' || name === 'bf16x2') return { type: 'i32', count, isWhole: true };
  const type = irType(name) ?? 'i32';
  // Words are held signed, as registers are: nvcc reads an `int` with `ld.u32`, and sums with it are widened by its sign.
  return { type: bytesOf[type] >= 4 ? signed(type) : type, count, isWhole: true };
}

/**
 * Whether a vector load is made for the elements alone that are used, as the machine code has it. Where that is not known: ptxas shrinks
 * loads of shared memory (H200: bank_strides.cu:63), mostly not those of global memory (lennard_jones.cu:16; but
 * hash_probing.cu:87).
 */
function isShrunk({ machine }: AccessSite, space: string, bytes: number): boolean {
  if (machine === undefined || machine.length === 0) return space === 'shared';
  return machine.every((each) => each.bytes !== undefined && each.bytes < bytes);
}

/**
 * The type of what is left of an integer in device memory of which a part is used only: `a[i] >> 60` of 64 bits reads the upper four
 * bytes (H200: ising_multispin.cu:49). Which part it is makes no difference to sectors.
 */
function partType({ machine }: AccessSite, space: string, type: ScalarType): ScalarType | undefined {
  const bytes = machine?.[0]?.bytes;
  if (space !== 'global' || isFloat(type) || bytes === undefined || bytes >= bytesOf[type]) return undefined;
  return machine?.every((each) => each.bytes === bytes) ? unsignedOf[bytes] : undefined;
}

const unsignedOf: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32' };

export function memoryHandlers(memory: Memory): Readonly<Record<string, Handler>> {
  const load: Handler = (ctx, instruction) => {
    const { opcode, operands } = instruction;
    const space = spaceOf(opcode.parts);
    const [dst, address] = operands;
    if (space === 'param') {
      memory.loadParameter(ctx, instruction);
      return;
    }
    const { type, count, isWhole } = shapeOf(opcode.parts);
    const { builder } = ctx;
    const access = newSite(ctx, memory, instruction, 'load', space, address, bytesOf[type] * count);
    const { register, offset } = addressOf(ctx, address, space);
    const part = count === 1 ? partType(builder.accesses[access], space, type) : undefined;
    if (part !== undefined) {
      const read = builder.register(part, 'temporary');
      builder.emit({ op: 'load', type: part, dst: [read], address: register, offset, access });
      ctx.write(dst, builder.convert(part, type, read));
      return;
    }
    const results = Array.from({ length: count }, () => builder.register(type, 'temporary'));
    const whole: LoadInstruction = { op: 'load', type, dst: results, address: register, offset, access };
    const targets = dst?.kind === 'vector' ? dst.elements : [dst];
    const shrinks =
      isWhole &&
      builder.accesses[access].isVolatile !== true &&
      isShrunk(builder.accesses[access], space, bytesOf[type] * count);
    const isNeeded = (index: number) => !shrinks || isUsed(ctx, targets[index]);
    for (const part of results.length === 1 ? [whole] : narrowed(whole, (each) => isNeeded(results.indexOf(each)))) {
      builder.emit(part);
    }
    if (!isWhole) {
      ctx.writeUnknown(dst, `${opcode.text}: 128-bit values are not computed`);
      return;
    }
    const known = memory.knownScalar(ctx, address, instruction.frame, type);
    memory.noteRead(ctx, access, type);
    targets.forEach((target, index) => {
      if (count === 1 || isNeeded(index)) ctx.write(target, known ?? results[index]);
    });
  };

  const store: Handler = (ctx, instruction) => {
    const { opcode, operands } = instruction;
    const space = spaceOf(opcode.parts);
    if (space === 'param') return;
    const { type, count, isWhole } = shapeOf(opcode.parts);
    const [address, source] = operands;
    const access = newSite(ctx, memory, instruction, 'store', space, address, bytesOf[type] * count);
    const elements = source?.kind === 'vector' ? source.elements : [source];
    const values = isWhole
      ? elements.map((element) => ctx.read(element, type))
      : Array.from({ length: count }, () => ctx.builder.unknown(type, '128-bit value'));
    const { register, offset } = addressOf(ctx, address, space);
    ctx.builder.emit({ op: 'store', type, values, address: register, offset, access });
  };

  const asyncCopy: Handler = (ctx, instruction) => {
    const { opcode, operands } = instruction;
    const { parts } = opcode;
    if (parts[1] !== 'async' || parts.includes('bulk') || parts.includes('mbarrier')) {
      if (parts.includes('bulk') && !/group/.test(opcode.text))
        ctx.skipAccess(`${opcode.text}: bulk copies are not counted`);
      return;
    }
    const size = operands[2]?.kind === 'integer' ? Number(operands[2].value) : 0;
    if (operands.length < 3 || size === 0) return; // commit_group, wait_group
    const [to, from] = operands;
    const isPastL1 = parts.includes('cg');
    const loadAccess = newSite(ctx, memory, instruction, 'load', 'global', from, size, { isPastL1 });
    const storeAccess = newSite(ctx, memory, instruction, 'store', 'shared', to, size, { isPastL1 });
    const source = whole(ctx, addressOf(ctx, from, 'global'));
    const destination = whole(ctx, addressOf(ctx, to, 'shared'));
    const read = readBytes(ctx, instruction, size);
    ctx.builder.emit({ op: 'asyncCopy', bytes: size, isPastL1, source, destination, read, loadAccess, storeAccess });
  };

  /** Its fourth operand, `src-size`; a predicate there, or a policy, says something else. */
  const readBytes = (ctx: Context, { opcode, operands }: FlatInstruction, bytes: number): Register | undefined => {
    const operand = operands[3];
    const isPolicy = operands.length === 4 && /cache_hint/.test(opcode.text);
    if (isPolicy || (operand?.kind !== 'register' && operand?.kind !== 'integer')) return undefined;
    const read = ctx.read(operand, 'u32');
    return ctx.builder.constantValue(read) === bytes ? undefined : read;
  };

  return {
    ld: load,
    ldu: load,
    st: store,
    cp: asyncCopy,
    atom: (ctx, instruction) => atomic(ctx, memory, instruction, true),
    red: (ctx, instruction) => atomic(ctx, memory, instruction, false),
    cvta: convertAddress,
    isspacep: isInSpace,
  };
}

/** The address with its offset in one register. */
export function whole(ctx: Context, { register, offset }: SplitAddress): Register {
  return offset === 0 ? register : ctx.builder.binary('add', 'i64', register, ctx.builder.constant('i64', offset));
}

const atomicOperations = new Set(['add', 'min', 'max', 'and', 'or', 'xor', 'inc', 'dec', 'exch', 'cas']);

function atomic(ctx: Context, memory: Memory, instruction: FlatInstruction, hasResult: boolean): void {
  const { opcode, operands } = instruction;
  const { builder } = ctx;
  const space = spaceOf(opcode.parts);
  const fn = opcode.parts.find((part) => atomicOperations.has(part)) as AtomicInstruction['fn'] | undefined;
  const dst = hasResult ? operands[0] : undefined;
  const [address, first, second] = hasResult ? operands.slice(1) : operands;
  if (fn === undefined || opcode.parts.includes('async')) {
    ctx.writeUnknown(dst, `${opcode.text} is not computed`);
    ctx.skipAccess(`${opcode.text} is not counted`);
    return;
  }
  const name = typeOf(opcode.parts) ?? 'b32';
  const isPacked = name.endsWith('x2') || first?.kind === 'vector' || name === 'b128';
  const type: ScalarType = isPacked ? 'i32' : (irType(name) ?? 'i32');
  const resultUsed = isUsed(ctx, dst);
  const value = isPacked ? builder.unknown(type, 'packed value') : ctx.read(first, type);
  const isConstant = builder.constantValue(value) !== undefined;
  const kind = isPacked ? 'float' : atomicOf(fn, type, isConstant, space === 'shared');
  const details: SiteDetails = { atomic: kind, resultUsed };
  const access = newSite(ctx, memory, instruction, 'atomic', space, address, bytesOf[type], details);
  const { register, offset } = addressOf(ctx, address, space);
  const old = resultUsed ? builder.register(type, 'temporary') : undefined;
  const isSwap = fn === 'cas';
  builder.emit({
    op: 'atomic',
    fn,
    type,
    dst: old,
    address: register,
    offset,
    value: isSwap ? ctx.read(second, type) : value,
    compare: isSwap ? value : undefined,
    access,
  });
  if (isSwapLoop(kind) && space === 'shared') loadOfLoop(ctx, memory, instruction, address, type, kind);
  if (old === undefined) return;
  if (isPacked) ctx.writeUnknown(dst, `result of ${opcode.text}`);
  else ctx.write(dst, old);
}

const atomicOf = (fn: AtomicInstruction['fn'], type: ScalarType, isConstant: boolean, mayBeShared: boolean) =>
  atomicClassOf({ fn, bytes: bytesOf[type], isFloat: isFloat(type), isConstant, mayBeShared });

/** The loop that loads and swaps: its loads count as well (H200: atomics_mix.cu:34). */
function loadOfLoop(
  ctx: Context,
  memory: Memory,
  instruction: FlatInstruction,
  address: Operand | undefined,
  type: ScalarType,
  atomic: AtomicClass,
): void {
  const details: SiteDetails = { atomic, isVolatile: true };
  const access = newSite(ctx, memory, instruction, 'load', 'shared', address, bytesOf[type], details);
  const { register, offset } = addressOf(ctx, address, 'shared');
  const dst = [ctx.builder.register(type, 'temporary')];
  ctx.builder.emit({ op: 'load', type, dst, address: register, offset, access });
}

/** cvta: from a space to generic, cvta.to: back. */
const convertAddress: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const window = windowOf[spaceOf(opcode.parts)];
  if (window === undefined) {
    ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
    return;
  }
  const value = wide(ctx, operands[1]);
  const by = builder.constant('i64', window);
  const isBack = opcode.parts.includes('to');
  ctx.write(operands[0], window === 0 ? value : builder.binary(isBack ? 'sub' : 'add', 'i64', value, by));
};

const isInSpace: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const space = spaceOf(opcode.parts);
  const value = ctx.read(operands[1], 'i64');
  const between = (low: number, high: number) =>
    builder.binary(
      'and',
      'pred',
      builder.compare('ge', 'i64', value, builder.constant('i64', low)),
      builder.compare('lt', 'i64', value, builder.constant('i64', high)),
    );
  if (space === 'global') {
    const isElsewhere = between(windowOf.shared, 2 ** 36);
    ctx.write(operands[0], builder.unary('lognot', 'pred', isElsewhere));
  } else if (space === 'shared' || space === 'local') {
    const low = windowOf[space];
    ctx.write(operands[0], between(low, space === 'shared' ? windowOf.local : windowOf.const));
  } else ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
};
