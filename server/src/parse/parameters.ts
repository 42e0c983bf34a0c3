/** Parameter lists of functions and lambdas. */
import type { Parameter, TypeNode } from './ast';
import { functionTypeOf, parseDeclarator } from './declarators';
import { skipToComma } from './failures';
import { parseInitializerClause } from './initializers';
import { Name } from './names';
import type { Parser } from './parser';
import { mergeSpecifiers } from './specifier-merge';
import { parseSpecifiers, unknownType } from './types';

export interface ParameterList {
  readonly parameters: readonly Parameter[];
  readonly isVariadic: boolean;
}

/** Reads `(…)`. The names are declared by whoever opens the function's scope. */
export function parseParameters(p: Parser): ParameterList {
  const parameters: Parameter[] = [];
  let isVariadic = false;
  const group = p.enter();
  if (p.at('void') && p.pos + 1 === p.limit) p.next();
  while (!p.atEnd) {
    if (p.at('...')) {
      isVariadic = true;
      p.next();
    } else {
      const before = p.pos;
      parameters.push(parseParameter(p));
      if (p.pos === before) break;
    }
    if (p.at('...') && p.pos + 1 === p.limit) continue;
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return { parameters, isVariadic };
}

function parseParameter(p: Parser): Parameter {
  const first = p.pos;
  const damage = p.damage;
  const { set, type } = parseSpecifiers(p, 'parameter');
  if (!type) {
    const unknown = unknownType(p, first, 'a parameter was expected here');
    skipToComma(p);
    return { first, last: Math.max(first, p.last), type: unknown, specifiers: set.value, pack: false };
  }
  const declarator = parseDeclarator(p, type, 'parameter');
  const fallback = p.eat('=') && !p.atEnd ? parseInitializerClause(p) : undefined;
  if (!p.atEnd && !p.at(',') && !p.at('...')) {
    if (p.damage === damage) p.report(p.pos, p.pos, 'this parameter was not understood');
    skipToComma(p);
  }
  return {
    first,
    last: p.last,
    name: declarator.name?.parts.at(-1)?.name,
    type: adjusted(functionTypeOf(p, declarator)),
    specifiers: mergeSpecifiers(set, declarator),
    default: fallback,
    pack: declarator.pack,
  };
}

/** A parameter of a function's type, `float f(float)`, is a pointer to one. */
function adjusted(type: TypeNode): TypeNode {
  if (type.kind !== 'function') return type;
  const { first, last } = type;
  return { kind: 'pointer', to: type, restrict: false, first, last, isConst: false, isVolatile: false };
}

/** Makes parameters known in the current scope. */
export function declareParameters(p: Parser, parameters: readonly Parameter[]): void {
  for (const parameter of parameters) {
    if (parameter.name) p.scope.declare(parameter.name, Name.value | (parameter.pack ? Name.pack : 0));
  }
}
