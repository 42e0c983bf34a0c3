/** Telling `(T)x` from `(a)` and `(T)-1` from `(a) - 1`. */
import { TokenKind } from '../preprocess/token';
import type { Parser } from './parser';
import { scanType } from './scan';
import { Word } from './words';

/** Whether the parenthesis at the parser's place is a cast. */
export function castTypeAhead(p: Parser): boolean {
  const open = p.pos;
  if (!p.brackets.matched[open]) return false;
  const close = p.brackets.end[open];
  if (close >= p.limit || close === open + 1) return false;
  const inside = p.text[open + 1];
  if (p.kind[open + 1] !== TokenKind.identifier && inside !== '::') return false;
  const outer = p.limit;
  p.limit = close;
  const type = scanType(p, open + 1);
  p.limit = outer;
  if (type.end !== close * 4) return false;
  return operandFollows(p, close + 1, type.sure || !type.bareName);
}

const prefixWords = new Set([
  ...[
    'sizeof',
    'alignof',
    '_Alignof',
    '__alignof__',
    'this',
    'true',
    'false',
    'nullptr',
    'new',
    'operator',
    'typename',
  ],
  ...[
    'static_cast',
    'reinterpret_cast',
    'const_cast',
    'dynamic_cast',
    'decltype',
    'not',
    'compl',
    'noexcept',
    'delete',
  ],
]);

/** Whether an operand begins at `index`; behind a name that need not be a type (`sure` false), only what cannot continue it. */
function operandFollows(p: Parser, index: number, sure: boolean): boolean {
  const kind = p.kindAt(index);
  if (kind === TokenKind.number || kind === TokenKind.string || kind === TokenKind.character) return true;
  if (kind === TokenKind.identifier) {
    const word = p.wordAt(index);
    return (word & (Word.name | Word.typeWord)) !== 0 || prefixWords.has(p.text[index]);
  }
  switch (p.textAt(index)) {
    case '(':
    case '~':
    case '!':
    case '{':
    case '::':
      return true;
    case '-':
    case '+':
    case '*':
    case '&':
    case '++':
    case '--':
      return sure;
    case '[':
      // a cast of a lambda; an index otherwise
      return sure && /^[=&\]]$/.test(p.textAt(index + 1));
    default:
      return false;
  }
}
