/**
 * Names that only one unit of a program has: two files may each have a `static` function or a variable of their own under the same
 * name. Where units are read as one program, those of the later one get another name.
 */
import type { Declaration, RecordDeclaration } from '../parse/ast';
import { TokenKind, type TokenStream } from '../preprocess/token';

/** A unit of a program: its tokens, and its declarations without those of headers that an earlier unit has too. */
export interface ProgramPart {
  readonly base: number;
  readonly tokens: TokenStream;
  readonly declarations: readonly Declaration[];
}

interface Declared {
  /** Names that other units cannot mean: static functions, what stands in namespaces without a name. */
  readonly internal: ReadonlySet<string>;
  /** Variables, of which a program has but one under a name that units share. */
  readonly variables: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
  /** By name of a type or an enumerator outside of namespaces: what defines it. */
  readonly types: ReadonlyMap<string, Words>;
  /** Names of members of its records. */
  readonly members: ReadonlySet<string>;
}

/** A stretch of tokens; compared only where two files have a name in common. */
interface Words {
  readonly text: readonly string[];
  readonly from: number;
  readonly count: number;
}

/**
 * The part's tokens with new names for what earlier parts have under the same ones; undefined where nothing is to be renamed.
 * @param whole the part with its headers: what is a member of any of its classes keeps its name
 */
export function withOwnNames(
  part: ProgramPart,
  earlier: readonly ProgramPart[],
  whole: readonly Declaration[],
): TokenStream | undefined {
  const own = declaredIn(part);
  const { members } = declaredIn({ ...part, declarations: whole });
  const others = earlier.map(declaredIn);
  const clashes = [...own.all].filter(
    (name) =>
      !members.has(name) &&
      others.some(
        ({ internal, variables, all, types }) =>
          isOther(own.types.get(name), types.get(name)) ||
          (own.internal.has(name) && all.has(name)) ||
          internal.has(name) ||
          (own.variables.has(name) && variables.has(name)),
      ),
  );
  return clashes.length === 0 ? undefined : renamed(part.tokens, new Set(clashes));
}

/** Files may have types of their own under one name; what is written alike in both is one that goes from file to file. */
function isOther(a: Words | undefined, b: Words | undefined): boolean {
  if (!a || !b) return false;
  if (a.count !== b.count) return true;
  for (let k = 0; k < a.count; k++) if (a.text[a.from + k] !== b.text[b.from + k]) return true;
  return false;
}

function renamed(tokens: TokenStream, names: ReadonlySet<string>): TokenStream {
  const { kind, text } = tokens;
  const file = (tokens.files[0]?.path ?? '').split(/[\\/]/).at(-1) ?? '';
  const suffix = `_of_${file.replace(/\W/g, '_')}`;
  const isMember = (at: number) =>
    text[at - 1] === '.' || text[at - 1] === '->' || (text[at - 1] === '::' && text[at - 2] !== text[at]);
  return {
    ...tokens,
    text: text.map((word, at) =>
      kind[at] === TokenKind.identifier && names.has(word) && !isMember(at) ? word + suffix : word,
    ),
  };
}

const known = new WeakMap<readonly Declaration[], Declared>();

function declaredIn(part: ProgramPart): Declared {
  let found = known.get(part.declarations);
  if (!found) known.set(part.declarations, (found = collect(part)));
  return found;
}

function collect({ declarations, tokens, base }: ProgramPart): Declared {
  const internal = new Set<string>();
  const variables = new Set<string>();
  const all = new Set<string>();
  const members = new Set<string>();
  const types = new Map<string, Words>();
  for (const declaration of declarations) {
    const { first, last } = declaration;
    const words = { text: tokens.text, from: first - base, count: last - first + 1 };
    for (const name of definedTypes(declaration)) types.set(name, words);
  }
  const visit = (list: readonly Declaration[], isHidden: boolean): void => {
    for (const declaration of list) {
      if (declaration.kind === 'namespace') {
        if (!declaration.alias) visit(declaration.members, isHidden || declaration.name === '');
        continue;
      }
      if (declaration.kind === 'record') addMembers(declaration, members);
      const name = nameOf(declaration);
      if (name === undefined) continue;
      all.add(name);
      if (isHidden || (declaration.kind === 'function' && declaration.specifiers.isStatic)) internal.add(name);
      if (declaration.kind === 'variable' && !declaration.specifiers.isExtern) variables.add(name);
    }
  };
  visit(declarations, false);
  for (const name of types.keys()) all.add(name);
  return { internal, variables, all, types, members };
}

/** The names of a type with its enumerators; of a record that is only declared none, since another file may define it. */
function definedTypes(declaration: Declaration): string[] {
  const name = nameOf(declaration);
  const own = name === undefined ? [] : [name];
  if (declaration.kind === 'record') return declaration.members ? own : [];
  if (declaration.kind === 'enum') return [...own, ...(declaration.enumerators ?? []).map((e) => e.name)];
  return declaration.kind === 'alias' ? own : [];
}

/** What a declaration makes known in its namespace; definitions of members that stand outside of their record do not. */
function nameOf(declaration: Declaration): string | undefined {
  switch (declaration.kind) {
    case 'function':
    case 'record':
    case 'enum': {
      const parts = declaration.name?.parts ?? [];
      const name = parts.length === 1 ? parts[0].name : undefined;
      return name !== undefined && /^\w+$/.test(name) && name !== 'main' ? name : undefined;
    }
    case 'variable':
      return declaration.scope ? undefined : declaration.name;
    case 'alias':
      return declaration.name;
    default:
      return undefined;
  }
}

/** Constructors go by the name of their class. */
function addMembers({ name: record, members = [] }: RecordDeclaration, to: Set<string>): void {
  for (const member of members) {
    if (member.kind === 'variable' && member.name) to.add(member.name);
    const name = member.kind === 'function' ? member.name.parts.at(-1)?.name : undefined;
    if (name !== undefined && name !== record?.parts.at(-1)?.name) to.add(name);
  }
}
