/** Template argument lists. */
import type { Expression, TemplateArgument } from './ast';
import { parseAssignment } from './expressions';
import { unknownExpression } from './failures';
import type { Parser } from './parser';
import { closesAngles, endsArgument, scanType, textAt } from './scan';
import { parseTypeId } from './types';

/** Reads `<…>`; the parser stands at the `<` of a list that was scanned before. */
export function parseTemplateArguments(p: Parser): TemplateArgument[] {
  const open = p.pos;
  const list: TemplateArgument[] = [];
  const end = Math.max(p.angleEnds.get(open * 2) ?? -1, p.angleEnds.get(open * 2 + 1) ?? -1);
  const outer = p.inAngles;
  p.inAngles = true;
  p.next();
  if (p.enterLevel()) {
    while (!p.atEnd && !closesAngles(p.tok)) {
      list.push(parseTemplateArgument(p));
      if (!p.eat(',')) break;
    }
  } else list.push(skipDeepList(p));
  p.leaveLevel();
  p.inAngles = outer;
  if (closesAngles(p.tok)) p.splitToken(1);
  else leaveAt(p, open, end);
  return list;
}

function skipDeepList(p: Parser): TemplateArgument {
  const first = p.pos;
  p.skipToGroupEnd();
  const expression = unknownExpression(p, first, 'template arguments nested too deeply');
  return { first, last: Math.max(first, p.last), expression, pack: false };
}

/** The list was not understood: goes on behind its scanned end. */
function leaveAt(p: Parser, open: number, end: number): void {
  p.report(p.pos, p.pos, 'this template argument was not understood');
  if (end < 0 || end >> 2 < p.pos) return;
  p.jump(end >> 2 > open ? end >> 2 : p.pos);
  if (end & 3) p.splitToken(end & 3);
}

function parseTemplateArgument(p: Parser): TemplateArgument {
  const first = p.pos;
  const scanned = scanType(p, p.pos, true);
  const isType = scanned.end >= 0 && (textAt(p, scanned.end) === '' || endsArgument(textAt(p, scanned.end)));
  let type: TemplateArgument['type'];
  let expression: Expression | undefined;
  if (isType) {
    type = parseTypeId(p);
    // a name nobody declared may be a value as well
    if (scanned.bareName && type.kind === 'named') {
      expression = { kind: 'name', name: type.name, first: type.first, last: type.last };
    }
  } else expression = parseAssignment(p);
  const pack = p.eat('...');
  return { first, last: Math.max(first, p.last), type, expression, pack };
}
