/** What `#pragma unroll` says about the loop behind it. */
import { TokenKind, type TokenStream } from '../preprocess/token';
import type { Expression, Unroll } from './ast';
import { matchBrackets } from './brackets';
import { parseExpression } from './expressions';
import { Parser } from './parser';
import { classifyWords } from './words';

/** The pragma in front of the loop that begins at `token`; `nounroll` counts as a factor of one. */
export function unrollAt(p: Parser, token: number): Unroll {
  const text = p.pragmas.get(token);
  if (text === undefined) return undefined;
  if (/^nounroll\b/.test(text)) return { kind: 'integer', value: 1n, type: 'int', first: token, last: token };
  const argument = /^unroll\b\s*(.*)$/s.exec(text)?.[1].trim();
  if (argument === undefined) return undefined;
  return argument === '' || argument === '()' ? 'full' : parseFactor(argument, token);
}

const maxFactorLength = 1000;
const tokenPattern = /[A-Za-z_]\w*|\.?\d(?:[\w.']|[eE][+-])*|::|<<|>>|<=|>=|==|!=|&&|\|\||\S/g;

/** An unroll factor: an expression with tokens of its own, which all stand where the loop does. */
function parseFactor(text: string, token: number): Unroll {
  const spellings = text.slice(0, maxFactorLength).match(tokenPattern) ?? [];
  const count = spellings.length + 1;
  const kind = new Uint8Array(count);
  spellings.forEach((spelling, index) => {
    const letter = /^[A-Za-z_]/.test(spelling);
    kind[index] = letter ? TokenKind.identifier : /^\.?\d/.test(spelling) ? TokenKind.number : TokenKind.punctuator;
  });
  const zeros = new Int32Array(count);
  const tokens: TokenStream = {
    count,
    kind,
    text: [...spellings, ''],
    flags: new Uint8Array(count),
    file: zeros,
    start: zeros,
    end: zeros,
    expansion: zeros,
    expansions: [],
    files: [],
  };
  const classes = classifyWords(tokens);
  const inner = new Parser(tokens, classes, matchBrackets(tokens, classes), []);
  const expression = parseExpression(inner);
  return inner.damage > 0 || !inner.atEnd ? 'full' : (relocated(expression, token) as Expression);
}

/** The same tree with every node standing at one token. */
function relocated(value: unknown, token: number): unknown {
  if (Array.isArray(value)) return value.map((item) => relocated(item, token));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = relocated(item, token);
  if ('first' in copy) copy.first = copy.last = token;
  return copy;
}
