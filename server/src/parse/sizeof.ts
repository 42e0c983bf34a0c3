import type { Expression, SizeofExpression } from './ast';
import { parseExpression, parseUnary } from './expressions';
import type { Parser } from './parser';
import { parsePrimary } from './primary';
import { scanType } from './scan';
import { parseTypeId } from './types';

/** `sizeof(T)`, `sizeof x`, `sizeof...(pack)`, `alignof(T)`, `typeid(x)`. A name nobody declared counts as a type. */
export function parseSizeof(p: Parser): Expression {
  const first = p.pos;
  let operator: SizeofExpression['operator'] = p.at('sizeof') ? 'sizeof' : p.at('typeid') ? 'typeid' : 'alignof';
  p.next();
  if (p.at('...')) {
    operator = 'sizeof...';
    p.next();
  }
  if (!p.at('(') || !holdsType(p)) {
    const expression = operator === 'typeid' ? parsePrimary(p) : parseUnary(p);
    return { kind: 'sizeof', operator, expression, first, last: Math.max(first, expression.last) };
  }
  const group = p.enter();
  const type = operator === 'sizeof...' ? undefined : parseTypeId(p);
  const expression = operator === 'sizeof...' ? parseExpression(p) : undefined;
  p.leave(group);
  return { kind: 'sizeof', operator, type, expression, first, last: p.last };
}

/** `offsetof(T, member.part[2])`: a macro of a header that is not read; the member is spelled as if it were a variable. */
export function parseOffsetof(p: Parser): Expression {
  const first = p.pos;
  p.next();
  const group = p.enter();
  const type = parseTypeId(p);
  if (p.at(',')) p.next();
  const expression = parseUnary(p);
  p.leave(group);
  return { kind: 'sizeof', operator: 'offsetof', type, expression, first, last: p.last };
}

function holdsType(p: Parser): boolean {
  const outer = p.limit;
  p.limit = Math.min(outer, p.brackets.end[p.pos]);
  const { end } = scanType(p, p.pos + 1);
  const result = end === p.limit * 4;
  p.limit = outer;
  return result;
}
