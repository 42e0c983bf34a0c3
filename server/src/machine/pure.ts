/** Instructions that only compute: nothing but their results tells whether, where and how often they are made. */
import type { Instruction } from '../program/program';

const pure: ReadonlySet<Instruction['op']> = new Set(['unary', 'convert', 'binary', 'compare', 'select', 'fma']);

export const isPure = (i: Instruction): boolean => pure.has(i.op);
