/**
 * Structured control flow from a graph of blocks: N. Ramsey, 'Beyond Relooper: recursive translation of unstructured control flow to
 * structured control flow' (ICFP 2022). A block with several ways in stands behind a label that they leave for; a loop's header
 * heads a loop.
 */

export interface Flow {
  readonly successors: readonly (readonly number[])[];
  /** Reachable blocks, the entry first. */
  readonly order: readonly number[];
  readonly dominator: Int32Array;
}

export interface Emitter {
  readonly openBlock: () => void;
  readonly openLoop: () => void;
  readonly close: () => void;
  /** Leaves `depth` labels, or starts the loop there again. */
  readonly leave: (depth: number) => void;
  /** The block's instructions and its end; `go` has to be called in each place where control goes on to a successor. */
  readonly block: (block: number, go: (target: number) => void, depth: DepthCounter) => void;
}

/** Labels that the emitter opens around a call of `go` on its own account (`if`). */
export interface DepthCounter {
  enter(): void;
  leave(): void;
}

/** Emits all blocks; false where control enters a loop beside its header, of which nothing is to be used then. */
export function structure(flow: Flow, emitter: Emitter): boolean {
  const number = new Int32Array(flow.successors.length).fill(-1);
  flow.order.forEach((block, i) => {
    number[block] = i;
  });
  const children: number[][] = flow.successors.map(() => []);
  const waysIn = new Int32Array(flow.successors.length);
  const isHeader = new Uint8Array(flow.successors.length);
  for (const block of flow.order) {
    if (flow.dominator[block] >= 0) children[flow.dominator[block]].push(block);
    for (const next of flow.successors[block]) {
      if (number[next] > number[block]) waysIn[next]++;
      else if (!dominates(flow.dominator, next, block)) return false;
      else isHeader[next] = 1;
    }
  }
  /** Labels that can be left for, innermost last; -1: one of the emitter's. */
  const labels: number[] = [];
  const depth: DepthCounter = { enter: () => labels.push(-1), leave: () => labels.pop() };
  const go = (from: number, target: number): void => {
    if (number[target] > number[from] && waysIn[target] < 2) tree(target);
    else emitter.leave(labels.length - 1 - labels.lastIndexOf(target));
  };
  const within = (block: number, behind: readonly number[]): void => {
    if (behind.length === 0) {
      emitter.block(block, (target) => go(block, target), depth);
      return;
    }
    const [last, ...rest] = behind;
    emitter.openBlock();
    labels.push(last);
    within(block, rest);
    labels.pop();
    emitter.close();
    tree(last);
  };
  const tree = (block: number): void => {
    const behind = children[block].filter((child) => waysIn[child] >= 2).sort((a, b) => number[b] - number[a]);
    if (isHeader[block] === 0) {
      within(block, behind);
      return;
    }
    emitter.openLoop();
    labels.push(block);
    within(block, behind);
    labels.pop();
    emitter.close();
  };
  tree(flow.order[0]);
  return true;
}

function dominates(dominator: Int32Array, a: number, b: number): boolean {
  for (let block = b; block >= 0; block = dominator[block]) if (block === a) return true;
  return false;
}
