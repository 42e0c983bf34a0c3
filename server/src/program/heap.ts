/**
 * Memory that lanes ask for in a kernel (`malloc`, `new`). Each lane has a region of its own in a window of addresses, in which one allocation
 * follows the other: what is stored there is found again and is no other memory's. Where the device really puts it nobody knows: accesses to the
 * window have no figure (`execute/access.ts`).
 */
import { addressWindows, HEAP_OF_LANE } from './addresses';
import type { ProgramBuilder } from './builder';
import type { Register } from './program';

/** The device's allocations are aligned to so many bytes. */
const ALIGNMENT = 16;

/** The address of as many bytes (i64) that nobody has had before. */
export function heapAddress(builder: ProgramBuilder, bytes: Register): Register {
  const next = nextOf(builder);
  const address = builder.binary('add', 'i64', next, ownRegion(builder));
  const step = builder.constant('i64', ALIGNMENT);
  const padded = builder.binary('add', 'i64', bytes, builder.constant('i64', ALIGNMENT - 1));
  const room = builder.binary('mul', 'i64', builder.binary('div', 'i64', padded, step), step);
  builder.move(next, builder.binary('add', 'i64', next, room));
  return address;
}

/** Where the next allocation of the lane begins, in the region of the first lane. */
function nextOf(builder: ProgramBuilder): Register {
  if (builder.nextOfHeap !== undefined) return builder.nextOfHeap;
  const next = builder.variable('i64', 'next of the heap');
  builder.nextOfHeap = next;
  builder.atBegin(() => builder.move(next, builder.constant('i64', addressWindows.heap)));
  return next;
}

/** How far the region of the lane is from that of the first. */
function ownRegion(builder: ProgramBuilder): Register {
  const input = (kind: 'threadIdx' | 'blockIdx' | 'blockDim' | 'gridDim', axis: 0 | 1 | 2): Register =>
    builder.convert('u32', 'i64', builder.input('u32', { kind, axis }, `${kind}.${'xyz'[axis]}`));
  const plus = (a: Register, b: Register) => builder.binary('add', 'i64', a, b);
  const times = (a: Register, b: Register) => builder.binary('mul', 'i64', a, b);
  const linear = (index: 'threadIdx' | 'blockIdx', size: 'blockDim' | 'gridDim') =>
    plus(times(plus(times(input(index, 2), input(size, 1)), input(index, 1)), input(size, 0)), input(index, 0));
  const threads = times(times(input('blockDim', 0), input('blockDim', 1)), input('blockDim', 2));
  const lane = plus(times(linear('blockIdx', 'gridDim'), threads), linear('threadIdx', 'blockDim'));
  return times(lane, builder.constant('i64', HEAP_OF_LANE));
}
