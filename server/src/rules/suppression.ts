/** `// warplens-ignore [rule …]` on a line or above it, and `// warplens-ignore-file [rule …]`. */
import { lineAndColumn } from '../preprocess/positions';
import type { PreprocessResult } from '../preprocess/token';
import type { Finding } from '../report/report';

interface Suppression {
  readonly file: string;
  /** undefined: the whole file */
  readonly lines: readonly number[] | undefined;
  /** empty: all rules */
  readonly rules: readonly string[];
}

/** Findings without those that a comment turns off. */
export function suppressed(findings: readonly Finding[], source: PreprocessResult): Finding[] {
  const list = suppressions(source);
  return findings.filter(
    (f) =>
      !list.some(
        (s) =>
          s.file === f.file &&
          (!s.lines || s.lines.includes(f.line)) &&
          (s.rules.length === 0 || s.rules.includes(f.rule)),
      ),
  );
}

function suppressions(source: PreprocessResult): Suppression[] {
  return source.comments.flatMap((comment): Suppression[] => {
    const match = /^warplens-ignore(-next-line|-line|-file)?$/.exec(comment.keyword);
    if (!match) return [];
    const file = source.tokens.files[comment.file];
    const line = lineAndColumn(file, comment.start).line;
    const rules = comment.text.split(/[\s,]+/).filter((r) => /^[a-z][a-z-]+$/.test(r) && r.includes('-'));
    const alone = file.text.slice(file.lineStarts[line - 1], comment.start).trim() === '';
    if (match[1] === '-file') return [{ file: file.path, lines: undefined, rules }];
    if (match[1] === '-next-line') return [{ file: file.path, lines: [line + 1], rules }];
    return [{ file: file.path, lines: alone ? [line, line + 1] : [line], rules }];
  });
}
