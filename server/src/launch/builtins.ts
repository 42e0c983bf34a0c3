/** Functions of the CUDA runtime and of the C and C++ libraries that the interpreter knows. */
import type { CallExpression } from '../parse/ast';
import { cudaBuiltins } from './builtins-cuda';
import { libraryBuiltins } from './builtins-library';
import { mathBuiltins } from './builtins-math';
import { memoryBuiltins } from './builtins-memory';
import { evaluateArguments, forgetBehind } from './call';
import { callingBuiltins } from './calling';
import { makeVector } from './conversion';
import type { HostArgument } from './function-call';
import { wellKnownType } from './host-type';
import type { Scope } from './scope';
import { type HostState, sourceText } from './state';
import { tupleBuiltins } from './tuples';
import { number, unknown, type Value } from './value';

export interface BuiltinCall {
  readonly state: HostState;
  readonly call: CallExpression;
  readonly scope: Scope;
  readonly list: readonly HostArgument[];
  readonly values: readonly Value[];
}

/** undefined: not one of these after all. */
export type Builtin = (call: BuiltinCall) => Value | undefined;

/** Made at the first call: the modules of the interpreter use each other in a ring. */
let table: ReadonlyMap<string, Builtin> | undefined;

function builtins(): ReadonlyMap<string, Builtin> {
  table ??= new Map([
    ...mathBuiltins,
    ...memoryBuiltins,
    ...cudaBuiltins,
    ...libraryBuiltins,
    ...tupleBuiltins,
    ...callingBuiltins,
  ]);
  return table;
}

/**
 * Evaluates a call of a library function by the last part of its name; undefined when it is not known.
 * @param given its arguments where they have been evaluated already
 */
export function builtinCall(
  state: HostState,
  name: string,
  call: CallExpression,
  scope: Scope,
  given?: readonly HostArgument[],
): Value | undefined {
  const builtin = builtins().get(name) ?? byForm(name);
  if (!builtin) return undefined;
  const list = given ?? evaluateArguments(state, call.arguments, scope);
  return builtin({ state, call, scope, list, values: list.map((argument) => argument.value) });
}

function byForm(name: string): Builtin | undefined {
  if (name.startsWith('make_')) {
    const type = wellKnownType(name.slice(5));
    if (type?.kind === 'vector') return ({ values }) => makeVector(type, values);
  }
  return /^(cuda|cu|cublas|cusparse|cufft|curand|nvtx)[A-Z]/.test(name) ? runtimeCall : undefined;
}

/** A runtime function without a rule of its own succeeds, and what it was given the address of is not known behind it. */
function runtimeCall({ state, call, values }: BuiltinCall): Value {
  const name = sourceText(state, call.callee);
  for (const value of values) forgetBehind(state, value);
  return name.endsWith('String') || name.endsWith('Name') ? unknown('a message') : number(0);
}
