/** Memory of the host in its program: blocks, copies, and pointers to variables that live in registers. */
import type { FunctionDeclaration, LambdaExpression, Node, Parameter, TypeNode } from '../../parse/ast';
import type { HostInstruction } from '../../program/host-program';
import type { Register } from '../../program/program';
import { type Context, placeOf } from '../context';
import { convertRegister } from '../conversions';
import { addressOf, assign, readMemory, readRegister, readStorage, writeRegister, writeStorage } from '../places';
import { alignOf, sizeOf, type Type, typeKey, withoutReference } from '../types';
import { type MemoryPlace, type Storage, unknownValue, type Value } from '../values';
import { isOfLibrary, isOnlyRead } from './only-read';
import { inFrame } from './recursion';

/** Emits an instruction of the host; gives its result, where it has one. */
export function emitHost(ctx: Context, fn: HostInstruction['fn'], args: readonly Register[]): Register {
  const gives = fn === 'seed' || fn === 'file' || fn.startsWith('allocate');
  const dst = gives ? ctx.builder.register('i64', 'temporary') : undefined;
  ctx.builder.emit({ op: 'host', fn, dst, args });
  return dst ?? ctx.builder.constant('i64', 0);
}

/** The program ends here: with an error, or because what cannot be followed would change what comes after. */
export function endProgram(ctx: Context, how: 'end' | 'lost', status?: Register): void {
  emitHost(ctx, how, status === undefined ? [] : [status]);
  ctx.builder.exit();
}

/** The address that a pointer holds, and what is to be done once the memory behind it has changed. */
export interface Pointed {
  readonly address: Register;
  readonly written?: () => void;
}

/** A pointer as a number. A variable that lives in registers gets memory for the time of a call. */
export function pointed(ctx: Context, pointer: Value, node: Node): Pointed | undefined {
  if (pointer.kind === 'scalar')
    return { address: convertRegister(ctx, pointer.register, ctx.builder.typeOf(pointer.register), 'i64') };
  if (pointer.kind !== 'placePointer') return undefined;
  const { target } = pointer;
  const size = sizeOf(target.elementType);
  if (size === undefined) return undefined;
  const elements = target.elements.slice(target.index);
  const home = freshObject(ctx, target.elementType, size * elements.length, node);
  const placeOfElement = (i: number): MemoryPlace => ({ ...home, offset: i * size });
  elements.forEach((storage, i) => {
    assign(ctx, placeOfElement(i), target.elementType, readStorage(ctx, storage), node);
  });
  return {
    address: addressOf(ctx, { ...home, offset: target.bytes ?? 0 }),
    written: () => {
      elements.forEach((storage, i) => {
        writeStorage(ctx, storage, readMemory(ctx, placeOfElement(i), target.elementType), node);
      });
    },
  };
}

/** Memory of its own for a variable without a name. */
export function freshObject(ctx: Context, type: Type, bytes: number, node: Node): MemoryPlace {
  const own = inFrame(ctx, bytes, alignOf(type), node);
  if (own) return own;
  const object = ctx.builder.object({
    name: '(variable)',
    space: 'local',
    bytes,
    alignment: alignOf(type),
    isDynamic: false,
    dimensions: [],
    elementBytes: bytes,
    elementType: typeKey(type),
    place: placeOf(ctx, node),
  });
  return { kind: 'memory', address: ctx.builder.objects[object].register, offset: 0, node, object };
}

/** Handles (FILE*, streams) and what another such function gave lead to nothing that is followed. */
function leadsToMemory(ctx: Context, value: Value & { kind: 'scalar' }): boolean {
  const type = withoutReference(value.type);
  return type.kind === 'pointer' && type.to.kind !== 'unknown' && !ctx.builder.isUnknown(value.register);
}

/**
 * A function of the program is called and not followed: what it is given to write, what that leads to and all variables of the program and of the
 * device may be others afterwards. What a lambda has captured nobody looks for: the program ends there.
 */
export function changeByCall(
  ctx: Context,
  { parameters }: FunctionDeclaration,
  args: readonly Value[],
  self: Value | undefined,
  node: Node,
): void {
  if (args.some((a) => a.kind === 'lambda')) {
    endProgram(ctx, 'lost');
    return;
  }
  const isWritten = (i: number) => parameters[i]?.type.kind === 'reference' && !parameters[i].type.to.isConst;
  const written = [...(self ? [self] : []), ...args.filter((_, i) => isWritten(i))];
  const changed = [...written, ...args.filter((each, i) => !isOnlyRead(parameters[i]?.type, each.type))];
  changeBehind(ctx, changed, node);
  for (const value of changed) {
    const isPlace = value.kind === 'place' && written.includes(value);
    const storage = isPlace && value.place.kind === 'storage' ? [value.place.storage] : [];
    const elements = value.kind === 'placePointer' ? value.target.elements : storage;
    for (const element of elements) changeStorage(ctx, element, node);
    if (isPlace && value.place.kind === 'memory') emitHost(ctx, 'wild', [value.place.address]);
  }
  for (const { lifetime, contents, register } of ctx.builder.objects)
    if (lifetime !== undefined && lifetime !== 'constant' && !contents) emitHost(ctx, 'wild', [register]);
}

/**
 * A function that nobody knows is called: records may be handed to it to be written, but for what its declaration takes by value or as constant, and so is
 * what they lead to. Numbers count as copied. A lambda
 * that refers to variables may have changed them: the program ends there.
 */
export function changeByUnknown(
  ctx: Context,
  args: readonly Value[],
  node: Node,
  parameters?: readonly Parameter[],
): void {
  if (args.some((a) => a.kind === 'lambda' && refersToVariables(a.lambda))) {
    endProgram(ctx, 'lost');
    return;
  }
  changeBehind(ctx, args, node);
  args.forEach((value, i) => {
    if (
      value.kind === 'place' &&
      value.place.kind === 'storage' &&
      isChangeable(value.type) &&
      !isCopied(parameters?.[i]?.type)
    )
      changeStorage(ctx, value.place.storage, node);
  });
}

const refersToVariables = ({ defaultCapture, captures }: LambdaExpression): boolean =>
  defaultCapture === '&' || captures.some((capture) => capture.byReference);

/** Whether a parameter leaves what is passed as it is. */
function isCopied(type: TypeNode | undefined): boolean {
  if (type?.kind === 'reference' || type?.kind === 'pointer') return type.to.isConst;
  return type !== undefined && type.kind !== 'array';
}

/** An array is passed as a pointer to it. */
const isChangeable = (type: Type): boolean => hasParts(type) && !type.isConst;

const hasParts = (type: Type): boolean => ['record', 'array'].includes(withoutReference(type).kind);

const NOT_FOLLOWED = 'a call not followed';

/** A container of the library leads where it led, or to memory of its own; what else may be changed may lead anywhere. */
function changeStorage(ctx: Context, storage: Storage, node: Node, isContainer = false): void {
  const isOwner = isContainer || (storage.type.kind === 'record' && isOfLibrary(storage.type));
  if (storage.kind === 'aggregate' && isOwner)
    for (const element of storage.elements) changeStorage(ctx, element, node, true);
  else if (storage.kind === 'scalar' && isOwner && storage.type.kind === 'pointer')
    writeRegister(ctx, storage.register, elsewhere(ctx, storage.register));
  else writeStorage(ctx, storage, unknownValue(storage.type, NOT_FOLLOWED), node);
}

/** A pointer's value, or the address of memory that it did not know: which of them is not known. */
function elsewhere(ctx: Context, pointer: Register): Register {
  const { builder } = ctx;
  // what it holds is never looked at
  const fresh = emitHost(ctx, 'allocate', [builder.constant('i64', 1)]);
  const type = builder.typeOf(pointer);
  const other = convertRegister(ctx, fresh, 'i64', type);
  return builder.select(type, builder.unknown('pred', NOT_FOLLOWED), readRegister(ctx, pointer), other);
}

/** Whatever can be reached through these values may have been changed by something that is not followed. */
export function changeBehind(ctx: Context, values: readonly Value[], node: Node): void {
  for (const value of values) {
    if (value.kind === 'aggregate') changeBehind(ctx, value.elements, node);
    else if (value.kind === 'placePointer')
      for (const element of value.target.elements) changeStorage(ctx, element, node);
    else if (value.kind === 'scalar' && leadsToMemory(ctx, value))
      emitHost(ctx, 'wild', [convertRegister(ctx, value.register, ctx.builder.typeOf(value.register), 'i64')]);
    else if (value.kind === 'place' && value.place.kind === 'memory' && hasParts(value.type))
      emitHost(ctx, 'wild', [value.place.address]);
    else if (value.kind === 'place' && value.place.kind === 'storage')
      changeBehind(ctx, [readStorage(ctx, value.place.storage)], node);
  }
}
