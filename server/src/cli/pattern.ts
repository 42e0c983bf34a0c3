/** `warplens pattern --batch`: one warp access a line of JSON in, its counters as a line of JSON out. */

import { type AccessBytes, type Capability, capabilities, keplerEightByteMode } from '../hardware/capabilities';
import { explainShared } from '../hardware/explain';
import { type AccessShape, emptyCounts, type MemoryModel, memoryModel } from '../hardware/memory-model';
import { SWAP } from '../hardware/shared-memory';
import { transactions } from '../hardware/transactions';
import { capabilityOf, type JsonObject, messageOf, parseObject } from './json-line';

const LANES = 32;
/** Above this a double no longer tells neighbouring bytes apart. */
const LARGEST_ADDRESS = 2 ** 53 - 1;
/** The shared window is 32 bits wide. */
const LARGEST_SHARED_ADDRESS = 2 ** 32 - 1;

const spaces = ['shared', 'global', 'constant', 'local', 'texture'] as const;
const operations = ['load', 'store', 'atomic'] as const;
const atomics = ['add-constant', 'integer', 'float'] as const;
const cachings = ['l1', 'l2'] as const;
const widths = [1, 2, 4, 8, 16] as const;

const operationsOf: Readonly<Record<AccessShape['space'], readonly string[]>> = {
  shared: operations,
  global: operations,
  local: ['load', 'store'],
  constant: ['load'],
  texture: ['load'],
};

/** One of the allowed values; when absent the fallback, which may be none. */
function oneOf<T extends string | number>(input: JsonObject, name: string, allowed: readonly T[], fallback?: T): T {
  const value = input[name] ?? fallback;
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const given = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  throw new RangeError(`"${name}" ${given}; use one of ${allowed.join(', ')}`);
}

function readShape(input: JsonObject, row: Capability): AccessShape {
  const space = oneOf(input, 'space', spaces);
  const operation = oneOf(input, 'operation', operations);
  const bytes: AccessBytes = oneOf(input, 'bytes', widths, 4);
  if (!operationsOf[space].includes(operation)) throw new RangeError(`${space} memory has no ${operation}`);
  const shape: AccessShape = { space, operation, bytes };
  if (operation === 'atomic') {
    if (bytes === 1) throw new RangeError('there are no 1-byte atomics; "bytes" is 2, 4, 8 or 16');
    if ((space === 'shared' ? row.shared : row.global).atomics === 'none') {
      throw new RangeError(`capability ${row.cc} has no atomics in ${space} memory`);
    }
    shape.atomic = oneOf(input, 'atomic', atomics, 'integer');
    shape.resultUsed = input.resultUsed === true;
  }
  if (input.caching !== undefined) shape.caching = oneOf(input, 'caching', cachings);
  return shape;
}

function readAddresses(input: JsonObject, shape: AccessShape, addresses: Float64Array, active: Uint8Array): void {
  const list = input.addresses;
  if (!Array.isArray(list))
    throw new RangeError('"addresses" is missing; give 32 byte addresses, null where a lane is inactive');
  if (list.length === 0 || list.length > LANES) {
    throw new RangeError(`"addresses" has ${list.length} entries; a warp has ${LANES} lanes`);
  }
  const largest = shape.space === 'shared' ? LARGEST_SHARED_ADDRESS : LARGEST_ADDRESS;
  for (let lane = 0; lane < LANES; lane++) {
    const address: unknown = list[lane] ?? null;
    active[lane] = address === null ? 0 : 1;
    addresses[lane] = 0;
    if (address === null) continue;
    if (typeof address !== 'number' || !Number.isInteger(address) || address < 0 || address > largest) {
      throw new RangeError(
        `lane ${lane}: ${JSON.stringify(address)} is no byte address (a whole number from 0 to ${largest})`,
      );
    }
    if (address % shape.bytes !== 0) {
      throw new RangeError(`lane ${lane}: address ${address} is not a multiple of ${shape.bytes}, the access faults`);
    }
    addresses[lane] = address;
  }
}

const models = new Map<Capability, MemoryModel>();
const eightByteModes = new Map(capabilities.map((row) => [row, keplerEightByteMode(row)]));

function modelOf(row: Capability): MemoryModel {
  let model = models.get(row);
  if (model === undefined) models.set(row, (model = memoryModel(row)));
  return model;
}

/** The table row, in the eight-byte bank mode of 3.x where "bankMode" is 8. */
function readCapability(input: JsonObject): Capability {
  const row = capabilityOf(input);
  return oneOf(input, 'bankMode', [4, 8], 4) === 8 ? (eightByteModes.get(row) ?? row) : row;
}

const addresses = new Float64Array(LANES);
const active = new Uint8Array(LANES);
const counts = emptyCounts();

/** The wavefronts of the atomic instructions alone: without a swap loop's loads. */
function atomicWavefronts(row: Capability, shape: AccessShape): { atomicWavefronts?: number } {
  if (shape.space !== 'shared' || shape.operation !== 'atomic') return {};
  if (shape.atomic === 'float') {
    const { worst } = explainShared(row, shape, addresses, active, 0, LANES);
    return { atomicWavefronts: SWAP * (worst?.lanes.length ?? 0) };
  }
  return { atomicWavefronts: counts.wavefronts };
}

/**
 * Answers one line of `pattern --batch` (see the command-line contract). Never throws: what is wrong with a line is
 * answered as {"error": …}. Beyond the contract, answers carry leastWavefronts (what these lanes need wherever their
 * data lies), lanes (active ones) and, for shared atomics, atomicWavefronts. "bankMode": 8 sets the banks of 3.x.
 */
export function patternLine(line: string): string {
  try {
    const input = parseObject(line);
    const row = readCapability(input);
    const shape = readShape(input, row);
    readAddresses(input, shape, addresses, active);
    modelOf(row).count(shape, addresses, active, 0, LANES, counts);
    return JSON.stringify({
      wavefronts: counts.wavefronts,
      idealWavefronts: counts.idealWavefronts,
      leastWavefronts: counts.leastWavefronts,
      ...atomicWavefronts(row, shape),
      sectors: counts.sectors,
      idealSectors: counts.idealSectors,
      lanes: counts.lanes,
      transactions: transactions(row, shape, addresses, active, 0, LANES).map(({ address, bytes }) => ({
        address,
        bytes,
      })),
    });
  } catch (problem) {
    return JSON.stringify({ error: messageOf(problem) });
  }
}
