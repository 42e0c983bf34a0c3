/** Functions of the CUDA runtime and the C library that move data, or end the program. All calls of the runtime succeed. */
import { memberAnswer } from '../../hardware/device-properties';
import type { Register } from '../../program/program';
import type { BuiltinCall, BuiltinFunction } from '../builtins/functions';
import { unknownOf } from '../builtins/opaque';
import { convertValue, toPredicate } from '../conversions';
import { number } from '../expressions';
import { deviceAnswers } from '../library/device';
import { peeked } from '../places';
import { dereference } from '../pointers';
import { recordOf } from '../records';
import { scalarOf, sizeOf, type Type, types } from '../types';
import { invalidate } from '../unknown-calls';
import { unknownValue, type Value } from '../values';
import { endObject, isDestroyed, sharesDeleters } from './destructors';
import { graphFunction, noteCaptured } from './graphs';
import { launchByFunction } from './launch';
import { changeBehind, emitHost, endProgram, type Pointed, pointed } from './memory';

/** Rows of cudaMallocPitch begin at multiples of it. */
const PITCH = 512;

const voidPointer: Type = { kind: 'pointer', to: types.void };

/** `__warplens_device(k)`: an answer of the device, by its place in the list. */
const deviceAnswer: BuiltinFunction = (call) => {
  const { builder, unit } = call.ctx;
  const index = call.value(0);
  const at = index.kind === 'scalar' ? builder.constantValue(index.register) : undefined;
  const known = unit.device && at !== undefined ? memberAnswer(unit.device, ...deviceAnswers[at]) : undefined;
  if (known !== undefined && known >= 2 ** 31) return number(call.ctx, types.ulong, known);
  const register =
    known === undefined ? builder.unknown('i32', 'what the device answers') : builder.constant('i32', known);
  return { kind: 'scalar', type: types.int, register };
};

const success = (call: BuiltinCall): Value => number(call.ctx, types.int, 0);
const nothing: Value = { kind: 'void', type: types.void };

/** An argument as a 64-bit count; one that is not known stays so. */
function count(call: BuiltinCall, index: number): Register {
  const { builder } = call.ctx;
  if (index >= call.args.length) return builder.constant('i64', 0);
  const value = convertValue(call.ctx, call.value(index), types.long, call.node);
  return value.kind === 'scalar' ? value.register : builder.unknown('i64', 'a size that is not known');
}

const product = (call: BuiltinCall, a: Register, b: Register): Register => call.ctx.builder.binary('mul', 'i64', a, b);
const sum = (call: BuiltinCall, a: Register, b: Register): Register => call.ctx.builder.binary('add', 'i64', a, b);

/** The object of the device that a name (or a reference to it) means, as a pointer. */
function symbol(call: BuiltinCall, index: number): Pointed | undefined {
  const argument = call.args[index];
  if (argument?.kind === 'place' && argument.place.kind === 'memory') {
    const { address, offset } = argument.place;
    return { address: sum(call, address, call.ctx.builder.constant('i64', offset)) };
  }
  return pointer(call, index);
}

const pointer = (call: BuiltinCall, index: number): Pointed | undefined =>
  call.args[index] && pointed(call.ctx, call.value(index), call.node);

const shifted = (call: BuiltinCall, at: Pointed | undefined, by: Register): Pointed | undefined =>
  at && { ...at, address: sum(call, at.address, by) };

function copyBetween(call: BuiltinCall, to: Pointed | undefined, from: Pointed | undefined, bytes: Register): void {
  if (!to) return;
  if (from) emitHost(call.ctx, 'copy', [to.address, from.address, bytes]);
  else emitHost(call.ctx, 'wild', [to.address]);
  noteCaptured(call, to.address);
  to.written?.();
}

/** `f(&p, …)`: the variable gets the address of a new block. */
const allocateInto =
  (bytesAt: number, isDevice = false): BuiltinFunction =>
  (call) => {
    allocated(call, count(call, bytesAt), isDevice);
    return success(call);
  };

function allocated(call: BuiltinCall, bytes: Register, isDevice: boolean): void {
  const register = emitHost(call.ctx, isDevice ? 'allocateDevice' : 'allocate', [bytes]);
  const place = dereference(call.ctx, call.value(0), call.node);
  const type: Type = place.type.kind === 'pointer' ? place.type : voidPointer;
  call.assign(place, { kind: 'scalar', type, register });
}

const allocatePitch: BuiltinFunction = (call) => {
  const { builder } = call.ctx;
  const more = builder.constant('i64', PITCH - 1);
  const pitch = builder.binary('and', 'i64', sum(call, count(call, 2), more), builder.constant('i64', -PITCH));
  call.assign(dereference(call.ctx, call.value(1), call.node), { kind: 'scalar', type: types.ulong, register: pitch });
  allocated(call, product(call, pitch, count(call, 3)), true);
  return success(call);
};

const allocate = (call: BuiltinCall, bytes: Register, isZero = false): Value => ({
  kind: 'scalar',
  type: voidPointer,
  register: emitHost(call.ctx, isZero ? 'allocateZero' : 'allocate', [bytes]),
});

const reallocate: BuiltinFunction = (call) => {
  const bytes = count(call, 1);
  const made = allocate(call, bytes);
  const old = pointer(call, 0);
  if (old && made.kind === 'scalar') emitHost(call.ctx, 'copy', [made.register, old.address, bytes]);
  return made;
};

const copy: BuiltinFunction = (call) => {
  copyBetween(call, pointer(call, 0), pointer(call, 1), count(call, 2));
  return success(call);
};

const copyMemory: BuiltinFunction = (call) => {
  copy(call);
  return call.value(0);
};

/** (symbol, source, bytes, offset) */
const copyToSymbol: BuiltinFunction = (call) => {
  copyBetween(call, shifted(call, symbol(call, 0), count(call, 3)), pointer(call, 1), count(call, 2));
  return success(call);
};

/** (destination, symbol, bytes, offset) */
const copyFromSymbol: BuiltinFunction = (call) => {
  copyBetween(call, pointer(call, 0), shifted(call, symbol(call, 1), count(call, 3)), count(call, 2));
  return success(call);
};

const symbolAddress: BuiltinFunction = (call) => {
  const at = symbol(call, 1);
  const place = dereference(call.ctx, call.value(0), call.node);
  if (at) call.assign(place, { kind: 'scalar', type: voidPointer, register: at.address });
  return success(call);
};

/** Both addresses mean the same block. */
const devicePointer: BuiltinFunction = (call) => {
  call.assign(dereference(call.ctx, call.value(0), call.node), call.value(1));
  return success(call);
};

/** (destination, pitch, source, pitch, width, height): where both pitches are the width, one copy; else row by row is not followed. */
const copyRows: BuiltinFunction = (call) => {
  const to = pointer(call, 0);
  const from = pointer(call, 2);
  if (to && from)
    call.ctx.builder.emit({
      op: 'host',
      fn: 'copy',
      args: [to.address, from.address, count(call, 4), count(call, 5), count(call, 1), count(call, 3)],
    });
  if (to) noteCaptured(call, to.address);
  to?.written?.();
  return success(call);
};

function fill(call: BuiltinCall): void {
  const to = pointer(call, 0);
  if (!to) return;
  emitHost(call.ctx, 'fill', [to.address, count(call, 1), count(call, 2)]);
  noteCaptured(call, to.address);
  to.written?.();
}

const end: BuiltinFunction = (call) => {
  const { builder } = call.ctx;
  // of abort and the like none is given
  const status = call.args.length === 1 ? call.value(0) : number(call.ctx, types.int, 1);
  const register = status.kind === 'scalar' ? status.register : undefined;
  const isKnown = register !== undefined && builder.constantValue(register) !== undefined;
  endProgram(call.ctx, 'end', isKnown ? register : undefined);
  return nothing;
};

const unknownNumber =
  (type: Type, reason: string): BuiltinFunction =>
  (call) =>
    unknownOf(call, type, reason);

const swap: BuiltinFunction = (call) => {
  const [a, b] = [0, 1].map((i) => peeked(call.ctx, call.args[i], call.node));
  call.assign(call.args[0], b);
  call.assign(call.args[1], a);
  return nothing;
};

/** `std::move(x)`: who reads it takes what it holds. */
const handOver: BuiltinFunction = ({ args: [given] }) =>
  given?.kind === 'place' ? { ...given, handed: 'expiring' } : (given ?? nothing);

/** `std::forward<T>(x)`: as it was given. */
const handOn: BuiltinFunction = ({ args: [given] }) =>
  given?.kind === 'place' && given.handed === 'given' ? { ...given, handed: 'expiring' } : (given ?? nothing);

/** (place, value): an object is made there, whatever was there before. */
const placeObject: BuiltinFunction = (call) => {
  const [at, given] = call.args;
  if (at?.kind !== 'place' || !given) return nothing;
  const value = convertValue(call.ctx, call.value(1), at.type, call.node);
  call.assign(at, value);
  return nothing;
};

const endPlace: BuiltinFunction = (call) => {
  endObject(call.ctx, call.args[0], call.node);
  return nothing;
};

const noEffect: BuiltinFunction = (call) => success(call);

/** (stream, text): the text is another one afterwards. Of C, where the file is not followed: all that it is given. */
const readLine: BuiltinFunction = (call) => {
  const text = call.args[1];
  if (call.args[0]?.type.kind === 'pointer') changeBehind(call.ctx, call.args, call.node);
  else if (text) {
    changeBehind(call.ctx, [text], call.node);
    call.assign(text, unknownValue(text.type, 'a line that was read'));
  }
  return unknownOf(call, types.bool, 'whether there was a line');
};

function release(call: BuiltinCall): Value {
  if (call.ctx.keepsMemory) return nothing;
  const block = pointer(call, 0);
  if (block) emitHost(call.ctx, 'release', [block.address]);
  return nothing;
}

const named = (names: readonly string[], f: BuiltinFunction): [string, BuiltinFunction][] => names.map((n) => [n, f]);

const functions: ReadonlyMap<string, BuiltinFunction> = new Map<string, BuiltinFunction>([
  ...named(['cudaMalloc', 'cudaMallocAsync', 'cudaMallocFromPoolAsync'], allocateInto(1, true)),
  ...named(['cudaMallocManaged', 'cudaMallocHost', 'cudaHostAlloc'], allocateInto(1)),
  ['posix_memalign', allocateInto(2)],
  ['cudaMallocPitch', allocatePitch],
  ...named(['malloc', '_mm_malloc', '__warplens_allocate'], (call) => allocate(call, count(call, 0))),
  ...named(['aligned_alloc', 'memalign'], (call) => allocate(call, count(call, 1))),
  ['__warplens_allocate_zero', (call) => allocate(call, count(call, 0), true)],
  ['calloc', (call) => allocate(call, product(call, count(call, 0), count(call, 1)), true)],
  ['realloc', reallocate],
  ...named(['__warplens_release', 'free'], release),
  ...named(['cudaFree', 'cudaFreeHost', 'cudaFreeAsync'], (call) => {
    release(call);
    return success(call);
  }),
  [
    '__warplens_certainly',
    (call) => {
      const { builder } = call.ctx;
      const register = builder.register('pred', 'temporary');
      const condition = toPredicate(call.ctx, call.value(0), call.node);
      builder.emit({ op: 'host', fn: 'certain', dst: register, args: [condition] });
      return { kind: 'scalar', type: types.bool, register };
    },
  ],
  [
    '__warplens_seed',
    (call) => {
      const seed = call.value(0);
      const wide =
        seed.kind === 'scalar'
          ? call.ctx.builder.convert(scalarOf(seed.type) ?? 'i64', 'i64', seed.register)
          : undefined;
      const given = wide ?? call.ctx.builder.unknown('i64', 'the seed');
      return { kind: 'scalar', type: types.long, register: emitHost(call.ctx, 'seed', [given]) };
    },
  ],
  [
    '__warplens_file',
    (call) => {
      const name = pointer(call, 0);
      const address = name?.address ?? call.ctx.builder.unknown('i64', 'the name of a file');
      return { kind: 'scalar', type: types.long, register: emitHost(call.ctx, 'file', [address, count(call, 1)]) };
    },
  ],
  [
    '__warplens_touch',
    (call) => {
      const block = pointer(call, 0);
      if (block) emitHost(call.ctx, 'touch', [block.address]);
      return nothing;
    },
  ],
  ['__warplens_place', placeObject],
  ['__warplens_end', endPlace],
  ['__warplens_ends', (call) => number(call.ctx, types.bool, isDestroyed(call.ctx, call.args[0].type) ? 1 : 0)],
  ['__warplens_shares_deleters', ({ ctx }) => number(ctx, types.bool, sharesDeleters(ctx) ? 1 : 0)],
  ['__warplens_caught', (call) => number(call.ctx, types.bool, call.ctx.tries.length > 0 ? 1 : 0)],
  ['__warplens_is_plain', (call) => number(call.ctx, types.bool, isPlain(call.args[0]?.type) ? 1 : 0)],
  ...named(['cudaMemcpy', 'cudaMemcpyAsync'], copy),
  ...named(['memcpy', 'memmove', '__builtin_memcpy'], copyMemory),
  ...named(['cudaMemcpyToSymbol', 'cudaMemcpyToSymbolAsync'], copyToSymbol),
  ...named(['cudaMemcpyFromSymbol', 'cudaMemcpyFromSymbolAsync'], copyFromSymbol),
  ['cudaGetSymbolAddress', symbolAddress],
  ['cudaHostGetDevicePointer', devicePointer],
  ...named(['cudaMemcpy2D', 'cudaMemcpy2DAsync'], copyRows),
  ...named(['cudaMemset', 'cudaMemsetAsync'], (call) => {
    fill(call);
    return success(call);
  }),
  [
    'memset',
    (call) => {
      fill(call);
      return call.value(0);
    },
  ],
  ...named(['exit', '_Exit', '_exit', 'abort', 'quick_exit', 'terminate', '__assert_fail'], end),
  ['swap', swap],
  ['move', handOver],
  ['forward', handOn],
  ['getline', readLine],
  ...named(
    [
      'cudaDeviceSynchronize',
      'cudaStreamSynchronize',
      'cudaEventSynchronize',
      'cudaEventRecord',
      'cudaGetLastError',
      'cudaPeekAtLastError',
      'cudaSetDevice',
      'cudaDeviceReset',
      'cudaMemPrefetchAsync',
      'cudaMemAdvise',
      'cudaFuncSetAttribute',
      'cudaFuncSetCacheConfig',
      'cudaStreamDestroy',
      'cudaEventDestroy',
      'puts',
      'putchar',
      'fputs',
      'fflush',
      'fclose',
      'printf',
      'fprintf',
      'assert',
      'perror',
      'setvbuf',
      'strcmp_',
    ],
    noEffect,
  ),
  ['getenv', (call) => ({ kind: 'scalar', type: voidPointer, register: call.ctx.builder.constant('i64', 0) })],
  ['__warplens_device', deviceAnswer],
  ...named(['time', 'clock'], unknownNumber(types.long, 'the time')),
]);

/** Copied byte by byte, and zero when made. */
function isPlain(type: Type | undefined): boolean {
  if (!type) return false;
  if (scalarOf(type) || type.kind === 'callable') return true;
  if (type.kind === 'array') return isPlain(type.of);
  return (
    type.kind === 'record' && !type.record.methods.has('__copied') && type.record.fields.every((f) => isPlain(f.type))
  );
}

/** (kernel, grid, block, arguments, shared, …) */
const launchKernel: BuiltinFunction = (call) => {
  const [kernel, grid, block, , shared] = call.args.map((_, i) => call.value(i));
  const list = pointer(call, 3);
  const args = list ? { pointers: list.address } : [];
  launchByFunction(call.ctx, kernel, { grid, block, shared }, args, call.node);
  return success(call);
};

/** (configuration, kernel, …): what follows is passed, or leads to what is. */
const launchExtended =
  (isList: boolean): BuiltinFunction =>
  (call) => {
    const given = call.read(dereference(call.ctx, call.value(0), call.node));
    const record = given.kind === 'aggregate' ? recordOf(given.type) : undefined;
    const field = (name: string): Value | undefined =>
      given.kind === 'aggregate' ? given.elements[record?.fields.findIndex((f) => f.name === name) ?? -1] : undefined;
    const parts = { grid: field('gridDim'), block: field('blockDim'), shared: field('dynamicSmemBytes') };
    const list = isList ? pointer(call, 2) : undefined;
    const args = list ? { pointers: list.address } : call.args.slice(2);
    launchByFunction(call.ctx, call.value(1), parts, args, call.node);
    return success(call);
  };

const launches: ReadonlyMap<string, BuiltinFunction> = new Map([
  ['cudaLaunchKernel', launchKernel],
  ['cudaLaunchCooperativeKernel', launchKernel],
  ['cudaLaunchKernelEx', launchExtended(false)],
  ['cudaLaunchKernelExC', launchExtended(true)],
]);

/** Calls of the runtime and its libraries: they succeed, and what their arguments lead to may have changed. */
const runtime = /^(?:cuda|cu|cublas|cusparse|curand|cufft|cusolver|cudnn|nvtx|nvml|nccl)[A-Z_]/;

/** What a call does in the program of the host; undefined when it is a function like any other. */
export function hostFunction(call: BuiltinCall): Value | undefined {
  const known = functions.get(call.name) ?? launches.get(call.name) ?? graphFunction(call.name);
  if (known) return known(call);
  if (!runtime.test(call.name)) return undefined;
  const values = call.args.map((_, i) => call.value(i));
  invalidate(call.ctx, values, `set by ${call.name}`);
  changeBehind(call.ctx, values, call.node);
  return success(call);
}

/** Of a method that is not known, the object may be anything afterwards. */
export function changeObject(call: BuiltinCall, self: Value): void {
  if (self.kind !== 'place' || sizeOf(self.type) === undefined) return;
  const before = call.read(self);
  changeBehind(call.ctx, [before], call.node);
  if (before.kind === 'aggregate') call.assign(self, unknownValue(self.type, `changed by ${call.name}`));
}
