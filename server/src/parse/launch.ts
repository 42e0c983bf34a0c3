/** Kernel launches. */
import type { Expression } from './ast';
import { parseAssignment } from './expressions';
import { nameOfToken, unknownExpression } from './failures';
import { parseCallArguments, parseInitializerClause } from './initializers';
import type { Parser } from './parser';

/** `<<<grid, block, shared, stream>>>(arguments)` behind the kernel's name; also spelled `<< <…>> >`. */
export function parseLaunch(p: Parser, kernel: Expression): Expression {
  const { first } = kernel;
  const spaced = p.at('<<');
  p.next();
  if (spaced) p.next();
  const configuration: Expression[] = [];
  const outer = p.inAngles;
  p.inAngles = spaced;
  while (!p.atEnd && !p.at('>>>')) {
    configuration.push(p.at('{') ? parseInitializerClause(p) : parseAssignment(p));
    if (!p.eat(',')) break;
  }
  p.inAngles = outer;
  if (!closeConfiguration(p)) {
    return unknownExpression(p, first, `'>>>' of the launch is missing before ${nameOfToken(p)}`);
  }
  if (!p.at('(')) return unknownExpression(p, first, "the launch's arguments are missing");
  const list = parseCallArguments(p);
  return { kind: 'launch', kernel, configuration, arguments: list, first, last: p.last };
}

/** Uses three `>`, however they were joined to tokens. */
function closeConfiguration(p: Parser): boolean {
  for (let open = 3; open > 0; ) {
    if (p.tok[0] !== '>' || !/^>+$/.test(p.tok)) return false;
    const used = Math.min(open, p.tok.length);
    p.splitToken(used);
    open -= used;
  }
  return true;
}
