/** Launches by functions of the runtime and the driver: what each is given, told as `<<<…>>>(…)` would be. */
import type { Expression } from '../parse/ast';
import type { Builtin, BuiltinCall } from './builtins';
import { decay } from './conversion';
import { dim3Type } from './host-type';
import { type Configuration, type Passed, record } from './launch-expression';
import { makeCell } from './memory';
import { dereference, read } from './place';
import { type HostState, sourceText } from './state';
import { number, unknown, type Value } from './value';

interface Told {
  readonly kernel: Value;
  /** the kernel as it stands in the text */
  readonly text: string;
  readonly configuration: Configuration;
  readonly list: readonly Passed[];
}

type Reading = (call: BuiltinCall) => Told;

/** (kernel, grid, block, arguments, shared, …) */
const plain: Reading = ({ state, call, values: [kernel, grid, block, list, shared] }) => ({
  kernel: kernel ?? unknown('no kernel'),
  text: kernelText(state, call.arguments[0]),
  configuration: {
    grid: grid ?? unknown('the launch gives no grid'),
    block: block ?? unknown('the launch gives no block'),
    shared: shared ?? number(0, 'unsigned long'),
  },
  list: pointedTo(state, list, call),
});

/** (configuration, kernel, …): what follows is passed, or leads to what is. */
const extended =
  (listOf: (call: BuiltinCall) => readonly Passed[]): Reading =>
  (call) => {
    const { state, values } = call;
    const field = fieldsOf(state, values[0], call.call, 'launch configuration');
    return {
      kernel: values[1] ?? unknown('no kernel'),
      text: kernelText(state, call.call.arguments[1]),
      configuration: { grid: field('gridDim'), block: field('blockDim'), shared: field('dynamicSmemBytes') },
      list: listOf(call),
    };
  };

/** (kernel, three numbers of the grid, three of the block, shared, stream, arguments, …) */
const driver: Reading = ({ state, call, values }) => ({
  kernel: values[0] ?? unknown('no kernel'),
  text: kernelText(state, call.arguments[0]),
  configuration: {
    grid: triple(values.slice(1, 4)),
    block: triple(values.slice(4, 7)),
    shared: values[7] ?? number(0),
  },
  list: pointedTo(state, values[9], call),
});

/** (node, graph, dependencies, their number, parameters): the graph launches it later, with what the parameters say now. */
const graphNode: Reading = ({ state, call, values }) => {
  const field = fieldsOf(state, values[4], call, 'parameters of the node');
  return {
    kernel: field('func'),
    text: '',
    configuration: { grid: field('gridDim'), block: field('blockDim'), shared: field('sharedMemBytes') },
    list: pointedTo(state, field('kernelParams'), call),
  };
};

const readings: ReadonlyMap<string, Reading> = new Map([
  ['cudaLaunchKernel', plain],
  ['cudaLaunchCooperativeKernel', plain],
  ['cudaLaunchKernelEx', extended(({ values }) => values.slice(2).map((value) => ({ value })))],
  ['cudaLaunchKernelExC', extended(({ state, values, call }) => pointedTo(state, values[2], call))],
  ['cuLaunchKernel', driver],
  ['cudaGraphAddKernelNode', graphNode],
]);

/** Functions that launch a kernel. */
export const launchFunctions: ReadonlySet<string> = new Set(readings.keys());

/** The functions as the host's code calls them: each records its launch and gives cudaSuccess. */
export const launchBuiltins: readonly (readonly [string, Builtin])[] = [...readings].map(([name, reading]) => [
  name,
  (call) => {
    if (call.values.length === 0) return number(0);
    const { kernel, text, configuration, list } = reading(call);
    record(call.state, call.call, text, kernel, configuration, list, call.scope);
    return number(0);
  },
]);

function kernelText(state: HostState, expression: Expression | undefined): string {
  if (!expression) return '';
  if (expression.kind === 'cast' && expression.arguments.length === 1)
    return kernelText(state, expression.arguments[0]);
  if (expression.kind === 'unary') return kernelText(state, expression.operand);
  return sourceText(state, expression);
}

function triple(values: readonly Value[]): Value {
  const fields = new Map(['x', 'y', 'z'].map((name, index) => [name, makeCell(values[index] ?? number(1))]));
  return { kind: 'struct', type: dim3Type, fields };
}

/** The fields of a struct that is given by its address. */
function fieldsOf(state: HostState, value: Value | undefined, at: Expression, what: string): (name: string) => Value {
  const config = value?.kind === 'pointer' ? read(dereference(state, value, at)) : value;
  return (name) => {
    const cell = config?.kind === 'struct' ? config.fields.get(name) : undefined;
    return cell?.value ?? unknown(`${name} of the ${what} is not known`);
  };
}

/** The arguments behind `void* args[] = {&a, &b}`. */
function pointedTo(state: HostState, value: Value | undefined, at: Expression): Passed[] {
  const list = value && decay(value);
  if (list?.kind !== 'pointer' || Number.isNaN(list.offset)) return [];
  const offsets = [...list.to.cells.keys()].filter((offset) => offset >= list.offset).sort((a, b) => a - b);
  return offsets.map((offset) => {
    const pointer = list.to.cells.get(offset)?.value;
    return {
      value:
        pointer?.kind === 'pointer' ? read(dereference(state, pointer, at)) : unknown('an argument that is not known'),
    };
  });
}
