/** Elements of local arrays whose index is not constant. */
import type { Node } from '../parse/ast';
import type { Register } from '../program/program';
import { type Context, demandMemory } from './context';
import { readStorage, writeStorage } from './places';
import { type RegisterTarget, type Storage, unknownValue, type Value } from './values';
import { allocateStorage } from './variables';

/**
 * The array must be in memory then, so that the hardware can address it: undefined, and the kernel is lowered again. Where loops are
 * kept that the compiler writes out, the array is in registers all the same, and which element is meant is not known: one place
 * stands for all of them from here on, whose value is never known but rests on all that was stored.
 */
export function openElement(ctx: Context, target: RegisterTarget, node: Node): Storage | undefined {
  if (!ctx.budget.keepsLoops) {
    if (target.owner && !target.owner.isInPlace) demandMemory(ctx, target.owner);
    return undefined;
  }
  const [first] = target.elements;
  const known = first && ctx.openElements.get(first);
  if (known) return known;
  const one = allocateStorage(ctx, target.elementType, 'element');
  const reason = 'element of a local array in a loop that is not written out';
  writeStorage(ctx, one, unknownValue(target.elementType, reason), node);
  const open = bitsOf(one);
  for (const element of target.elements) standFor(ctx, element, open);
  return open;
}

/** The same storage seen so that no value of it is ever known. */
function bitsOf(storage: Storage): Storage {
  if (storage.kind === 'aggregate') return { ...storage, owner: undefined, elements: storage.elements.map(bitsOf) };
  if (storage.kind === 'view' && storage.field)
    return { kind: 'view', type: storage.type, leaves: storage.leaves, isWhole: false };
  return storage.kind === 'scalar' ? { kind: 'view', type: storage.type, leaves: [storage], isWhole: false } : storage;
}

function standFor(ctx: Context, element: Storage, open: Storage): void {
  ctx.openElements.set(element, open);
  if (element.kind !== 'aggregate' || open.kind !== 'aggregate') return;
  element.elements.forEach((inner, i) => {
    if (open.elements[i]) standFor(ctx, inner, open.elements[i]);
  });
}

/** Elements, and scalars in all, that are chosen among. */
const MOST_ELEMENTS = 512;
const MOST_SCALARS = 512;

/**
 * The element of an array in a parameter that stays in place: the launch gives them all, and the machine loads the one from constant
 * memory with an index in a register. Undefined for all other arrays.
 */
export function chosenElement(ctx: Context, target: RegisterTarget, index: Value): Value | undefined {
  const { elements, owner } = target;
  if (!owner?.isInPlace || index.kind !== 'scalar' || elements.length > MOST_ELEMENTS) return undefined;
  const values = elements.slice(target.index).map((element) => readStorage(ctx, element));
  if (values.length === 0 || !values.every(isMadeOfScalars)) return undefined;
  if (values.length * scalarsIn(values[0]) > MOST_SCALARS) return undefined;
  return chosenByBits(ctx, values, index.register, Math.ceil(Math.log2(values.length)) - 1);
}

/** Chooses by one bit of the index after the other, from the highest: half the instructions of comparing it with every number. */
function chosenByBits(ctx: Context, values: readonly Value[], index: Register, bit: number): Value {
  const half = 2 ** bit;
  if (values.length === 1) return values[0];
  const lower = chosenByBits(ctx, values.slice(0, half), index, bit - 1);
  if (values.length <= half) return lower;
  const { builder } = ctx;
  const type = builder.typeOf(index);
  const isSet = builder.compare(
    'ne',
    type,
    builder.binary('and', type, index, builder.constant(type, half)),
    builder.constant(type, 0),
  );
  return choose(ctx, isSet, chosenByBits(ctx, values.slice(half), index, bit - 1), lower);
}

const isMadeOfScalars = (value: Value): boolean =>
  value.kind === 'scalar' || (value.kind === 'aggregate' && value.elements.every(isMadeOfScalars));

const scalarsIn = (value: Value): number =>
  value.kind === 'aggregate' ? value.elements.reduce((sum, each) => sum + scalarsIn(each), 0) : 1;

function choose(ctx: Context, condition: Register, value: Value, other: Value): Value {
  const { builder } = ctx;
  if (value.kind === 'scalar' && other.kind === 'scalar')
    return {
      ...value,
      register: builder.select(builder.typeOf(value.register), condition, value.register, other.register),
    };
  if (value.kind !== 'aggregate' || other.kind !== 'aggregate') return value;
  return { ...value, elements: value.elements.map((each, i) => choose(ctx, condition, each, other.elements[i])) };
}
