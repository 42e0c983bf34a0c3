/** Functions of CUDA and the standard library whose headers are not read: found by name in tables. */
import type * as ast from '../../parse/ast';
import { type Context, placeOf } from '../context';
import { convertValue } from '../conversions';
import { emitFence } from '../fences';
import { changeObject, hostFunction } from '../host/functions';
import { store } from '../operators';
import { rvalue } from '../places';
import type { Type } from '../types';
import { scalarOf, types, withoutReference } from '../types';
import { invalidate, registersOf, unknownCall, useValues } from '../unknown-calls';
import { unknownValue, type Value } from '../values';
import { asyncFunctions } from './async-copy';
import { atomicFunctions } from './atomics';
import { conversionFunctions } from './conversion-functions';
import { heapFunctions } from './device-heap';
import { fragmentFunctions } from './fragments';
import { groupFunctions, groupMethod } from './groups';
import { laneFunctions, vote } from './lanes';
import { libraryFunctions } from './library-functions';
import { mathFunction } from './math';
import { memoryFunctions } from './memory-functions';
import { opaqueFunction, unknownOf } from './opaque';
import { textureFunction } from './textures';
import { typeQuestions } from './type-questions';
import { makeVector } from './vectors';

export interface BuiltinCall {
  readonly ctx: Context;
  readonly name: string;
  /** As passed; lvalues are places. */
  readonly args: readonly Value[];
  /** The argument's value. */
  readonly value: (index: number) => Value;
  readonly read: (place: Value) => Value;
  readonly assign: (place: Value, value: Value) => void;
  readonly node: ast.CallExpression;
  readonly callee: Value & { kind: 'builtin' };
  /** Nobody uses the result. */
  readonly discarded: boolean;
}

export type BuiltinFunction = (call: BuiltinCall) => Value;

const nothing: BuiltinFunction = () => ({ kind: 'void', type: types.void });

/** The accesses before it are made before those behind it, to the assembler too. */
const memoryFence: BuiltinFunction = ({ ctx }) => {
  emitFence(ctx, 'memory');
  return { kind: 'void', type: types.void };
};

/** Nothing that is counted here, but the compiler does not know that: calls and volatile assembly in the toolkit's headers. */
const opaque: BuiltinFunction = ({ ctx }) => {
  emitFence(ctx, 'code');
  return { kind: 'void', type: types.void };
};

/** The like, which stays a call in the machine code too: it is handed the values of its arguments. */
const called: BuiltinFunction = ({ ctx, args, value }) => {
  emitFence(
    ctx,
    'call',
    registersOf(
      ctx,
      args.map((_, i) => value(i)),
    ),
  );
  return { kind: 'void', type: types.void };
};

const calledFunctions: readonly string[] = ['printf', '__assert_fail'];

const opaqueFunctions: readonly string[] = [
  '__trap',
  '__brkpt',
  '__nanosleep',
  '__prof_trigger',
  '__pipeline_commit',
  '__pipeline_wait_prior',
  'cudaTriggerProgrammaticLaunchCompletion',
  'cudaGridDependencySynchronize',
];

/** Functions that change nothing that is counted here. */
const ignored: readonly string[] = [
  'static_assert',
  '__builtin_assume',
  '__builtin_unreachable',
  'abort',
  'exit',
  '__builtin_prefetch',
  'prefetch',
  'fprintf',
  'free',
  'launch_dependent_grids',
  'wait_on_dependent_grids',
];

/** The runtime's functions on the device (dynamic parallelism, conditional graphs): they answer a status, and touch no memory of the kernel. */
const runtimeFunctions: readonly string[] = [
  'cudaDeviceSynchronize',
  'cudaGetLastError',
  'cudaPeekAtLastError',
  'cudaGetErrorString',
  'cudaGetErrorName',
  'cudaGetDevice',
  'cudaGetDeviceCount',
  'cudaDeviceGetAttribute',
  'cudaStreamCreateWithFlags',
  'cudaStreamDestroy',
  'cudaStreamWaitEvent',
  'cudaEventCreateWithFlags',
  'cudaEventRecord',
  'cudaEventDestroy',
  'cudaMalloc',
  'cudaFree',
  'cudaMemcpyAsync',
  'cudaMemcpy2DAsync',
  'cudaMemsetAsync',
  'cudaGraphSetConditional',
  'cudaGraphLaunch',
  'cudaGetCurrentGraphExec',
];

const runtime: BuiltinFunction = (call) => {
  const reason = `result of ${call.name}`;
  invalidate(call.ctx, call.args, reason);
  return unknownOf(call, types.int, reason);
};

const barrier =
  (scope: 'block' | 'warp' | 'grid'): BuiltinFunction =>
  ({ ctx, node }) => {
    ctx.builder.emit({ op: 'barrier', scope, place: placeOf(ctx, node) });
    return { kind: 'void', type: types.void };
  };

/** `__syncthreads_count(p)` and its kin */
const votingBarrier =
  (fn: 'blockCount' | 'blockAny' | 'blockAll'): BuiltinFunction =>
  (call) => {
    const value = call.value(0);
    call.ctx.builder.emit({ op: 'barrier', scope: 'block', place: placeOf(call.ctx, call.node) });
    return vote(call.ctx, fn, value, call.node);
  };

const passThrough: BuiltinFunction = ({ args }) => args[0] ?? { kind: 'void', type: types.void };

/** Clamped to 0 … 1. */
const saturate: BuiltinFunction = (call) => {
  const { builder } = call.ctx;
  const x = convertValue(call.ctx, call.value(0), types.float, call.node);
  if (x.kind !== 'scalar') return x;
  const atLeast = builder.binary('max', 'f32', x.register, builder.constant('f32', 0));
  return {
    kind: 'scalar',
    type: types.float,
    register: builder.binary('min', 'f32', atLeast, builder.constant('f32', 1)),
  };
};

const notKnown =
  (type: Type, reason: string): BuiltinFunction =>
  ({ ctx }) => {
    emitFence(ctx, 'code');
    return { kind: 'scalar', type, register: ctx.builder.unknown(type === types.longlong ? 'i64' : 'u32', reason) };
  };

const functions: ReadonlyMap<string, BuiltinFunction> = new Map<string, BuiltinFunction>([
  ...ignored.map((n): [string, BuiltinFunction] => [n, nothing]),
  ...calledFunctions.map((n): [string, BuiltinFunction] => [n, called]),
  ...opaqueFunctions.map((n): [string, BuiltinFunction] => [n, opaque]),
  ...['__threadfence', '__threadfence_block', '__threadfence_system'].map((n): [string, BuiltinFunction] => [
    n,
    memoryFence,
  ]),
  ...runtimeFunctions.map((n): [string, BuiltinFunction] => [n, runtime]),
  ['__syncthreads', barrier('block')],
  ['__syncwarp', barrier('warp')],
  ['__syncthreads_count', votingBarrier('blockCount')],
  ['__syncthreads_and', votingBarrier('blockAll')],
  ['__syncthreads_or', votingBarrier('blockAny')],
  ['move', passThrough],
  ['forward', passThrough],
  ['__saturatef', saturate],
  ['__builtin_expect', passThrough],
  ['__builtin_assume_aligned', passThrough],
  ['as_const', passThrough],
  ['clock', notKnown(types.uint, 'clock')],
  ['clock64', notKnown(types.longlong, 'clock')],
  ['rand', notKnown(types.uint, 'random number')],
  ...Object.entries(memoryFunctions),
  ...Object.entries(heapFunctions),
  ...Object.entries(atomicFunctions),
  ...Object.entries(laneFunctions),
  ...Object.entries(conversionFunctions),
  ...Object.entries(groupFunctions),
  ...Object.entries(asyncFunctions),
  ...Object.entries(fragmentFunctions),
  ...Object.entries(libraryFunctions),
  ...Object.entries(typeQuestions),
]);

const notDefined = ({ unit }: Context, name: string): string =>
  unit.missingLibrary
    ? `${unit.missingLibrary} is not in the folder: ${name} and what follows from it is not known`
    : `${name} is not defined in the files that could be read`;

/** Calls a function that the files read do not define. */
export function callBuiltin(
  ctx: Context,
  callee: Value & { kind: 'builtin' },
  args: readonly Value[],
  node: ast.CallExpression,
  otherwise = notDefined(ctx, callee.name),
): Value {
  const call: BuiltinCall = {
    ctx,
    name: callee.name,
    args,
    value: (i) =>
      args[i]
        ? rvalue(ctx, args[i], node.arguments[i] ?? node)
        : unknownValue({ kind: 'unknown', reason: 'argument' }, `argument ${i + 1} of ${callee.name} is missing`),
    read: (place) => rvalue(ctx, place, node),
    assign: (place, value) => store(ctx, place, value, node),
    node,
    callee,
    discarded: ctx.discarded === node,
  };
  const value = knownFunction(ctx, callee, args, call, node);
  if (!value && ctx.unit.isHost && callee.self) changeObject(call, callee.self);
  if (!value) return unknownCall(ctx, node, args, otherwise, callee.parameters);
  // what the arguments were loaded from is needed, though the result is not computed here
  if (isNotKnown(ctx, value))
    useValues(
      ctx,
      args.map((a, i) => (a.kind === 'place' && isNumber(withoutReference(a.type)) ? call.value(i) : a)),
    );
  return value;
}

function isNotKnown(ctx: Context, value: Value): boolean {
  if (value.kind === 'aggregate') return value.elements.some((element) => isNotKnown(ctx, element));
  return value.kind === 'unknown' || (value.kind === 'scalar' && ctx.builder.isUnknown(value.register));
}

/** A number, or a vector of some. */
const isNumber = (type: Type): boolean =>
  scalarOf(type) !== undefined || (type.kind === 'record' && type.record.isVector === true);

function knownFunction(
  ctx: Context,
  callee: Value & { kind: 'builtin' },
  args: readonly Value[],
  call: BuiltinCall,
  node: ast.CallExpression,
): Value | undefined {
  if (callee.self) {
    const method = groupMethod(call, callee.self);
    if (method) return method;
  }
  const ofHost = ctx.unit.isHost && !callee.self ? hostFunction(call) : undefined;
  if (ofHost) return ofHost;
  const found = functions.get(callee.name);
  if (found) return found(call);
  return (
    mathFunction(call) ??
    (callee.name.startsWith('make_')
      ? makeVector(
          ctx,
          callee.name,
          args.map((_, i) => call.value(i)),
          node,
        )
      : undefined) ??
    textureFunction(call) ??
    opaqueFunction(call)
  );
}
