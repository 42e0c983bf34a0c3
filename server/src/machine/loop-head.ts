import type { Loop } from '../program/control-flow';
import type { Program, SourcePlace } from '../program/program';

/** Where the head of a loop stands: the condition that a branch of it tests. */
export function headOf(program: Program, loop: Loop): SourcePlace | undefined {
  for (const block of [loop.header, ...loop.exitBranches]) {
    const { terminator } = program.blocks[block];
    if (terminator.kind !== 'branch') continue;
    const site = program.branches[terminator.branch];
    if (site.kind === 'loop') return site.place;
  }
  return undefined;
}
