/** Where lines begin, among tokens. */
import { TokenFlag, type TokenStream } from '../preprocess/token';

/** By token: the first of its line. A macro may put all statements of a kernel on one. */
const knownFirsts = new WeakMap<TokenStream, Int32Array>();

/** Line tables know lines, no statements: those of one line count as one. */
export function firstOfLine(tokens: TokenStream, token: number): number {
  let firsts = knownFirsts.get(tokens);
  if (!firsts) knownFirsts.set(tokens, (firsts = firstsOfLines(tokens)));
  return token < firsts.length ? firsts[token] : token;
}

function firstsOfLines({ flags, file, count }: TokenStream): Int32Array {
  const firsts = new Int32Array(count);
  for (let token = 1; token < count; token++) {
    const isFirst = (flags[token] & TokenFlag.lineStart) !== 0 || file[token - 1] !== file[token];
    firsts[token] = isFirst ? token : firsts[token - 1];
  }
  return firsts;
}
