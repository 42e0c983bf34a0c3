/**
 * Another block size where it is written once and all follows from it: `k<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(…)`. Offered only
 * when the edited text, simulated again, does exactly the same work: every access by as many lanes as before.
 */
import { closesLaunch, openingLength, opensLaunch } from '../parse/launch-token';
import { type MacroExpansion, TokenFlag, TokenKind, type TokenStream } from '../preprocess/token';
import type { Fix, KernelReport, LaunchReport } from '../report/report';
import type { RuleContext, TriedPadding } from './rule';

/** A number in the text of the analysed file. */
interface Literal {
  readonly start: number;
  readonly end: number;
  /** The name that stands for it. */
  readonly name: string;
  readonly source: string;
}

/** The fix that makes the blocks of launch `index` `threads` wide; undefined where it is not certain. */
export function blockSizeFix(context: RuleContext, index: number, threads: number): Fix | undefined {
  const { report, plan } = context.launches[index];
  const [x, y, z] = report.block;
  if (y !== 1 || z !== 1 || plan.place === undefined || threads > context.capability.limits.threadsPerBlock)
    return undefined;
  const literal = literalOf(context, plan.place, x);
  if (!literal) return undefined;
  const edited = literal.source.slice(0, literal.start) + threads + literal.source.slice(literal.end);
  if (!isSame(context, index, threads, edited)) return undefined;
  const at = positionOf(literal);
  return {
    title: `Make ${literal.name} ${threads}`,
    edits: [
      {
        line: at.line,
        column: at.column,
        endLine: at.line,
        endColumn: at.column + literal.end - literal.start,
        newText: `${threads}`,
      },
    ],
    after: {},
  };
}

/** Verdicts for a kernel's text and launches, as long as they stay as they are. */
const verdicts = new WeakMap<ReadonlyMap<string, TriedPadding | undefined>, Map<string, boolean>>();

function isSame(context: RuleContext, index: number, threads: number, edited: string): boolean {
  let known = verdicts.get(context.tried);
  if (known === undefined) verdicts.set(context.tried, (known = new Map()));
  const key = `${index} ${threads}`;
  let verdict = known.get(key);
  if (verdict === undefined) {
    const after = context.tryText(edited).kernels.find(({ name }) => name === context.report.name);
    known.set(key, (verdict = after !== undefined && doesTheSame(context.report, after, index, threads)));
  }
  return verdict;
}

function doesTheSame(before: KernelReport, after: KernelReport, index: number, threads: number): boolean {
  if (before.launches.length !== after.launches.length) return false;
  return before.launches.every((launch, i) => {
    const edited = after.launches[i];
    const isEdited = i === index;
    const hasSize = !isEdited || (edited.block[0] === threads && edited.block[1] === 1 && edited.block[2] === 1);
    return hasSize && hasEqualWork(launch, edited);
  });
}

function hasEqualWork(before: LaunchReport, after: LaunchReport): boolean {
  const isExact = (launch: LaunchReport) =>
    launch.incomplete === undefined && launch.accesses.every(({ certainty }) => certainty === 'exact');
  return (
    isExact(before) &&
    isExact(after) &&
    before.accesses.length > 0 &&
    before.accesses.length === after.accesses.length &&
    before.accesses.every((access, i) => access.activeLanes === after.accesses[i].activeLanes)
  );
}

function positionOf({ source, start }: Literal): { line: number; column: number } {
  const before = source.slice(0, start).split(/\r\n|\r|\n/);
  return { line: before.length, column: before[before.length - 1].length + 1 };
}

/** The number behind the block size of a launch: of a macro, of a constant, or of a dim3. */
function literalOf(
  { tokens, request }: RuleContext,
  place: { readonly first: number; readonly last: number },
  value: number,
): Literal | undefined {
  const block = blockArgument(tokens, place);
  if (!block) return undefined;
  const [first, last] = block;
  const expansion = tokens.expansion[first] >= 0 ? tokens.expansions[tokens.expansion[first]] : undefined;
  if (expansion) return first === last ? macroLiteral(tokens, request.path, expansion, value) : undefined;
  if (first !== last || tokens.kind[first] !== TokenKind.identifier) return undefined;
  return constantLiteral(tokens, request.path, tokens.text[first], first, value);
}

/** Tokens of the second argument between `<<<` and `>>>`. */
function blockArgument(tokens: TokenStream, place: { first: number; last: number }): [number, number] | undefined {
  let t = place.first;
  while (t <= place.last && !opensLaunch(tokens.text, t)) t++;
  let depth = 0;
  let from = -1;
  for (t += openingLength(tokens.text, t); t <= place.last; t++) {
    const text = tokens.text[t];
    if (text === '(' || text === '{' || text === '[') depth++;
    else if (text === ')' || text === '}' || text === ']') depth--;
    else if (depth === 0 && (text === ',' || closesLaunch(tokens.text, t))) {
      if (from >= 0) return from < t ? [from, t - 1] : undefined;
      if (text !== ',') return undefined;
      from = t + 1;
    }
  }
  return undefined;
}

function macroLiteral(
  tokens: TokenStream,
  path: string,
  { macro, definition }: MacroExpansion,
  value: number,
): Literal | undefined {
  const file = definition && tokens.files[definition.file];
  if (!file || file.path !== path) return undefined;
  const line = file.text.slice(definition.start).split('\n', 1)[0];
  const match = new RegExp(`\\b${macro}[ \\t]+\\(?[ \\t]*(\\d+)\\b[ \\t]*\\)?[ \\t]*(?:\\r|//.*|/\\*.*)?$`, 'd').exec(
    line,
  );
  const [from, to] = match?.indices?.[1] ?? [];
  if (from === undefined || to === undefined || Number(line.slice(from, to)) !== value) return undefined;
  return { start: definition.start + from, end: definition.start + to, name: macro, source: file.text };
}

/** Tokens of host code that are searched for a constant. */
const FAR = 20_000;

/** `const int N = 200;`, `dim3 block(200);`: the nearest before the launch. */
function constantLiteral(
  tokens: TokenStream,
  path: string,
  name: string,
  use: number,
  value: number,
): Literal | undefined {
  for (let t = use - 1; t > Math.max(0, use - FAR); t--) {
    if (tokens.text[t] !== name || !['=', '(', '{'].includes(tokens.text[t + 1])) continue;
    const number = t + 2;
    const isDeclared = tokens.kind[t - 1] === TokenKind.identifier;
    const isAlone = [';', ',', ')', '}'].includes(tokens.text[number + 1]);
    const file = tokens.files[tokens.file[number]];
    const isHere = file.path === path && !(tokens.flags[number] & TokenFlag.fromMacro);
    if (!isDeclared || !isAlone || !isHere || tokens.kind[number] !== TokenKind.number) return undefined;
    if (Number(tokens.text[number]) !== value) return undefined;
    return { start: tokens.start[number], end: tokens.end[number], name, source: file.text };
  }
  return undefined;
}
