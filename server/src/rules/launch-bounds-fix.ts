/** A larger `__launch_bounds__` for a launch that exceeds it: certain, because the launch then does what the text says. */
import type { Fix, LaunchReport } from '../report/report';
import type { RuleContext } from './rule';

/** The fix, where the bound is a number in the analysed file. */
export function launchBoundsFix(context: RuleContext, launch: LaunchReport): Fix | undefined {
  const { launchBounds, block } = launch;
  const at = launchBounds?.location;
  const threads = block[0] * block[1] * block[2];
  if (!launchBounds || !at || at.file !== context.request.path) return undefined;
  if (threads > context.capability.limits.threadsPerBlock) return undefined;
  const file = context.tokens.files.find(({ path }) => path === at.file);
  const line = file?.text.slice(file.lineStarts[at.line - 1]).split(/\r|\n/, 1)[0] ?? '';
  const match = /^__launch_bounds__\s*\(\s*(\d+)\s*[,)]/d.exec(line.slice(at.column - 1));
  const [from, to] = match?.indices?.[1] ?? [];
  if (from === undefined || to === undefined) return undefined;
  const column = at.column + from;
  const newText = `${threads}`;
  return {
    title: `Bound ${context.report.name} to ${threads} threads a block`,
    edits: [{ line: at.line, column, endLine: at.line, endColumn: at.column + to, newText }],
    after: {},
  };
}
