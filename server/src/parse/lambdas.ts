/** Lambdas, with CUDA's specifiers. */
import type { CompoundStatement, Expression, LambdaExpression, TemplateParameter, TypeNode } from './ast';
import { parseRequiresClause } from './constraints';
import { unknownExpression } from './failures';
import { parseInitializerClause } from './initializers';
import { Name, Scope } from './names';
import { declareParameters, parseParameters } from './parameters';
import type { Parser } from './parser';
import { parseSpecifier, SpecifierSet } from './specifiers';
import { parseCompound } from './statements';
import { parseTemplateParameters } from './templates';
import { parseTypeId } from './types';
import { Word } from './words';

type Capture = LambdaExpression['captures'][number];

/** `[captures] <T> (parameters) specifiers -> T { body }`. */
export function parseLambda(p: Parser): Expression {
  const first = p.pos;
  const outer = p.scope;
  p.scope = new Scope(outer, 'block');
  const result = parseLambdaRest(p, first);
  p.scope = outer;
  return result;
}

function parseLambdaRest(p: Parser, first: number): Expression {
  const { defaultCapture, captures } = parseCaptures(p);
  let templateParameters: TemplateParameter[] | undefined;
  if (p.at('<')) {
    templateParameters = parseTemplateParameters(p).parameters;
    if (p.at('requires')) parseRequiresClause(p);
  }
  const set = new SpecifierSet();
  skipSpecifiers(p, set);
  const { parameters } = p.at('(') ? parseParameters(p) : { parameters: [] };
  declareParameters(p, parameters);
  skipSpecifiers(p, set);
  let result: TypeNode | undefined;
  if (p.eat('->')) result = parseTypeId(p);
  if (p.at('requires')) parseRequiresClause(p);
  // a macro of an unread header: `[=] LAMBDA_ATTRIBUTE { … }`
  while (p.atName) p.next();
  if (!p.at('{')) return unknownExpression(p, first, "the lambda's body is missing");
  const body: CompoundStatement = parseCompound(p);
  return {
    kind: 'lambda',
    defaultCapture,
    captures,
    templateParameters,
    parameters,
    result,
    body,
    first,
    last: p.last,
  };
}

/** mutable, constexpr, noexcept, `__device__`, attributes. */
function skipSpecifiers(p: Parser, set: SpecifierSet): void {
  for (;;) {
    if (p.at('noexcept') || p.at('throw')) {
      p.next();
      if (p.at('(')) p.skipGroup();
    } else if (p.word & Word.specifier || p.at('[')) {
      if (!parseSpecifier(p, set)) return;
    } else if (p.atName && (p.peek(1) === '(' || p.peek(1) === '{' || p.wordAt(p.pos + 1) & Word.specifier)) {
      p.next(); // an undeclared macro such as HOST_DEVICE
    } else return;
  }
}

function parseCaptures(p: Parser): { defaultCapture: '=' | '&' | undefined; captures: Capture[] } {
  const captures: Capture[] = [];
  let defaultCapture: '=' | '&' | undefined;
  const group = p.enter();
  while (!p.atEnd) {
    const isDefault = (p.at('=') || p.at('&')) && (p.pos + 1 === p.limit || p.peek(1) === ',');
    if (isDefault) {
      defaultCapture = p.at('=') ? '=' : '&';
      p.next();
    } else {
      const capture = parseCapture(p);
      if (!capture) break;
      captures.push(capture);
    }
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return { defaultCapture, captures };
}

function parseCapture(p: Parser): Capture | undefined {
  if (p.at('this') || (p.at('*') && p.peek(1) === 'this')) {
    const byReference = p.at('this');
    p.next();
    if (!byReference) p.next();
    return { name: 'this', byReference };
  }
  const byReference = p.eat('&');
  p.eat('...');
  if (!p.atName) return undefined;
  const name = p.tok;
  p.next();
  p.eat('...');
  let initializer: Expression | undefined;
  if (p.eat('=')) initializer = parseInitializerClause(p);
  else if (p.at('(') || p.at('{')) initializer = parseInitializerClause(p);
  p.scope.declare(name, Name.value);
  return initializer ? { name, byReference, initializer } : { name, byReference };
}
