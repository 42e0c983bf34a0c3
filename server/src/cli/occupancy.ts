/** `warplens occupancy`: the occupancy of one launch, or of one launch a line with --batch, as JSON. */

import { type Occupancy, occupancy } from '../hardware/occupancy';
import { describeStep, occupancySteps } from '../hardware/occupancy-steps';
import { capabilityOf, type JsonObject, messageOf, parseObject } from './json-line';

/** What the command takes, as options or as the fields of a line; shared, barriers and carveout are in bytes or counts. */
export interface OccupancyOptions {
  readonly cc: string;
  readonly threads: number;
  readonly registers: number;
  readonly shared?: number;
  readonly barriers?: number;
  readonly carveout?: number;
}

/** The occupancy object of the contract, with what explains it. */
export interface OccupancyAnswer extends Occupancy {
  readonly registersPerThread: number;
  readonly registersOrigin: 'option';
  readonly staticSharedBytes: number;
}

/** @throws RangeError when it is no whole number of at least `least` */
function count(input: JsonObject, name: string, least: number, fallback?: number): number {
  const value = input[name] ?? fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  const given = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  throw new RangeError(`"${name}" ${given}; give a whole number from ${least} up`);
}

function answer(input: JsonObject): OccupancyAnswer {
  const row = capabilityOf(input);
  const registersPerThread = count(input, 'registers', 0);
  const staticSharedBytes = count(input, 'shared', 0, 0);
  const result = occupancy(row, {
    threadsPerBlock: count(input, 'threads', 1),
    registersPerThread,
    sharedBytesPerBlock: staticSharedBytes,
    barriers: input.barriers === undefined ? undefined : count(input, 'barriers', 0),
    carveoutBytes: input.carveout === undefined ? undefined : count(input, 'carveout', 0),
  });
  return { registersPerThread, registersOrigin: 'option', staticSharedBytes, ...result };
}

/** Answers one line of `occupancy --batch`. Never throws: what is wrong with a line is answered as {"error": …}. */
export function occupancyLine(line: string): string {
  try {
    return JSON.stringify(answer(parseObject(line)));
  } catch (problem) {
    return JSON.stringify({ error: messageOf(problem) });
  }
}

/** The answer to `occupancy` with options: the occupancy and the next steps in words, or what is wrong with them. */
export function occupancyAnswer(
  options: OccupancyOptions,
): (OccupancyAnswer & { readonly steps: readonly string[] }) | { readonly error: string } {
  try {
    const input: JsonObject = { ...options };
    const result = answer(input);
    const steps = occupancySteps(capabilityOf(input), {
      threadsPerBlock: options.threads,
      registersPerThread: options.registers,
      sharedBytesPerBlock: options.shared ?? 0,
      barriers: options.barriers,
      carveoutBytes: options.carveout,
    });
    return { ...result, steps: steps.map((step) => describeStep(step)) };
  } catch (problem) {
    return { error: messageOf(problem) };
  }
}
