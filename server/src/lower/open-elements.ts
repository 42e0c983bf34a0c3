/** Elements of local arrays whose index is not constant. */
import type { Node } from '../parse/ast';
import { type Context, demandMemory } from './context';
import { writeStorage } from './places';
import { type RegisterTarget, type Storage, unknownValue } from './values';
import { allocateStorage } from './variables';

/**
 * The array must be in memory then, so that the hardware can address it: undefined, and the kernel is lowered again. Where loops are
 * kept that the compiler writes out, the array is in registers all the same, and which element is meant is not known: one place
 * stands for all of them from here on, whose value is never known but rests on all that was stored.
 */
export function openElement(ctx: Context, target: RegisterTarget, node: Node): Storage | undefined {
  if (!ctx.budget.keepsLoops) {
    if (target.owner) demandMemory(ctx, target.owner);
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
  return storage.kind === 'scalar' ? { kind: 'view', type: storage.type, leaves: [storage], isWhole: false } : storage;
}

function standFor(ctx: Context, element: Storage, open: Storage): void {
  ctx.openElements.set(element, open);
  if (element.kind !== 'aggregate' || open.kind !== 'aggregate') return;
  element.elements.forEach((inner, i) => {
    if (open.elements[i]) standFor(ctx, inner, open.elements[i]);
  });
}
