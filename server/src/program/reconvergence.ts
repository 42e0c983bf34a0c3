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

export function reconvergence(program: Program, flow: ControlFlow): Reconvergence {
  const position = new Int32Array(program.blocks.length).fill(-1);
  flow.order.forEach((block, index) => {
    position[block] = index;
  });
  // A block that does nothing but return needs no meeting: every lane may return on its own.
  const isBareExit = program.blocks.map((block) => block.terminator.kind === 'exit' && block.instructions.length === 0);
  const successors = flow.successors.map((targets) => targets.filter((to) => !isBareExit[to]));
  const work = { left: MOST_VISITS };
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
    loopEnd[loop.index] = targets.length === 0 ? outside.end : meetingPoint(outside, targets, position, EXIT);
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
    const isMeeting = isInside && !(loop && goesRound(within, next, proper));
    point[block] = isMeeting ? proper : meetingPoint(within, next, position, around[block]);
    if (work.left <= 0) continue;
    for (const inside of reach(within, next, point[block]).blocks) {
      if (inside !== within.end) around[inside] = point[block];
    }
  }
  return { point, loopEnd };
}

/** Whether a way leads from a branch to the next pass of its loop before it comes to where, in the end, all lanes must go. */
function goesRound(region: Region, next: readonly number[], proper: number): boolean {
  return proper !== region.end && reach(region, next, proper).marks[region.end] === 1;
}

/** Part of the graph: edges that leave it are dropped, `end` is where it starts anew (or EXIT). */
interface Region {
  readonly end: number;
  readonly work: { left: number };
  readonly successors: readonly (readonly number[])[];
  /** By block: 1 inside; undefined: everything is. */
  readonly contains: Uint8Array | undefined;
}

function nextOf({ successors, contains }: Region, block: number): readonly number[] {
  return contains ? successors[block].filter((to) => contains[to] === 1) : successors[block];
}

/** Blocks in the order they were found, and the same as marks. */
interface Reached {
  readonly blocks: readonly number[];
  readonly marks: Uint8Array;
}

/**
 * The first block through which all lanes that start at `starts` come, but for those that leave: no block can be reached
 * both around it and from it. Where several parts never meet: the one that leads on to `outer`, then one that several
 * starts lead to, then the largest.
 */
function meetingPoint(region: Region, starts: readonly number[], position: Int32Array, outer: number): number {
  if (region.work.left <= 0) return region.end;
  const fromStarts = starts.map((start) => reach(region, [start], undefined));
  const candidates = reach(region, starts, undefined).blocks.filter((block) => block !== region.end);
  candidates.sort((a, b) => position[a] - position[b]);
  const leadsOn = candidates.includes(outer);
  const rank = (candidate: number, size: number) =>
    size + (fromStarts.filter((each) => each.marks[candidate] === 1).length > 1 ? position.length : 0);
  let best = region.end;
  let highest = -1;
  for (const candidate of candidates.slice(0, MOST_CANDIDATES)) {
    if (region.work.left <= 0) break;
    const from = reach(region, [candidate], undefined);
    const ranked = rank(candidate, from.blocks.length);
    if (ranked <= highest || (leadsOn && from.marks[outer] !== 1)) continue;
    const others = reach(region, starts, candidate);
    if (from.blocks.some((block) => block !== candidate && others.marks[block] === 1)) continue;
    best = candidate;
    highest = ranked;
  }
  return best;
}

/** Blocks that can be reached from `starts` (these included) without entering `avoided` or passing the end. */
function reach(
  { end, work, successors, contains }: Region,
  starts: readonly number[],
  avoided: number | undefined,
): Reached {
  const marks = new Uint8Array(successors.length);
  const blocks: number[] = [];
  for (const start of starts) {
    if (start === avoided || marks[start] === 1) continue;
    marks[start] = 1;
    blocks.push(start);
  }
  for (let at = 0; at < blocks.length; at++) {
    if (blocks[at] === end) continue;
    for (const next of successors[blocks[at]]) {
      if (next === avoided || marks[next] === 1 || contains?.[next] === 0) continue;
      marks[next] = 1;
      blocks.push(next);
    }
  }
  work.left -= blocks.length;
  return { blocks, marks };
}
