/** What host code asks the device, answered as the device of the chosen capability would. */
import {
  attributeAnswer,
  bestBlock,
  type DeviceProperties,
  memberAnswer,
  memberNames,
  otherDevice,
  residentBlocks,
  sharedLeft,
  wideMembers,
} from '../hardware/device-properties';
import type { Expression } from '../parse/ast';
import type { Builtin } from './builtins';
import { target } from './builtins-memory';
import { callFunctionValue } from './call';
import type { HostType } from './host-type';
import { callLambda } from './lambda-call';
import { store } from './memory';
import { lastName } from './scope';
import type { HostState } from './state';
import { number, type UnknownValue, unknown, type Value } from './value';

const isProperties = (type: HostType | undefined): boolean =>
  type?.kind === 'opaque' && /^(cuda|hip)DeviceProp(_t)?$/.test(type.name);

const isArray = (name: string): boolean => memberNames.some(([each, length]) => each === name && length !== undefined);

type Answer = (device: DeviceProperties) => number | undefined;

/** The answer; the run rests on it where another device of the capability would give another one. */
function answer(state: HostState, name: string, of: Answer): Value | undefined {
  const value = state.device && of(state.device);
  if (!state.device || value === undefined) return undefined;
  if (of(otherDevice(state.device)) !== value) state.asked.set(name, value);
  return number(value, wideMembers.has(name) ? 'unsigned long' : 'int');
}

/** `prop.multiProcessorCount`; undefined where it is no member of the device's properties, or not known. */
export function deviceMember(state: HostState, object: UnknownValue, name: string): Value | undefined {
  if (!isProperties(object.type) || isArray(name)) return undefined;
  return answer(state, name, (device) => memberAnswer(device, name));
}

/** `prop.maxGridSize[1]` */
export function deviceElement(state: HostState, array: UnknownValue, index: Value): Value | undefined {
  const name = array.name && /\bmax(GridSize|ThreadsDim)$/.exec(array.name)?.[0];
  if (!name || index.kind !== 'number') return undefined;
  return answer(state, name, (device) => memberAnswer(device, name, index.value));
}

/** Stores an answer behind an argument; what is not known is unknown there. */
function give(state: HostState, behind: Value | undefined, name: string, of: Answer): void {
  const cell = target(state, behind);
  if (!cell) return;
  const type = cell.type ?? ({ kind: 'arithmetic', name: 'int' } as const);
  store(state, cell, answer(state, name, of) ?? unknown(`${name} is answered at run time`, { type }));
}

const numberOf = (value: Value | undefined): number | undefined => (value?.kind === 'number' ? value.value : undefined);

const attribute: Builtin = ({ state, call, values }) => {
  const name = attributeName(call.arguments[1]);
  give(state, values[0], name ?? 'cudaDeviceGetAttribute', (device) =>
    name === undefined ? undefined : attributeAnswer(device, name),
  );
  return number(0);
};

const attributeName = (node: Expression | undefined): string | undefined =>
  node?.kind === 'name' ? lastName(node.name) : undefined;

const activeBlocks: Builtin = ({ state, values }) => {
  const [threads, shared] = [numberOf(values[2]), numberOf(values[3] ?? number(0))];
  give(state, values[0], 'cudaOccupancyMaxActiveBlocksPerMultiprocessor', (device) =>
    threads === undefined || shared === undefined || threads <= 0 ? undefined : residentBlocks(device, threads, shared),
  );
  return number(0);
};

const potentialBlock: Builtin = ({ state, values }) => {
  const shared = numberOf(values[3] ?? number(0));
  return giveBlock(state, values, () => shared);
};

/** The bytes are a function of the block. */
const potentialBlockOfFunction: Builtin = ({ state, values, call }) => {
  const bytes = values[3];
  return giveBlock(state, values, (block) => {
    const list = [{ value: number(block) }];
    if (bytes?.kind === 'function') return numberOf(callFunctionValue(state, bytes, list, call));
    return bytes?.kind === 'lambda' ? numberOf(callLambda(state, bytes, list)) : undefined;
  });
};

function giveBlock(state: HostState, values: readonly Value[], sharedOf: (block: number) => number | undefined): Value {
  const limit = numberOf(values[4] ?? number(0));
  const best = (device: DeviceProperties) => (limit === undefined ? undefined : bestBlock(device, sharedOf, limit));
  give(state, values[0], 'cudaOccupancyMaxPotentialBlockSize (blocks)', (device) => best(device)?.grid);
  give(state, values[1], 'cudaOccupancyMaxPotentialBlockSize (threads)', (device) => best(device)?.block);
  return number(0);
}

const availableShared: Builtin = ({ state, values }) => {
  const [blocks, threads] = [numberOf(values[2]), numberOf(values[3])];
  give(state, values[0], 'cudaOccupancyAvailableDynamicSMemPerBlock', (device) =>
    blocks === undefined || threads === undefined ? undefined : sharedLeft(device, blocks),
  );
  return number(0);
};

export const deviceBuiltins: readonly (readonly [string, Builtin])[] = [
  ['cudaDeviceGetAttribute', attribute],
  ['cuDeviceGetAttribute', attribute],
  ['cudaOccupancyMaxActiveBlocksPerMultiprocessor', activeBlocks],
  ['cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags', activeBlocks],
  ['cudaOccupancyMaxPotentialBlockSize', potentialBlock],
  ['cudaOccupancyMaxPotentialBlockSizeWithFlags', potentialBlock],
  ['cudaOccupancyMaxPotentialBlockSizeVariableSMem', potentialBlockOfFunction],
  ['cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags', potentialBlockOfFunction],
  ['cudaOccupancyAvailableDynamicSMemPerBlock', availableShared],
];
