/** Declarators: what stands around a declared name, and their abstract form in type-ids. */
import type { Expression, Parameter, QualifiedName, TypeNode } from './ast';
import { parseAssignment } from './expressions';
import { parseParameters } from './parameters';
import { type Group, maxChain, type Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { looksLikeParameters, memberPointerEnd } from './scan';
import { atStandardAttribute, parseInnerSpecifiers, SpecifierSet, skipAttributes } from './specifiers';
import { parseTypeId } from './types';
import { Word } from './words';

export interface Declarator {
  /** undefined: unnamed */
  name: QualifiedName | undefined;
  nameToken: number;
  type: TypeNode;
  /** The outermost pointer is `__restrict__`. */
  restrict: boolean;
  /** The declarator declares a function: its parameters. */
  parameters: readonly Parameter[] | undefined;
  isVariadic: boolean;
  /** Behind a function's parameters: const. */
  isConst: boolean;
  pack: boolean;
  /** Type of a conversion operator. */
  conversion?: TypeNode;
  specifiers: SpecifierSet;
}

/**
 * `function`: a parenthesis behind the name holds parameters. `block`: it may also hold a variable's arguments, which is then
 * left to the caller. `parameter`: the name may be missing.
 */
export type DeclaratorPlace = 'namespace' | 'record' | 'block' | 'parameter' | 'abstract';

/** `*`, `&`, `&&`, `C::*` with their qualifiers. */
export function parsePointerOperators(p: Parser, base: TypeNode): { type: TypeNode; restrict: boolean } {
  let type = base;
  let restrict = false;
  for (let count = 0; count < maxChain; count++) {
    const { first } = base;
    const operator = p.tok;
    if (operator === '*') {
      p.next();
      const qualifiers = parseQualifiers(p);
      restrict = qualifiers.restrict;
      type = { kind: 'pointer', to: type, first, last: p.last, ...qualifiers };
    } else if (operator === '&' || operator === '&&') {
      p.next();
      restrict = parseQualifiers(p).restrict;
      type = {
        kind: 'reference',
        to: type,
        rvalue: operator === '&&',
        first,
        last: p.last,
        isConst: false,
        isVolatile: false,
      };
    } else if (p.atName && memberPointerEnd(p, p.pos) > p.pos) {
      p.jump(memberPointerEnd(p, p.pos));
      const { isConst, isVolatile } = parseQualifiers(p);
      type = { kind: 'memberPointer', to: type, first, last: p.last, isConst, isVolatile };
    } else break;
  }
  return { type, restrict };
}

function parseQualifiers(p: Parser): { isConst: boolean; isVolatile: boolean; restrict: boolean } {
  const found = { isConst: false, isVolatile: false, restrict: false };
  while (p.word & Word.qualifier) {
    if (p.at('const') || p.at('__const')) found.isConst = true;
    else if (p.at('volatile') || p.at('__volatile__')) found.isVolatile = true;
    else found.restrict = true;
    p.next();
  }
  return found;
}

/** Reads a declarator around `base`. */
export function parseDeclarator(p: Parser, base: TypeNode, place: DeclaratorPlace): Declarator {
  const specifiers = new SpecifierSet();
  if (!p.enterLevel()) {
    p.leaveLevel();
    p.report(p.pos, p.limit - 1, 'nested too deeply');
    p.skipToGroupEnd();
    return emptyDeclarator(base, specifiers);
  }
  skipAttributes(p, specifiers);
  const pointers = parsePointerOperators(p, base);
  skipAttributes(p, specifiers);
  if (pointers.type !== base) parseInnerSpecifiers(p, specifiers);
  const result = emptyDeclarator(pointers.type, specifiers);
  result.restrict = pointers.restrict;
  // the dots behind a template argument are the argument's
  if (p.at('...') && place !== 'abstract') {
    result.pack = true;
    p.next();
  }
  if (p.at('(') && isNested(p, place)) parseNested(p, result, place);
  else {
    parseDeclaredName(p, result, place);
    parseSuffixes(p, result, place);
  }
  p.leaveLevel();
  return result;
}

function emptyDeclarator(type: TypeNode, specifiers: SpecifierSet): Declarator {
  return {
    name: undefined,
    nameToken: -1,
    type,
    restrict: false,
    parameters: undefined,
    isVariadic: false,
    isConst: false,
    pack: false,
    specifiers,
  };
}

function parseDeclaredName(p: Parser, into: Declarator, place: DeclaratorPlace): void {
  if (place === 'abstract') return;
  if (place === 'parameter' || place === 'block') {
    if (p.atName) {
      // `T f<int>` makes no sense here: take the identifier alone unless it is qualified
      if (p.peek(1) !== '::') {
        into.name = { first: p.pos, last: p.pos, global: false, parts: p.plainParts(p.tok) };
        into.nameToken = p.pos;
        p.next();
        return;
      }
    } else if (!p.at('operator') && !p.at('~') && !p.at('::')) return;
  }
  if (!p.atName && !p.at('operator') && !p.at('~') && !p.at('::')) return;
  const parsed = parseQualifiedName(p, 'type');
  if (parsed.name.parts.length === 0) return;
  into.name = parsed.name;
  into.nameToken = parsed.lastPart;
  into.conversion = parsed.conversion;
}

/** Whether a parenthesis in a declarator groups (`(*f)(int)`) rather than holding parameters. */
function isNested(p: Parser, place: DeclaratorPlace): boolean {
  const next = p.peek(1);
  if (isPointerSign(next)) return true;
  // `char((*)[16])`: no parameter begins with a parenthesis
  if (next === '(' && isPointerSign(p.peek(2))) return true;
  let i = p.pos + 1;
  while (p.isName(i) && p.textAt(i + 1) === '::') i += 2;
  if (i > p.pos + 1 && p.textAt(i) === '*') return true;
  if (place === 'abstract') return false;
  if (next === '(') return place !== 'parameter';
  // (name), (name)[3], (name)(int)
  if (!p.isName(p.pos + 1) || p.peek(2) !== ')')
    return place !== 'parameter' && p.isName(p.pos + 1) && p.peek(2) === '[';
  const after = p.peek(3);
  if (place === 'parameter') return after === '[' || (after === ',' && p.lookup(next) === undefined);
  return true;
}

const isPointerSign = (text: string): boolean => text === '*' || text === '&' || text === '&&' || text === '^';

/** Suffixes behind the group apply first; then the group is read around that type. */
function parseNested(p: Parser, into: Declarator, place: DeclaratorPlace): void {
  const open = p.pos;
  p.jump(p.afterGroup(open));
  const outer = emptyDeclarator(into.type, into.specifiers);
  parseSuffixes(p, outer, 'abstract');
  const after = p.pos;
  const type = functionTypeOf(p, outer);
  p.jump(open);
  const group: Group = p.enter();
  const inner = parseDeclarator(p, type, place === 'abstract' ? 'abstract' : place);
  p.leave(group);
  p.jump(Math.max(after, p.pos));
  const { restrict } = into;
  Object.assign(into, inner);
  // `int (f)(int)` declares a function after all
  if (!into.parameters && outer.parameters && inner.type === type) {
    into.parameters = outer.parameters;
    into.isVariadic = outer.isVariadic;
    into.isConst = outer.isConst;
    into.type = outer.type;
  }
  into.restrict ||= restrict && inner.type === type;
}

/** The declarator's type with its parameters made part of it. */
export function functionTypeOf(p: Parser, declarator: Declarator): TypeNode {
  if (!declarator.parameters) return declarator.type;
  const { type, parameters } = declarator;
  return {
    kind: 'function',
    result: type,
    parameters,
    first: type.first,
    last: p.last,
    isConst: false,
    isVolatile: false,
  };
}

/** Array sizes and parameter lists. */
function parseSuffixes(p: Parser, into: Declarator, place: DeclaratorPlace): void {
  const sizes: { size: Expression | undefined; last: number }[] = [];
  // without a name these are structured bindings: `auto& [a, b]`
  const mayHaveSizes = into.name !== undefined || place === 'parameter' || place === 'abstract';
  while (p.at('[') && mayHaveSizes && !atStandardAttribute(p) && sizes.length < maxChain) {
    const group = p.enter();
    const size = p.atEnd ? undefined : parseAssignment(p);
    p.leave(group);
    sizes.push({ size, last: p.last });
  }
  for (let i = sizes.length - 1; i >= 0; i--) {
    const { size, last } = sizes[i];
    into.type = { kind: 'array', of: into.type, size, first: into.type.first, last, isConst: false, isVolatile: false };
  }
  if (sizes.length === 0 && p.at('(') && holdsParameters(p, into, place)) parseFunctionSuffix(p, into, place);
  skipAttributes(p, into.specifiers);
}

function holdsParameters(p: Parser, declarator: Declarator, place: DeclaratorPlace): boolean {
  if (place === 'abstract' || place === 'record') return true;
  if (declarator.type.kind === 'builtin' && declarator.type.name === 'void') return true;
  if (place === 'parameter') return true;
  const name = declarator.name?.parts.at(-1)?.name ?? '';
  if (name.startsWith('operator') || name.startsWith('~')) return true;
  return looksLikeParameters(p, p.pos, place === 'namespace');
}

function parseFunctionSuffix(p: Parser, into: Declarator, place: DeclaratorPlace): void {
  const list = parseParameters(p);
  into.parameters = list.parameters;
  into.isVariadic = list.isVariadic;
  for (;;) {
    if (p.at('const')) {
      into.isConst = true;
      p.next();
    } else if (p.at('volatile') || p.at('&') || p.at('&&')) p.next();
    else if (p.at('noexcept') || p.at('throw')) {
      p.next();
      if (p.at('(')) p.skipGroup();
    } else break;
  }
  if (place === 'abstract' && into.type.kind === 'auto' && p.eat('->')) into.type = parseTypeId(p);
}

/** The declarator of a type-id. */
export function parseAbstractDeclarator(p: Parser, base: TypeNode): TypeNode {
  const next = p.tok;
  if (next !== '*' && next !== '&' && next !== '&&' && next !== '(' && next !== '[' && !p.atName) return base;
  const declarator = parseDeclarator(p, base, 'abstract');
  return functionTypeOf(p, declarator);
}
