/** How well an overload fits its arguments: smaller is better, infinite where it cannot be called. */
import type { Expression, FunctionDeclaration, TypeNode } from '../parse/ast';
import { conversionCost } from './conversion';
import { type RecordType, withoutReference } from './host-type';
import { resolveType } from './resolve-type';
import type { HostState } from './state';
import { type FunctionSymbol, typeOf, type Value } from './value';

const impossible = Number.POSITIVE_INFINITY;

export function overloadCost(state: HostState, symbol: FunctionSymbol, values: readonly Value[]): number {
  const declaration = symbol.declaration;
  const isTemplate = declaration.templateParameters !== undefined;
  let cost = isTemplate ? 0.5 : 0;
  for (const [index, value] of values.entries()) {
    const parameter = declaration.parameters[index];
    if (!parameter || parameter.pack) cost += 1;
    else if (isDependent(parameter.type, declaration)) cost += patternCost(value, parameter.type);
    else cost += conversionCost(value, resolveType(state, parameter.type, symbol.scope));
  }
  return cost;
}

/** Whether a type may name a parameter of the function's own template; where none is named nothing is deduced, and arguments convert. */
function isDependent(type: TypeNode, { templateParameters }: FunctionDeclaration): boolean {
  if (!templateParameters) return false;
  let inner = type;
  while (inner.kind === 'pointer' || inner.kind === 'reference') inner = inner.to;
  if (inner.kind === 'builtin') return false;
  if (inner.kind !== 'named' || inner.name.scopeOf || inner.name.parts.some((part) => part.templateArguments))
    return true;
  return templateParameters.some((parameter) => parameter.name === inner.name.parts[0].name);
}

/** Deduction takes no conversions: a number is no `Vector<T>`. Of two that fit, `Vector<T>` is the closer one than `T`. */
function patternCost(value: Value, pattern: TypeNode): number {
  const type = pattern.kind === 'reference' ? pattern.to : pattern;
  const isNumber = value.kind === 'number';
  // zero is a null pointer
  if (type.kind === 'pointer') return value.kind === 'struct' || (isNumber && value.value !== 0) ? impossible : 0;
  if (type.kind !== 'named') return 0;
  const part = type.name.parts.at(-1);
  if (!part?.templateArguments) return 0.1;
  const given = typeOf(value);
  const record = given && withoutReference(given);
  // of another name it may be derived from the one, or this be another name of it
  if (record?.kind === 'record' && record.name !== part.name) return 0.2;
  if (record?.kind === 'record') return fits(record, part.templateArguments) ? 0 : impossible;
  return isNumber || value.kind === 'pointer' ? impossible : 0;
}

/** `Vector<T, 3>` takes no `Vector<float, 4>`. */
function fits(record: RecordType, pattern: readonly { expression?: Expression }[]): boolean {
  return pattern.every(({ expression }, index) => {
    const actual = record.arguments?.[index];
    if (expression?.kind !== 'integer' || actual?.kind !== 'value' || actual.value.kind !== 'number') return true;
    return Number(expression.value) === actual.value.value;
  });
}
