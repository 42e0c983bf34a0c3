/** Operands and what follows them: calls, subscripts, members, launches. */
import type { Expression } from './ast';
import { parseExpression } from './expressions';
import { nameOfToken, unknownExpression } from './failures';
import { parseCallArguments, parseInitializerClause } from './initializers';
import { parseLaunch } from './launch';
import { opensLaunch } from './launch-token';
import { maxChain, type Parser } from './parser';
import { parsePrimary } from './primary';
import { parseQualifiedName } from './qualified-names';

/** An operand with its postfix operators. */
export function parsePostfix(p: Parser): Expression {
  let operand = parsePrimary(p);
  for (let count = 0; ; count++) {
    if (count > maxChain) {
      p.skipToGroupEnd();
      return unknownExpression(p, operand.first, 'too long a chain of calls and members');
    }
    const { first } = operand;
    switch (p.tok) {
      case '(': {
        const list = parseCallArguments(p);
        operand = { kind: 'call', callee: operand, arguments: list, first, last: p.last };
        break;
      }
      case '[': {
        const indices = parseIndices(p);
        operand = { kind: 'index', base: operand, indices, first, last: p.last };
        break;
      }
      case '.':
      case '->':
        operand = parseMember(p, operand);
        break;
      case '++':
      case '--': {
        const operator = p.at('++') ? 'post++' : 'post--';
        p.next();
        operand = { kind: 'unary', operator, operand, first, last: p.last };
        break;
      }
      case '<<<':
        operand = parseLaunch(p, operand);
        break;
      case '<<':
        if (!opensLaunch(p.text, p.pos)) return operand;
        operand = parseLaunch(p, operand);
        break;
      default:
        return operand;
    }
  }
}

function parseIndices(p: Parser): Expression[] {
  const list: Expression[] = [];
  const open = p.pos;
  const group = p.enter();
  while (!p.atEnd) {
    list.push(p.at('{') ? parseInitializerClause(p) : parseExpression(p));
    if (!p.eat(',')) break;
  }
  p.leave(group);
  if (list.length === 0) list.push(unknownExpression(p, open, 'the index is missing'));
  return list;
}

function parseMember(p: Parser, object: Expression): Expression {
  const arrow = p.at('->');
  const { first } = object;
  p.next();
  const atMember = p.atName || p.at('~') || p.at('operator') || p.at('template') || p.at('::');
  if (!atMember) return unknownExpression(p, first, `a member's name was expected before ${nameOfToken(p)}`);
  const { name } = parseQualifiedName(p, 'member');
  if (name.parts.length === 0) return unknownExpression(p, first, "a member's name was expected here");
  return { kind: 'member', object, arrow, name, first, last: p.last };
}
