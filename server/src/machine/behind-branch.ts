/**
 * Arms that branch before they store. Where the last of two arms (the one behind `else`) has a loop or an `if` of its own in front of its store, NVVM
 * leaves both stores where they stand, whatever they store and whether or not the index is known in front of the arms; where only the first arm branches it
 * makes one store of them as of any others. An `if` that only computes is none by then: NVVM has made a selection of it. In a loop the one store is made
 * all the same (PTX of 230 kernels, nvcc 13.0, sm_90; loops of which the length is known within count as well, but are written out here by now).
 */
import type { Work } from './arm-plans';
import { isPure } from './pure';

export function isBehindBranch({ flow, blocks }: Work, join: number, arm: number): boolean {
  if (flow.loopOf[join] >= 0) return false;
  const fork = flow.dominator[join];
  for (let end = arm; end !== fork; ) {
    const before = flow.dominator[end];
    if (before < 0 || before === fork) return false;
    const isJoin = flow.postDominator[before] === end && blocks[before].terminator.kind === 'branch';
    if (isJoin && !onlyComputes(before, end)) return true;
    // a condition in parts leads to both arms
    if (!isJoin && blocks[before].terminator.kind === 'branch') return false;
    end = before;
  }
  return false;

  function onlyComputes(branch: number, end: number): boolean {
    if (flow.loopOf[branch] !== flow.loopOf[end]) return false;
    const open = flow.successors[branch].filter((next) => next !== end);
    const seen = new Set(open);
    for (let block = open.pop(); block !== undefined; block = open.pop()) {
      if (flow.loopOf[block] !== flow.loopOf[end] || !blocks[block].instructions.every(isPure)) return false;
      for (const next of flow.successors[block])
        if (next !== end && !seen.has(next)) {
          seen.add(next);
          open.push(next);
        }
    }
    return true;
  }
}
