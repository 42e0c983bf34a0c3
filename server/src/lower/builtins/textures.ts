/**
 * Texture fetches and surface accesses: they are accesses of the texture path, but which bytes a coordinate means follows from a
 * layout that NVIDIA does not publish (and from addressing modes and filters of the host's descriptor), so that none of them has a figure.
 */
import type { Register } from '../../program/program';
import { inUserText, placeOf, textOf } from '../context';
import { rvalue, writeStorage } from '../places';
import { dereference } from '../pointers';
import { scalarOf, type Type, types, unqualified, withoutReference } from '../types';
import { useValues } from '../unknown-calls';
import { unknownValue, type Value } from '../values';
import type { BuiltinCall } from './functions';
import { unknownOf } from './opaque';

const REASON = 'the layout of textures and surfaces in memory is not public';
/** Linear memory, as it is, but of an object that the host makes. */
const LINEAR = 'the memory that the texture is bound to is not followed';

const fetch = /^tex(?:[123]D\w*|Cubemap\w*)$/;
const surfaceLoad = /^surf(?:[123]D\w*|Cubemap\w*)read$/;
const surfaceStore = /^surf(?:[123]D\w*|Cubemap\w*)write$/;

/** The value of a call that reads or writes a texture or surface; undefined when the function is none. */
export function textureFunction(call: BuiltinCall): Value | undefined {
  const { name } = call;
  if (fetch.test(name)) return load(call, texelType(call));
  if (surfaceStore.test(name)) {
    store(call);
    return { kind: 'void', type: types.void };
  }
  if (!surfaceLoad.test(name)) return undefined;
  const target = call.args[0] && call.value(0);
  const place = target?.type.kind === 'pointer' ? dereference(call.ctx, target, call.node) : undefined;
  // the older form stores what it read through its first argument
  if (place?.kind !== 'place') return load(call, texelType(call));
  const value = load(call, place.type);
  if (place.place.kind === 'storage') writeStorage(call.ctx, place.place.storage, value, call.node);
  else call.assign(place, value);
  return { kind: 'void', type: types.void };
}

/** `tex2D<float4>(…)`; of a reference `texture<float4, 2>` its own type. */
function texelType({ callee, args }: BuiltinCall): Type {
  const wanted = callee.templateArguments?.[0];
  if (wanted?.kind === 'type') return wanted.type;
  const of = args[0] && withoutReference(args[0].type);
  const own = of?.kind === 'record' ? of.record.templateArguments?.[0] : undefined;
  return own?.kind === 'type' ? own.type : { kind: 'unknown', reason: 'type of a texel' };
}

function load(call: BuiltinCall, wanted: Type): Value {
  const { builder } = call.ctx;
  const type = unqualified(withoutReference(wanted));
  const scalars = scalarsOf(type);
  const of = scalars[0] ?? 'f32';
  const dst = (scalars.length > 0 ? scalars : [of]).map(() => builder.register(of, 'temporary'));
  builder.emit({ op: 'load', type: of, dst, address: open(call), offset: 0, access: site(call, 'load') });
  if (scalarOf(type)) return { kind: 'scalar', type, register: dst[0] };
  if (type.kind !== 'record' || type.record.fields.length !== dst.length) return unknownTexel(call, type);
  const elements = type.record.fields.map((f, i): Value => ({ kind: 'scalar', type: f.type, register: dst[i] }));
  return { kind: 'aggregate', type, elements };
}

const unknownTexel = (call: BuiltinCall, type: Type): Value =>
  type.kind === 'unknown' ? unknownValue(type, 'texels are not known') : unknownOf(call, type, 'texels are not known');

function store(call: BuiltinCall): void {
  const { builder } = call.ctx;
  const value = call.value(0);
  const parts = value.kind === 'aggregate' ? value.elements : [value];
  const values = parts.flatMap((part) => (part.kind === 'scalar' ? [part.register] : []));
  const type = values.length > 0 ? builder.typeOf(values[0]) : 'f32';
  const known = values.length > 0 ? values : [builder.unknown(type, 'a value that is not known')];
  builder.emit({ op: 'store', type, values: known, address: open(call), offset: 0, access: site(call, 'store') });
}

/** The address, which is not known; what the coordinates were made from was read all the same. */
function open({ ctx, name, args, node }: BuiltinCall): Register {
  const scalars = args.filter((a) => scalarOf(withoutReference(a.type)) !== undefined);
  useValues(
    ctx,
    scalars.map((a) => rvalue(ctx, a, node)),
  );
  return ctx.builder.unknown('i64', name === 'tex1Dfetch' ? LINEAR : REASON);
}

/** Types of the scalars of a texel: one, or up to four alike. */
function scalarsOf(type: Type): NonNullable<ReturnType<typeof scalarOf>>[] {
  const scalar = scalarOf(type);
  if (scalar) return [scalar];
  if (type.kind !== 'record' || type.record.fields.length > 4) return [];
  const parts = type.record.fields.map((f) => scalarOf(f.type));
  return parts.flatMap((part) => (part !== undefined && part === parts[0] ? [part] : []));
}

function site({ ctx, node, callee }: BuiltinCall, operation: 'load' | 'store'): number {
  const key = `${ctx.callPath}:${node.first}:${node.last}:${callee.name}`;
  const known = ctx.sites.get(key);
  if (known !== undefined) return known;
  const index = ctx.builder.access({
    place: placeOf(ctx, node),
    expression: textOf(ctx.unit.tokens, inUserText(ctx, node)),
    operation,
    space: 'texture',
  });
  ctx.sites.set(key, index);
  return index;
}
