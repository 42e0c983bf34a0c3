/** Calls of constexpr functions with known numbers: the host's interpreter runs their loops, which inlining would leave in the program. */
import { evaluateConstexpr } from '../launch/constant';
import type { HostValue } from '../launch/host-value';
import type { Context } from './context';
import type { ChosenFunction } from './overloads';
import { resolveType } from './resolve-type';
import { Scope } from './scope';
import { bindTemplateParameters } from './templates';
import { scalarOf, unqualified } from './types';
import type { Value } from './values';

const withLoops = new WeakMap<object, boolean>();

/** The value of the call; undefined where it has to be inlined. */
export function constexprValue(
  ctx: Context,
  { declaration, scope, templateArguments }: ChosenFunction,
  args: readonly Value[],
): Value | undefined {
  const { body, specifiers, parameters, templateParameters = [] } = declaration;
  if (!body || !specifiers.isConstexpr || !hasLoop(body) || args.length !== parameters.length) return undefined;
  const passed = args.map((a) => numberOf(ctx, a));
  if (!passed.every((p) => p !== undefined)) return undefined;
  const values = new Map<string, HostValue>();
  for (const [i, { name, kind }] of templateParameters.entries()) {
    const value = templateArguments[i];
    if (!name || kind !== 'value' || value?.kind !== 'number') return undefined;
    values.set(name, { kind: 'number', value: value.value, type: 'int' });
  }
  const result = evaluateConstexpr(ctx.unit.constants(), declaration, passed, values);
  const bound = new Scope(scope, 'constexpr');
  bindTemplateParameters(ctx, bound, templateParameters, templateArguments);
  const type = unqualified(resolveType(ctx, declaration.result, bound));
  const scalar = scalarOf(type);
  if (result === undefined || scalar === undefined) return undefined;
  return { kind: 'scalar', type, register: ctx.builder.constant(scalar, result) };
}

function numberOf(ctx: Context, value: Value): HostValue | undefined {
  const known = value.kind === 'scalar' ? value.register : readKnown(ctx, value);
  const number = known === undefined ? undefined : ctx.builder.constantValue(known);
  return number === undefined ? undefined : { kind: 'number', value: number };
}

/** The value that a variable is known to have. */
function readKnown(ctx: Context, value: Value): number | undefined {
  if (value.kind !== 'place' || value.place.kind !== 'storage' || value.place.storage.kind !== 'scalar')
    return undefined;
  const { register } = value.place.storage;
  return ctx.known.get(register) ?? register;
}

function hasLoop(body: object): boolean {
  const known = withLoops.get(body);
  if (known !== undefined) return known;
  const stack: unknown[] = [body];
  let found = false;
  while (stack.length > 0 && !found) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null || node instanceof Set) continue;
    found = 'kind' in node && (node.kind === 'for' || node.kind === 'while' || node.kind === 'do');
    stack.push(...Object.values(node));
  }
  withLoops.set(body, found);
  return found;
}
