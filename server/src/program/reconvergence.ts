/** Where lanes that a branch parted come together again. */

import { type ControlFlow, EXIT, type Loop } from './control-flow';
import type { Program } from './program';

/**
 * Lanes that return early or break out of a loop are simply gone (as on the hardware, where they leave the convergence
 * barrier), so they do not move the meeting point of the others: it is the first block of the same loop that all lanes
 * which stay come through.
 */
export interface Reconvergence {
  /** By block: where the sides of its branch meet; the header of its innermost loop for 'at the next pass'; or EXIT. */
  readonly point: Int32Array;
  /** By loop: where the lanes that left it meet, a block outside of it or EXIT. */
  readonly loopEnd: Int32Array;
}

/** Blocks visited in all before the search ends: then lanes meet at the post-dominator, the next pass or the exit. */
const MOST_VISITS = 3_000_000;

/** Candidates tried for one meeting point before the end of the region is taken. */
const MOST_CANDIDATES = 64;

const known = new WeakMap<Program['blocks'], Reconvergence>();

/** Remembered for the blocks: what is counted of a program, and with which data, changes nothing about it. */
export function reconvergence(program: Program, flow: ControlFlow): Reconvergence {
  let found = known.get(program.blocks);
  if (!found) known.set(program.blocks, (found = computeReconvergence(program, flow)));
  return found;
}

function computeReconvergence(program: Program, flow: ControlFlow): Reconvergence {
  const position = new Int32Array(program.blocks.length).fill(-1);
  flow.order.forEach((block, index) => {
    position[block] = index;
  });
  // A block that does nothing but return needs no meeting: every lane may return on its own.
  const isBareExit = program.blocks.map((block) => block.terminator.kind === 'exit' && block.instructions.length === 0);
  const successors = flow.successors.map((targets) => targets.filter((to) => !isBareExit[to]));
  const work: Work = {
    left: MOST_VISITS,
    stamp: 0,
    found: [],
    ways: new Uint32Array(position.length),
    position,
    order: flow.order,
  };
  const region = (loop: Loop | undefined): Region => ({
    work,
    end: loop ? loop.header : EXIT,
    successors,
    contains: loop?.contains,
  });
  const loopEnd = new Int32Array(flow.loops.length).fill(EXIT);
  for (const loop of flow.loops) {
    const outside = region(loop.parent < 0 ? undefined : flow.loops[loop.parent]);
    const targets = loop.exitBranches.flatMap((block) =>
      nextOf(outside, block).filter((to) => loop.contains[to] === 0),
    );
    loopEnd[loop.index] = targets.length === 0 ? outside.end : meetingPoint(outside, targets, EXIT);
  }
  const point = new Int32Array(program.blocks.length).fill(EXIT);
  // By block: the meeting point of the innermost branch around it. Meetings nest: an inner one is not after it.
  const around = new Int32Array(program.blocks.length).fill(EXIT);
  for (const block of flow.order) {
    if (flow.successors[block].length < 2) continue;
    const loop = flow.loopOf[block] < 0 ? undefined : flow.loops[flow.loopOf[block]];
    const proper = flow.postDominator[block];
    const isInside = proper !== EXIT && !isBareExit[proper] && (loop === undefined || loop.contains[proper] === 1);
    const within = region(loop);
    const next = nextOf(within, block);
    const toProper = isInside && loop && proper !== within.end ? reach(within, next, proper, Slot.passing) : undefined;
    // a way may lead to the next pass of the loop before it comes to where, in the end, all lanes must go
    const isMeeting = isInside && !(toProper && isReached(toProper, within.end));
    point[block] = isMeeting ? proper : meetingPoint(within, next, around[block]);
    if (work.left <= 0) continue;
    const { blocks, count } =
      isMeeting && toProper ? asAgain(work, toProper) : reach(within, next, point[block], Slot.passing);
    for (let k = 0; k < count; k++) if (blocks[k] !== within.end) around[blocks[k]] = point[block];
  }
  return { point, loopEnd };
}

/** The result of a search that would be made a second time, and counts as if it were. */
function asAgain(work: Work, reached: Reached): Reached {
  work.left -= reached.count;
  return reached;
}

/** What all searches in one program share. */
interface Work {
  left: number;
  /** Marks of the last search. */
  stamp: number;
  /** By slot: what the last search there has found. New lists for every search would be quadratic. */
  readonly found: Reached[];
  /** By block: how many of the starts lead to it; 0 between two questions. */
  readonly ways: Uint32Array;
  readonly position: Int32Array;
  readonly order: readonly number[];
}

/** Searches whose marks are looked at together have slots of their own. */
enum Slot {
  passing,
  candidates,
  from,
  others,
}

/** Part of the graph: edges that leave it are dropped, `end` is where it starts anew (or EXIT). */
interface Region {
  readonly end: number;
  readonly work: Work;
  readonly successors: readonly (readonly number[])[];
  /** By block: 1 inside; undefined: everything is. */
  readonly contains: Uint8Array | undefined;
}

function nextOf({ successors, contains }: Region, block: number): readonly number[] {
  return contains ? successors[block].filter((to) => contains[to] === 1) : successors[block];
}

/** What a search has come to, until the next in its slot. */
interface Reached {
  /** The first `count` are blocks, in the order they were found. */
  readonly blocks: Int32Array;
  count: number;
  /** By block: the stamp of the last search that came to it. */
  readonly marks: Int32Array;
  stamp: number;
}

const isReached = ({ marks, stamp }: Reached, block: number): boolean => marks[block] === stamp;

/**
 * The first block through which all lanes that start at `starts` come, but for those that leave: no block can be reached
 * both around it and from it. Where several parts never meet: the one that leads on to `outer`, then one that several
 * starts lead to, then the largest.
 */
function meetingPoint(region: Region, starts: readonly number[], outer: number): number {
  const { work, end } = region;
  // nothing is left to search where all start at one block; most loops have one way out, and written out there are many of them
  if (starts.length > 0 && starts.every((start) => start === starts[0])) return starts[0];
  if (work.left <= 0) return end;
  const { ways } = work;
  for (const start of starts) {
    const { blocks, count } = reach(region, [start], undefined, Slot.from);
    for (let k = 0; k < count; k++) ways[blocks[k]]++;
  }
  const reached = reach(region, starts, undefined, Slot.candidates);
  const leadsOn = outer !== end && isReached(reached, outer);
  const rank = (candidate: number, size: number) => size + (ways[candidate] > 1 ? work.position.length : 0);
  let best = end;
  let highest = -1;
  for (const candidate of firstOf(region, reached)) {
    if (work.left <= 0) break;
    const from = reach(region, [candidate], undefined, Slot.from);
    const ranked = rank(candidate, from.count);
    if (ranked <= highest || (leadsOn && !isReached(from, outer))) continue;
    const others = reach(region, starts, candidate, Slot.others);
    if (shareOther(from, others, candidate)) continue;
    best = candidate;
    highest = ranked;
  }
  for (let k = 0; k < reached.count; k++) ways[reached.blocks[k]] = 0;
  return best;
}

/** Whether two searches have come to a block other than the given one. */
function shareOther({ blocks, count }: Reached, others: Reached, given: number): boolean {
  for (let k = 0; k < count; k++) if (blocks[k] !== given && isReached(others, blocks[k])) return true;
  return false;
}

/** Those that stand first in the order of the flow, as many as are tried. */
function firstOf({ end, work: { position, order } }: Region, { blocks, count }: Reached): number[] {
  const places = blocks.slice(0, count);
  for (let k = 0; k < count; k++) places[k] = position[places[k]];
  places.sort();
  const first: number[] = [];
  for (let k = 0; k < places.length && first.length < MOST_CANDIDATES; k++)
    if (order[places[k]] !== end) first.push(order[places[k]]);
  return first;
}

/** Blocks that can be reached from `starts` (these included) without entering `avoided` or passing the end. */
function reach(
  { end, work, successors, contains }: Region,
  starts: readonly number[],
  avoided: number | undefined,
  slot: Slot,
): Reached {
  const { length } = successors;
  work.found[slot] ??= { blocks: new Int32Array(length), count: 0, marks: new Int32Array(length), stamp: 0 };
  const found = work.found[slot];
  const { blocks, marks } = found;
  const stamp = ++work.stamp;
  let count = 0;
  for (const start of starts) {
    if (start === avoided || marks[start] === stamp) continue;
    marks[start] = stamp;
    blocks[count++] = start;
  }
  for (let at = 0; at < count; at++) {
    if (blocks[at] === end) continue;
    const targets = successors[blocks[at]];
    for (let k = 0; k < targets.length; k++) {
      const next = targets[k];
      if (next === avoided || marks[next] === stamp || contains?.[next] === 0) continue;
      marks[next] = stamp;
      blocks[count++] = next;
    }
  }
  work.left -= count;
  found.count = count;
  found.stamp = stamp;
  return found;
}
