/**
 * Functions of CUDA's and the standard headers whose result depends on data or bits in ways that no address here needs: they touch
 * no memory, so nothing is lost but their value.
 */
import { scalarOf, type Type, types, unqualified, withoutReference } from '../types';
import { unknownValue, type Value } from '../values';
import type { BuiltinCall } from './functions';

/** Reserved names are the compiler's own; those that load, store or synchronise have entries elsewhere. */
const intrinsic =
  /^__(?!ld|st|atomic|pipeline|nv_atomic|cvta|syncthreads|mbarrier|builtin_mem|half_as_\w+\*)(?:[hvuifdb]|ll|ull|nv|double|half|float|int|short|ushort|low|high|lows|highs|sad|byte|bool|all|any|cos|sin|tan|exp|log|pow|rhadd|rcp|sqrt)\w*$/;

const plain: Readonly<Record<string, Type | 'argument'>> = {
  isfinite: types.bool,
  signbit: types.bool,
  isunordered: types.bool,
  h2exp2: 'argument',
  hexp2: 'argument',
  h2log: 'argument',
  h2rcp: 'argument',
  h2rsqrt: 'argument',
  h2sin: 'argument',
  h2cos: 'argument',
  h2tanh: 'argument',
  hsin: 'argument',
  hcos: 'argument',
  hlog2: 'argument',
  hfloor: 'argument',
  hceil: 'argument',
  hrint: 'argument',
  htrunc: 'argument',
  nextafter: 'argument',
  nextafterf: 'argument',
  y0: 'argument',
  y1: 'argument',
  j0f: 'argument',
  j1f: 'argument',
  normcdff: 'argument',
  normcdfinvf: 'argument',
  erfcinvf: 'argument',
  erfcinv: 'argument',
};

/** The result, not known; undefined when the function is none of these. */
export function opaqueFunction(call: BuiltinCall): Value | undefined {
  const { name } = call;
  const type = Object.hasOwn(plain, name) ? plain[name] : intrinsic.test(name) ? 'argument' : undefined;
  if (type === undefined) return undefined;
  const first = call.args[0] === undefined ? types.int : call.value(0).type;
  return unknownOf(call, type === 'argument' ? first : type, `result of ${name}`);
}

export function unknownOf(call: BuiltinCall, wanted: Type, reason: string): Value {
  const type = unqualified(withoutReference(wanted));
  const scalar = scalarOf(type);
  if (scalar) return { kind: 'scalar', type, register: call.ctx.builder.unknown(scalar, reason) };
  if (type.kind === 'array' && type.count !== undefined && type.count <= 4096)
    return {
      kind: 'aggregate',
      type,
      elements: Array.from({ length: type.count }, () => unknownOf(call, type.of, reason)),
    };
  if (type.kind !== 'record') return unknownValue(type, reason);
  return { kind: 'aggregate', type, elements: type.record.fields.map((f) => unknownOf(call, f.type, reason)) };
}
