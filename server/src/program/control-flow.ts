import type { Block, Program } from './program';

/** The virtual block after every exit, as a post-dominator. */
export const EXIT = -1;

/** A natural loop: one header that dominates the body; loops with the same header are one loop. */
export interface Loop {
  readonly index: number;
  readonly header: number;
  /** By block: 1 when it belongs to the loop (inner loops included). */
  readonly contains: Uint8Array;
  /** Its blocks in the order of the flow, the header first. */
  readonly blocks: readonly number[];
  /** Blocks of the loop whose branch leaves it on one side. */
  readonly exitBranches: readonly number[];
  /** Index of the loop around this one, -1 for none. */
  readonly parent: number;
}

export interface ControlFlow {
  readonly successors: readonly (readonly number[])[];
  readonly predecessors: readonly (readonly number[])[];
  /** Reachable blocks in reverse post-order, the entry first. */
  readonly order: readonly number[];
  /** By block: its immediate dominator, -1 for the entry and unreachable blocks. */
  readonly dominator: Int32Array;
  /** By block: its immediate post-dominator, or EXIT. */
  readonly postDominator: Int32Array;
  readonly loops: readonly Loop[];
  /** By block: the innermost loop, -1 for none. */
  readonly loopOf: Int32Array;
  /** By block: the loop it is the header of, -1 for none. */
  readonly loopAtHeader: Int32Array;
}

/** Successors of a block, without repetition. */
export function successorsOf(block: Block): number[] {
  const end = block.terminator;
  if (end.kind === 'jump') return [end.target];
  if (end.kind === 'exit') return [];
  return end.ifTrue === end.ifFalse ? [end.ifTrue] : [end.ifTrue, end.ifFalse];
}

const known = new WeakMap<Program['blocks'], ControlFlow>();

/**
 * Dominators, post-dominators and natural loops of a program, remembered for its blocks. Blocks that cannot be reached are in
 * no list.
 */
export function controlFlow(program: Program): ControlFlow {
  let flow = known.get(program.blocks);
  if (!flow) known.set(program.blocks, (flow = computeFlow(program)));
  return flow;
}

/** Says that the blocks of a program lead to each other as those of another do, so that nothing is computed again. */
export function keepFlow(from: Program, to: Program): void {
  const flow = known.get(from.blocks);
  if (flow) known.set(to.blocks, flow);
}

function computeFlow(program: Program): ControlFlow {
  const successors = program.blocks.map(successorsOf);
  const predecessors = reversed(successors);
  const order = reversePostOrder(successors, 0);
  const dominator = immediateDominators(order, predecessors, successors.length);
  const postDominator = immediatePostDominators(successors, order);
  const { loops, loopOf, loopAtHeader } = naturalLoops(successors, predecessors, order, dominator);
  return { successors, predecessors, order, dominator, postDominator, loops, loopOf, loopAtHeader };
}

/** By block: the last search that came to it. Large kernels ask thousands of times, mostly for a few blocks. */
let seen = new Int32Array(0);
let searches = 0;

/** Blocks reachable from `start` without entering `stop`; `start` itself is included unless it is `stop`. */
export function reachableWithout(successors: readonly (readonly number[])[], start: number, stop: number): number[] {
  if (start === stop || start === EXIT) return [];
  if (seen.length < successors.length) seen = new Int32Array(successors.length);
  const found = [start];
  seen[start] = ++searches;
  for (let at = 0; at < found.length; at++) {
    for (const next of successors[found[at]]) {
      if (next === stop || seen[next] === searches) continue;
      seen[next] = searches;
      found.push(next);
    }
  }
  return found;
}

/** Whether `a` dominates `b`. */
export function dominates(dominator: Int32Array, a: number, b: number): boolean {
  for (let block = b; block >= 0; block = dominator[block]) if (block === a) return true;
  return false;
}

function reversed(edges: readonly (readonly number[])[]): number[][] {
  const result: number[][] = edges.map(() => []);
  edges.forEach((targets, from) => {
    for (const to of targets) result[to].push(from);
  });
  return result;
}

/** Blocks that can be reached from the entry, each before those it leads to but for loops. */
export function reversePostOrder(successors: readonly (readonly number[])[], entry: number): number[] {
  const seen = new Uint8Array(successors.length);
  const order: number[] = [];
  // An explicit stack: inlined and unrolled code may be thousands of blocks deep.
  const path: { block: number; next: number }[] = [{ block: entry, next: 0 }];
  seen[entry] = 1;
  while (path.length > 0) {
    const top = path[path.length - 1];
    const targets = successors[top.block];
    if (top.next < targets.length) {
      const target = targets[top.next++];
      if (seen[target] === 0) {
        seen[target] = 1;
        path.push({ block: target, next: 0 });
      }
    } else {
      order.push(top.block);
      path.pop();
    }
  }
  return order.reverse();
}

/** Immediate dominators of a graph given by its edges; -1 for the entry. */
export const dominatorsOf = (successors: readonly (readonly number[])[], order: readonly number[]): Int32Array =>
  immediateDominators(order, reversed(successors), successors.length);

/** Cooper, Harvey, Kennedy: 'A simple, fast dominance algorithm'. */
function immediateDominators(
  order: readonly number[],
  predecessors: readonly (readonly number[])[],
  count: number,
): Int32Array {
  const position = new Int32Array(count).fill(-1);
  order.forEach((block, index) => {
    position[block] = index;
  });
  const result = new Int32Array(count).fill(-1);
  const entry = order[0];
  const isDone = new Uint8Array(count);
  isDone[entry] = 1;
  const meet = (a: number, b: number) => {
    while (a !== b) {
      while (position[a] > position[b]) a = result[a];
      while (position[b] > position[a]) b = result[b];
    }
    return a;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of order) {
      if (block === entry) continue;
      let dominator = -1;
      for (const from of predecessors[block]) {
        if (isDone[from] === 0) continue;
        dominator = dominator < 0 ? from : meet(dominator, from);
      }
      if (dominator !== result[block] || isDone[block] === 0) {
        result[block] = dominator;
        isDone[block] = 1;
        changed = true;
      }
    }
  }
  return result;
}

function immediatePostDominators(successors: readonly (readonly number[])[], order: readonly number[]): Int32Array {
  const count = successors.length;
  const exit = count;
  // Edges towards the virtual exit; an endless loop gets one from its last block so that it has a post-dominator too.
  const forward: number[][] = [...successors.map((targets) => (targets.length === 0 ? [exit] : [...targets])), []];
  const backward = reversed(forward);
  const reaches = new Uint8Array(count + 1);
  const mark = (start: number) => {
    const work = [start];
    reaches[start] = 1;
    for (let block = work.pop(); block !== undefined; block = work.pop()) {
      for (const from of backward[block]) {
        if (reaches[from] === 0) {
          reaches[from] = 1;
          work.push(from);
        }
      }
    }
  };
  mark(exit);
  for (let i = order.length - 1; i >= 0; i--) {
    if (reaches[order[i]] !== 0) continue;
    forward[order[i]].push(exit);
    backward[exit].push(order[i]);
    mark(order[i]);
  }
  const result = immediateDominators(reversePostOrder(backward, exit), forward, count + 1);
  return result.map((block) => (block === exit ? EXIT : block)).subarray(0, count);
}

function naturalLoops(
  successors: readonly (readonly number[])[],
  predecessors: readonly (readonly number[])[],
  order: readonly number[],
  dominator: Int32Array,
) {
  const count = successors.length;
  const loopOf = new Int32Array(count).fill(-1);
  const loopAtHeader = new Int32Array(count).fill(-1);
  const loops: Loop[] = [];
  const position = new Int32Array(count);
  order.forEach((block, index) => {
    position[block] = index;
  });
  // Headers in reverse post-order: an outer loop comes before the loops inside it.
  for (const header of order) {
    const latches = predecessors[header].filter(
      (from) => position[from] >= position[header] && dominates(dominator, header, from),
    );
    if (latches.length === 0) continue;
    const contains = new Uint8Array(count);
    contains[header] = 1;
    const blocks = [header];
    const add = (block: number) => {
      if (contains[block] === 1) return;
      contains[block] = 1;
      blocks.push(block);
    };
    latches.forEach(add);
    // all that leads to a latch without passing the header
    for (let at = 1; at < blocks.length; at++)
      for (const from of predecessors[blocks[at]]) if (dominator[from] >= 0 || from === order[0]) add(from);
    blocks.sort((a, b) => position[a] - position[b]);
    const index = loops.length;
    const exitBranches = blocks.filter((block) => successors[block].some((to) => contains[to] === 0));
    loops.push({ index, header, contains, blocks, exitBranches, parent: loopOf[header] });
    loopAtHeader[header] = index;
    for (const block of blocks) loopOf[block] = index;
  }
  return { loops, loopOf, loopAtHeader };
}
