/**
 * CUDA graphs in the program of the host. What is launched while a stream is captured is done when the graph is launched, as often as it is: the run
 * notes it (host/captured-graphs.ts). A graph, and what it is instantiated as, is known by the address of a block of its own.
 */
import type { GraphStep } from '../../program/host-program';
import type { Register } from '../../program/program';
import type { BuiltinCall, BuiltinFunction } from '../builtins/functions';
import { type Context, placeOf } from '../context';
import { number } from '../expressions';
import { dereference } from '../pointers';
import { type Type, types } from '../types';
import { emitHost } from './memory';

const voidPointer: Type = { kind: 'pointer', to: types.void };

/** Something that the run does with graphs stands among the launches, so that nothing moves past it. */
function step({ ctx, node }: BuiltinCall, graph: GraphStep, args: readonly Register[]): void {
  ctx.builder.emit({ op: 'host', fn: 'launch', args, launch: ctx.launches.length });
  ctx.launches.push({
    place: placeOf(ctx, node),
    kernel: '',
    values: args.map((_, i) => ({ kind: 'parameter', parameter: i, path: ['graph'] })),
    graph,
  });
  ctx.launched.push(undefined);
}

const isCapturing = ({ launches }: Context): boolean => launches.some(({ graph }) => graph === 'begin');

/** A copy or a fill that was done, and may be captured: it is not done again where the graph is launched. @param to address of what it writes */
export function noteCaptured(call: BuiltinCall, to: Register): void {
  if (call.name.endsWith('Async') && isCapturing(call.ctx)) step(call, 'memory', [to]);
}

function graphOf(call: BuiltinCall, index: number): Register {
  const value = call.value(index);
  return value.kind === 'scalar' && call.ctx.builder.typeOf(value.register) === 'i64'
    ? value.register
    : call.ctx.builder.unknown('i64', 'a graph that is not known');
}

function assignGraph(call: BuiltinCall, index: number, register: Register): void {
  const place = dereference(call.ctx, call.value(index), call.node);
  const type: Type = place.type.kind === 'pointer' ? place.type : voidPointer;
  call.assign(place, { kind: 'scalar', type, register });
}

const freshGraph = (call: BuiltinCall): Register =>
  emitHost(call.ctx, 'allocate', [call.ctx.builder.constant('i64', 8)]);

/** By the end of a name behind `cuda`; all succeed. */
const steps: readonly (readonly [RegExp, (call: BuiltinCall) => void])[] = [
  [/^StreamBeginCapture/, (call) => step(call, 'begin', [])],
  [
    /^StreamEndCapture$/,
    (call) => {
      const graph = freshGraph(call);
      step(call, 'end', [graph]);
      assignGraph(call, 1, graph);
    },
  ],
  [/^GraphCreate$/, (call) => assignGraph(call, 0, freshGraph(call))],
  [
    /^Graph(?:Instantiate|InstantiateWithFlags|InstantiateWithParams|Clone)$/,
    (call) => assignGraph(call, 0, graphOf(call, 1)),
  ],
  [/^GraphLaunch$/, (call) => step(call, 'launch', [graphOf(call, 0)])],
  [/^GraphExecUpdate$/, (call) => step(call, 'update', [graphOf(call, 0), graphOf(call, 1)])],
  [/^GraphExec\w+SetParams$/, (call) => step(call, 'changed', [graphOf(call, 0)])],
  [/^GraphAdd\w*Node$/, (call) => step(call, 'changed', [graphOf(call, 1)])],
  [/^Graph(?:Exec)?Destroy$/, () => {}],
];

/** What a function of the runtime does with graphs; undefined for all others. */
export function graphFunction(name: string): BuiltinFunction | undefined {
  if (!/^cuda(?:Graph|Stream\w+Capture)/.test(name)) return undefined;
  const [, run] = steps.find(([pattern]) => pattern.test(name.slice(4))) ?? [];
  return (
    run &&
    ((call) => {
      run(call);
      return number(call.ctx, types.int, 0);
    })
  );
}
