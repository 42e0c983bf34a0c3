/** Tokens at which a new declaration must or probably does begin: what recovery holds on to. */
import { TokenFlag, TokenKind, type TokenStream } from '../preprocess/token';
import { Word } from './words';

/**
 * Whether a token can only begin a declaration of namespace or record scope: `__global__`, `template` or `namespace` at a
 * line's start. `inside`: the token stands in a function body or parenthesis, where even `__device__` cannot, unless
 * in a lambda.
 */
export function startsDeclarationAlways(tokens: TokenStream, index: number, inside: boolean): boolean {
  const { text, flags } = tokens;
  if (!(flags[index] & TokenFlag.lineStart) || tokens.kind[index] !== TokenKind.identifier) return false;
  const previous = index > 0 ? text[index - 1] : ';';
  switch (text[index]) {
    case '__global__':
      return inside || !continuesHead(tokens, index - 1);
    case 'template':
      return previous !== '.' && previous !== '->' && previous !== '::' && !isTemplateTemplate(tokens, index, previous);
    case 'namespace':
      return previous !== 'using' && previous !== 'inline' && text[index + 2] !== '=' && text[index + 1] !== '=';
    default:
      return false;
  }
}

/** Whether the token at `index` may be followed by `__global__` in the same declaration. */
function continuesHead(tokens: TokenStream, index: number): boolean {
  if (index < 0) return false;
  const spelling = tokens.text[index];
  return spelling === '>' || spelling === ')' || spelling === ']' || tokens.kind[index] === TokenKind.identifier;
}

/** `template <typename A, template <typename> class B>`: the inner one begins no declaration. */
function isTemplateTemplate(tokens: TokenStream, index: number, previous: string): boolean {
  if (previous !== '<' && previous !== ',') return false;
  const { text, count } = tokens;
  let depth = 0;
  for (let i = index + 1; i < Math.min(count, index + 200); i++) {
    if (text[i] === '<') depth++;
    else if (text[i] === '>') depth--;
    else if (text[i] === '>>') depth -= 2;
    else if (text[i] === ';' || text[i] === '{') return false;
    if (depth <= 0) return text[i + 1] === 'class' || text[i + 1] === 'typename';
  }
  return false;
}

/** Words that begin no statement in a function. */
const outsideWords = new Set([
  ...[
    'template',
    'namespace',
    '__global__',
    '__device__',
    '__host__',
    '__constant__',
    '__managed__',
    '__forceinline__',
  ],
  ...['__inline__', 'inline'],
]);
/** Words that may begin a local declaration as well. */
const likelyWords = new Set(['typedef', 'using', 'extern']);
const maxHeadTokens = 400;

/** How sure it is that a token begins a declaration outside functions. */
export type DefinitionStart = 'no' | 'likely' | 'certain';

/**
 * Whether a token at a line's start looks like the first of a definition outside functions: `int main(…) {`,
 * `struct X {`, `__device__ float f(…`. Used only where brackets do not match, for lines at the left margin. What may
 * also begin a local declaration is only likely.
 */
export function startsDefinition(tokens: TokenStream, classes: Uint16Array, index: number): DefinitionStart {
  const { text } = tokens;
  if (tokens.kind[index] !== TokenKind.identifier || classes[index] & Word.statement) return 'no';
  if (outsideWords.has(text[index])) return text[index + 1] === '(' || text[index - 1] === ']' ? 'no' : 'certain';
  if (likelyWords.has(text[index])) return 'likely';
  if (classes[index] & Word.recordKey && isRecordStart(text, index)) return 'likely';
  return isFunctionStart(tokens, classes, index) ? 'certain' : 'no';
}

function isRecordStart(text: readonly string[], index: number): boolean {
  return text[index + 2] === '{' || text[index + 2] === ':' || text[index + 1] === '{';
}

/** Names, then a parameter list with a body behind it: no function stands in a function. */
function isFunctionStart(tokens: TokenStream, classes: Uint16Array, index: number): boolean {
  const { text, count } = tokens;
  let names = 0;
  for (let i = index; i < Math.min(count, index + maxHeadTokens); i++) {
    const spelling = text[i];
    if (spelling === '(') return names >= 2 && definitionFollows(tokens, i);
    if (
      spelling === '*' ||
      spelling === '&' ||
      spelling === '::' ||
      spelling === '<' ||
      spelling === '>' ||
      spelling === ','
    )
      continue;
    if (tokens.kind[i] === TokenKind.number || classes[i] & Word.statement) return false;
    if (tokens.kind[i] !== TokenKind.identifier) return false;
    if (text[i - 1] !== '::' && !(classes[i] & Word.qualifier)) names++;
    if (spelling === 'return' || spelling === 'new' || spelling === 'delete' || spelling === 'throw') return false;
  }
  return false;
}

/** Whether the parenthesis is a parameter list with a body (or a declaration's `;` with typed parameters) behind it. */
function definitionFollows(tokens: TokenStream, open: number): boolean {
  const { text, count } = tokens;
  let depth = 0;
  for (let i = open; i < Math.min(count, open + maxHeadTokens); i++) {
    if (text[i] === '(') depth++;
    else if (text[i] === ')') depth--;
    else if (text[i] === '{' || text[i] === '}') return text[i] === '{';
    else if (text[i] === ';') return false;
    if (depth === 0) {
      const next = text[i + 1];
      return next === '{' || next === 'const' || next === 'noexcept' || next === '->' || next === ':';
    }
  }
  return false;
}
