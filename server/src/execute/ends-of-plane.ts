/**
 * Blocks next to those at the border of a plane that do something else than inner ones: what a filter clamps at the last column, as
 * soon as its reach goes beyond one block.
 */
import type { BlockClass, BlockIndex } from './grid';
import { areEqual, type Counters } from './piecewise';
import type { SingledBlocks } from './singled-blocks';

/** More blocks than this in a row that differ at an end are no border. */
const MOST_AT_END = 4;

/**
 * By axis: the blocks towards the ends of a class of alike blocks that count something else; undefined where that goes on too far
 * or `run` gives up.
 */
export function endsOfPlane(
  inner: BlockClass,
  counters: Counters,
  run: (block: BlockIndex) => Counters | undefined,
): SingledBlocks | undefined {
  const low = inner.at(0);
  const high = inner.at(inner.size - 1);
  const middle = low.map((first, axis) => Math.floor((first + high[axis]) / 2));
  const found: [number[], number[], number[]] = [[], [], []];
  for (const axis of [0, 1, 2]) {
    for (const [end, step] of [
      [low[axis], 1],
      [high[axis], -1],
    ]) {
      for (let place = end; place !== middle[axis]; place += step) {
        const [x, y, z] = middle.map((at, along) => (along === axis ? place : at));
        const counted = run([x, y, z]);
        if (!counted) return undefined;
        if (areEqual(counted, counters)) break;
        if (Math.abs(place - end) === MOST_AT_END) return undefined;
        found[axis].push(place);
      }
    }
    found[axis].sort((a, b) => a - b);
  }
  return found;
}

/** Blocks that are singled out anyway, and those. */
export function withEnds(singled: SingledBlocks, ends: SingledBlocks | undefined): SingledBlocks {
  if (!ends) return singled;
  const along = (axis: 0 | 1 | 2) => [...new Set([...singled[axis], ...ends[axis]])].sort((a, b) => a - b);
  return [along(0), along(1), along(2)];
}
