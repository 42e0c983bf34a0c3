/** Runs programs given as text with a trivial memory model, for tests. */

import assert from 'node:assert/strict';
import { execute } from '../../../server/src/execute/execute';
import type { Execution, InputValue, LaunchShape } from '../../../server/src/execute/execution';
import type { MemoryModel } from '../../../server/src/hardware/memory-model';
import type { Program } from '../../../server/src/program/program';
import { verifyProgram } from '../../../server/src/program/verify';
import { programFrom } from '../program/program-text';

/** Wavefronts: the largest number of distinct words in one of 32 banks. Sectors: distinct 32-byte sectors. */
export const plainModel: MemoryModel = {
  count(shape, addresses, active, first, lanes, out) {
    const banks = new Map<number, Set<number>>();
    const sectors = new Set<number>();
    let count = 0;
    for (let lane = first; lane < first + lanes; lane++) {
      if (active[lane] === 0) continue;
      count++;
      const word = Math.floor(addresses[lane] / 4);
      banks.set(word % 32, (banks.get(word % 32) ?? new Set()).add(word));
      sectors.add(Math.floor(addresses[lane] / 32));
    }
    const isBanked = shape.space === 'shared';
    out.lanes = count;
    out.wavefronts = isBanked ? Math.max(0, ...[...banks.values()].map((words) => words.size)) : 0;
    out.idealWavefronts = isBanked ? 1 : 0;
    out.leastWavefronts = out.idealWavefronts;
    out.sectors = isBanked ? 0 : sectors.size;
    out.idealSectors = isBanked ? 0 : Math.ceil((count * shape.bytes) / 32);
    out.transactions = out.sectors;
  },
};

export interface Launch {
  readonly grid?: LaunchShape['grid'];
  readonly block?: LaunchShape['block'];
  readonly dynamicSharedBytes?: number;
  /** By input name; a number, or 'unknown'. Other parameters are buffers of their own. */
  readonly values?: Readonly<Record<string, number | 'unknown'>>;
  readonly warpInstructions?: number;
  readonly blocks?: number;
}

export function sound(text: string): Program {
  const program = programFrom(text);
  assert.deepEqual(verifyProgram(program), []);
  return program;
}

export function launchOf(program: Program, launch: Launch): LaunchShape {
  const inputs = new Map<number, InputValue>();
  program.inputs.forEach((input, index) => {
    if (input.source.kind !== 'parameter') return;
    const value = launch.values?.[input.name];
    if (value === 'unknown') return;
    inputs.set(
      index,
      value === undefined ? { kind: 'pointer', allocation: index, offset: 0 } : { kind: 'number', value },
    );
  });
  return {
    grid: launch.grid ?? [1, 1, 1],
    block: launch.block ?? [32, 1, 1],
    dynamicSharedBytes: launch.dynamicSharedBytes ?? 0,
    inputs,
  };
}

export function run(text: string, launch: Launch = {}): Execution {
  const program = sound(text);
  const budget = { warpInstructions: launch.warpInstructions ?? 1_000_000, blocks: launch.blocks ?? 64 };
  return execute(program, launchOf(program, launch), plainModel, budget);
}

/** The values of an expression in the lanes of one warp: it is stored as a byte offset, which the witness shows. */
export function offsetsOf(execution: Execution, access: number): readonly number[] {
  const counts = execution.accesses.find((each) => each.access === access);
  return counts?.witness?.addresses ?? [];
}
