/** What the batch commands share: one JSON object a line, errors as text. */

import { type Capability, capabilities, capability } from '../hardware/capabilities';

export type JsonObject = Readonly<Record<string, unknown>>;

/** @throws RangeError, with the reason, when the line is no JSON object */
export function parseObject(line: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (problem) {
    throw new RangeError(`not JSON: ${messageOf(problem)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RangeError('not a JSON object; give one {…} a line');
  }
  return value as JsonObject;
}

/**
 * The capability that "cc" names, as text or as a number (9.0).
 * @throws RangeError naming the capabilities there are
 */
export function capabilityOf(input: JsonObject): Capability {
  const { cc } = input;
  const name = typeof cc === 'number' ? cc.toFixed(1) : cc;
  const row = typeof name === 'string' ? capability(name) : undefined;
  if (row !== undefined) return row;
  const known = capabilities.map((each) => each.cc).join(', ');
  const given = cc === undefined ? 'is missing' : `is ${JSON.stringify(cc)}`;
  throw new RangeError(`"cc" ${given}; known capabilities are ${known}`);
}

/** The text of whatever was thrown. */
export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
