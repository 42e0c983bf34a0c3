/** Functions that are run for their own sake: main, and those nobody in the unit calls. */
import type { CompoundStatement, FunctionDeclaration, RecordDeclaration } from '../parse/ast';
import { runBody, supposeParameters } from './function-call';
import type { HostType } from './host-type';
import { lookupQualified } from './lookup';
import { makeBuffer, makeCell } from './memory';
import { bindArguments, instantiateRecord, resolveType } from './resolve-type';
import { childScope, type IndexedFunction, lastName, type Scope } from './scope';
import type { HostState } from './state';
import { nothingSupposed, type Rerun } from './supposed';
import { bindParameters } from './template-binding';
import { unknownOf } from './unknown-of';
import { type BoundArgument, number, unknown, type Value } from './value';
import { walk } from './walk';

/** What is done instead of running the body. */
export type Instead = (scope: Scope, body: CompoundStatement) => void;

const charPointer: HostType = { kind: 'pointer', to: { kind: 'arithmetic', name: 'char' } };
/** Bytes from one argument of the program to the next. */
const POINTER_BYTES = 8;

/**
 * Runs main; where nobody tells what it is started with argc is 1, and argv[1] and what follows from it are not known. argv[0] is a name that is
 * none of the program's options: loops over the arguments that begin with it (`for (int i = 0; i < argc; i++)`) find none.
 */
export function runMain(state: HostState, entry: IndexedFunction): void {
  const scope = childScope(entry.scope);
  const { parameters } = entry.declaration;
  const { programArguments } = state;
  const texts = ['program', ...(programArguments ?? [])];
  const cells = new Map(
    texts.map((value, k) => [k * POINTER_BYTES, makeCell({ kind: 'string', value }, { name: `argv[${k}]` })]),
  );
  const argv = makeBuffer('argv', { nameDepth: 0, rest: 'unknown', cells });
  const given: Value[] = [number(texts.length), { kind: 'pointer', to: argv, offset: 0, element: charPointer }];
  for (const [index, parameter] of parameters.entries()) {
    if (!parameter.name) continue;
    scope.values.set(
      parameter.name,
      makeCell(given[index] ?? unknown('a parameter of main'), { name: parameter.name }),
    );
  }
  runBody(state, entry.declaration, scope, true);
}

/** Instances of a template that an explicit instantiation asks for are run each. */
const mostInstances = 8;

/** Runs a function with parameters that are not known, a method on an object that is not known. */
export function runEntry(state: HostState, entry: IndexedFunction, instead?: Instead): void {
  const { declaration } = entry;
  const name = lastName(declaration.name);
  const asked = state.index.instantiations.filter((instance) => instance.name === name);
  const wanted = asked.length > 0 || !declaration.templateParameters ? asked : mentionedInstances(state, name);
  const lists = wanted.slice(0, mostInstances).map((instance) => bindArguments(state, instance.arguments, entry.scope));
  const known = lists.filter((list) => list.every(isKnown));
  for (const list of known.length > 0 ? known : [[]]) runInstance(state, entry, list, instead);
}

/** `return run<4, decode>;`: instances whose address somebody takes, for a table or a caller that is not followed. */
function mentionedInstances({ index }: HostState, name: string): HostState['index']['instantiations'] {
  const found: HostState['index']['instantiations'][number][] = [];
  for (const { declaration } of index.functions) {
    if (!declaration.body || !declaration.mentions.has(name)) continue;
    walk(declaration.body, {
      name: ({ name: { parts } }) => {
        const part = parts.at(-1);
        if (part?.name === name && part.templateArguments) found.push({ name, arguments: part.templateArguments });
      },
    });
  }
  return found;
}

const isKnown = (argument: BoundArgument): boolean =>
  argument.kind === 'value' ? argument.value.kind !== 'unknown' : argument.kind === 'type';

function runInstance(
  state: HostState,
  entry: IndexedFunction,
  list: readonly BoundArgument[],
  instead: Instead | undefined,
  supposed = nothingSupposed,
): void {
  const { declaration } = entry;
  const record = recordOf(state, entry);
  const self = record && makeCell(unknownOf(state, record, 'this', 'parameter'), { type: record, name: 'this' });
  if (self) dropThis(self.value);
  const outer = record?.kind === 'record' ? record.scope : entry.scope;
  const scope = childScope(outer, { self, record: record?.kind === 'record' ? record : undefined });
  if (declaration.templateParameters) bindParameters(state, declaration.templateParameters, list, scope);
  bindUnknowns(state, declaration, scope);
  supposeParameters(state, declaration, scope, supposed);
  if (instead && declaration.body) instead(scope, declaration.body);
  else {
    const run = (more: Rerun['supposed']) => runInstance(state, entry, list, instead, more);
    runBody(state, declaration, scope, true, { supposed, run });
  }
}

/** Fields are known to people by their own name. */
function dropThis(value: Value): void {
  if (value.kind !== 'struct') return;
  for (const [name, cell] of value.fields) {
    const inner = cell.value;
    if (inner.kind === 'unknown')
      cell.value = { ...inner, name, roots: [name], reason: `${name} is not known in this file` };
    if (inner.kind === 'pointer') inner.to.name = name;
  }
}

function recordOf(state: HostState, entry: IndexedFunction): HostType | undefined {
  if (entry.record) return fromDeclaration(state, entry.record, entry.scope);
  const parts = entry.declaration.name.parts;
  if (parts.length < 2) return undefined;
  const owner = { ...entry.declaration.name, parts: parts.slice(0, -1).map(({ name }) => ({ name })) };
  const found = lookupQualified(state, owner, entry.scope);
  if (found?.kind === 'type') return found.type.kind === 'record' ? found.type : undefined;
  const symbol = found?.kind === 'symbols' ? found.symbols.find((candidate) => candidate.kind === 'record') : undefined;
  return symbol?.kind === 'record' ? fromDeclaration(state, symbol.declaration, symbol.scope) : undefined;
}

function fromDeclaration(state: HostState, declaration: RecordDeclaration, scope: Scope): HostType {
  const given = declaration.templateParameters ? [] : undefined;
  return instantiateRecord(state, { kind: 'record', declaration, scope }, given);
}

function bindUnknowns(state: HostState, declaration: FunctionDeclaration, scope: Scope): void {
  for (const parameter of declaration.parameters) {
    if (!parameter.name) continue;
    const type = resolveType(state, parameter.type, scope);
    const value = unknownOf(state, type, parameter.name, 'parameter');
    scope.values.set(
      parameter.name,
      makeCell(value, { type: type.kind === 'reference' ? type.to : type, name: parameter.name }),
    );
  }
}
