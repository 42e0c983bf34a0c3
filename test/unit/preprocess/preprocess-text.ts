import { preprocess } from '../../../server/src/preprocess/preprocess';
import type { PreprocessOptions, PreprocessResult } from '../../../server/src/preprocess/token';

/** Headers by the name in the #include. */
export type Headers = Readonly<Record<string, string>>;

/** Preprocesses a text as the file `main.cu`, with headers from a table. */
export function preprocessText(
  text: string,
  headers: Headers = {},
  options: Partial<PreprocessOptions> = {},
): PreprocessResult {
  const include = (name: string) => (name in headers ? { path: name, text: headers[name] } : undefined);
  return preprocess({ path: 'main.cu', text, defines: new Map(), include, ...options });
}

/** The tokens of a result, without the end of the file, one blank between them. */
export function spelled(result: PreprocessResult): string {
  return result.tokens.text.slice(0, -1).join(' ');
}

/** The part of the text that a token stands at. */
export function placeOf(result: PreprocessResult, index: number): string {
  const { file, start, end, files } = result.tokens;
  return files[file[index]].text.slice(start[index], end[index]);
}
