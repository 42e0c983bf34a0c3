/** Instructions that only compute: nothing but their results tells whether, where and how often they are made. */
import type { Instruction } from '../program/program';

const pure: ReadonlySet<Instruction['op']> = new Set(['unary', 'convert', 'binary', 'compare', 'select', 'fma']);

export const isPure = (i: Instruction): boolean => pure.has(i.op);

/** Whether the machine code of a division or function has a branch for numbers that it does not do for. */
export const hasSlowPath = (i: Instruction): boolean =>
  'branches' in i && i.branches !== undefined && i.branches !== 'short';
