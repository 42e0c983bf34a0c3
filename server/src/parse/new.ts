import type { Expression } from './ast';
import { parseExpression } from './expressions';
import { parseCallArguments, parseInitList } from './initializers';
import type { Parser } from './parser';
import { scanType } from './scan';
import { parseConversionType, parseTypeId } from './types';

/** `new T(a)`, `new T[n]`, `new (place) T{}`. */
export function parseNew(p: Parser): Expression {
  const first = p.pos;
  p.next();
  const placement = p.at('(') && !isTypeGroup(p) ? parseCallArguments(p) : undefined;
  let type = p.at('(') ? parseGroupedType(p) : parseConversionType(p);
  while (p.at('[')) {
    const group = p.enter();
    const size = p.atEnd ? undefined : parseExpression(p);
    p.leave(group);
    type = { kind: 'array', of: type, size, first: type.first, last: p.last, isConst: false, isVolatile: false };
  }
  const isBare = !p.at('(') && !p.at('{');
  let list: Expression[] = [];
  if (p.at('(')) list = parseCallArguments(p);
  else if (p.at('{')) list = [parseInitList(p)];
  return { kind: 'new', placement, type, arguments: list, isBare, first, last: p.last };
}

/** `new (int*)` against `new (place) int`. */
function isTypeGroup(p: Parser): boolean {
  const next = p.textAt(p.afterGroup(p.pos));
  return scanType(p, p.pos + 1).end === p.brackets.end[p.pos] * 4 && !/^\w/.test(next);
}

function parseGroupedType(p: Parser) {
  const group = p.enter();
  const type = parseTypeId(p);
  p.leave(group);
  return type;
}
