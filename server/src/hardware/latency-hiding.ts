/**
 * How many warps hide a latency: while one waits, others issue. Figures of the CUDA C Programming Guide, 'Multiprocessor Level'
 * (edition 4.2 for 1.x to 3.0, 11.x for later ones; from 8.x on the rate of 7.x is carried over).
 */
import type { Capability } from './capabilities';

interface IssueRate {
  /** Independent instructions that a multiprocessor takes in each cycle. */
  readonly instructions: number;
  /** Warps that issue in each cycle; where it takes more instructions than that, two are of one warp. */
  readonly warps: number;
  /** Cycles before a result of plain arithmetic may be used. */
  readonly arithmetic: number;
}

// biome-ignore format: one row a generation
const rates: readonly (readonly [capabilities: string, rate: IssueRate])[] = [
  ['1.0 1.1 1.2 1.3', { instructions: 1 / 4, warps: 1 / 4, arithmetic: 22 }],
  ['2.0', { instructions: 1, warps: 1, arithmetic: 22 }],
  ['2.1', { instructions: 2, warps: 1, arithmetic: 22 }],
  ['3.0', { instructions: 2, warps: 2, arithmetic: 11 }],
  ['3.2 3.5 3.7', { instructions: 8, warps: 4, arithmetic: 11 }],
  ['5.0 5.2 5.3 6.1 6.2', { instructions: 4, warps: 4, arithmetic: 6 }],
  ['6.0', { instructions: 2, warps: 2, arithmetic: 6 }],
];
const sinceVolta: IssueRate = { instructions: 4, warps: 4, arithmetic: 4 };
const byCapability = new Map(rates.flatMap(([names, rate]) => names.split(' ').map((cc) => [cc, rate] as const)));

export function issueRate({ cc }: Capability): IssueRate {
  return byCapability.get(cc) ?? sinceVolta;
}

/** Independent instructions that a multiprocessor has to have at hand to issue through `cycles` of latency. */
export function instructionsToHide(capability: Capability, cycles: number): number {
  return Math.ceil(cycles * issueRate(capability).instructions);
}

/**
 * Resident warps that hide `cycles` of latency (plain arithmetic unless given) when each has `independent` instructions
 * ready at a time.
 */
export function warpsToHide(
  capability: Capability,
  independent = 1,
  cycles = issueRate(capability).arithmetic,
): number {
  return Math.ceil((cycles * issueRate(capability).warps) / Math.max(1, independent));
}
