/** Local declarations of host code. */
import type { ConditionalExpression, Declaration, EnumDeclaration, VariableDeclaration } from '../parse/ast';
import { convert } from './conversion';
import { evaluate } from './expression';
import { autoType, type RecordType, typeName } from './host-type';
import { initialValue } from './initialise';
import { sizeOf } from './layout';
import { lookup } from './lookup';
import { cellAt, makeCell, named, standFor } from './memory';
import { locate, read } from './place';
import { instantiateRecord, resolveType } from './resolve-type';
import { bring, lastName, type Scope } from './scope';
import type { HostState } from './state';
import { asSupposed } from './supposed';
import { unknownOf } from './unknown-of';
import { lose } from './unseen';
import { type Cell, number, unknown, type Value } from './value';

/** Declares the names of a declaration statement in a scope. */
export function declareAll(state: HostState, declarations: readonly Declaration[], scope: Scope): void {
  for (const declaration of declarations) declare(state, declaration, scope);
}

function declare(state: HostState, declaration: Declaration, scope: Scope): void {
  switch (declaration.kind) {
    case 'variable':
      declareLocal(state, declaration, scope);
      break;
    case 'record':
      if (declaration.name) {
        const type = instantiateRecord(state, { kind: 'record', declaration, scope }, undefined);
        scope.types.set(lastName(declaration.name), type);
      }
      break;
    case 'alias':
      scope.types.set(declaration.name, resolveType(state, declaration.type, scope));
      break;
    case 'enum':
      declareEnum(state, declaration, scope);
      break;
    case 'using':
      if (declaration.isDirective) (scope.usings ??= []).push(declaration.name);
      else bring(scope, lastName(declaration.name), declaration.name);
      break;
    case 'namespace':
      if (declaration.alias) bring(scope, declaration.name, declaration.alias);
      break;
    default:
  }
}

/** Declares one local variable: a reference is the cell it is bound to. */
export function declareLocal(state: HostState, declaration: VariableDeclaration, scope: Scope): void {
  if (declaration.type.kind === 'enum') declareEnum(state, declaration.type.enumeration, scope);
  if (declaration.bindings) {
    bindParts(state, declaration, scope);
    return;
  }
  const name = declaration.name;
  if (!name) return;
  const bound = declaration.type.kind === 'reference' ? boundCell(state, declaration, scope) : undefined;
  if (bound) {
    scope.values.set(name, bound);
    return;
  }
  const outer = declaration.specifiers.isExtern && !declaration.initializer && variableOfNamespace(state, name, scope);
  if (outer) scope.values.set(name, outer);
  else if (declaration.specifiers.isStatic) scope.values.set(name, staticCell(state, declaration, name, scope));
  else scope.values.set(name, initialised(state, declaration, name, scope));
}

/** What `extern int n;` in a function means: no local variable, and none of a class. */
function variableOfNamespace(state: HostState, name: string, from: Scope): Cell | undefined {
  let scope: Scope | undefined = from;
  while (scope && (scope.namespace === undefined || scope.record)) scope = scope.parent;
  const found = scope && lookup(state, name, scope);
  return found?.kind === 'cell' ? found.cell : undefined;
}

/** One of a template is another in every instance. */
function staticCell(state: HostState, declaration: VariableDeclaration, name: string, scope: Scope): Cell {
  const instance = state.frame.isInstance ? instanceKey(state.frame.instance, instanceOf(scope)) : undefined;
  if (state.frame.isInstance && !instance) {
    const own = initialised(state, declaration, name, scope);
    if (!declaration.type.isConst && !declaration.specifiers.isConstexpr)
      lose(state, own, 'one of several instances has it');
    return own;
  }
  let cells = state.statics.get(declaration);
  if (!cells) state.statics.set(declaration, (cells = new Map()));
  const cell = cells.get(instance) ?? initialised(state, declaration, name, scope);
  cells.set(instance, cell);
  return cell;
}

/** Of a method that is a template itself both count. */
const instanceKey = (own: string | undefined, record: RecordType | undefined): object | string | undefined =>
  own !== undefined && record ? `${typeName(record)}: ${own}` : (own ?? record);

/** The instance of a class template whose method a scope is in. */
function instanceOf(scope: Scope): RecordType | undefined {
  for (let at: Scope | undefined = scope; at; at = at.parent) if (at.record?.arguments) return at.record;
  return undefined;
}

function initialised(state: HostState, declaration: VariableDeclaration, name: string, scope: Scope): Cell {
  const { value, type } = initialValue(state, declaration, scope, 'uninitialised');
  const cell = makeCell(unknown(''), { type, name, depth: state.depth });
  cell.value = named(state, cell, value);
  return asSupposed(state, cell, state.frame.rerun?.supposed);
}

function boundCell(state: HostState, declaration: VariableDeclaration, scope: Scope): Cell | undefined {
  const initializer = declaration.initializer;
  const expression =
    initializer?.form === 'assign'
      ? initializer.value
      : initializer?.form === 'call'
        ? initializer.arguments[0]
        : initializer?.list.elements[0]?.value;
  if (!expression || expression.kind === 'initList') return undefined;
  const place = locate(state, expression, scope);
  if (place.kind === 'cell') return place.cell;
  const isConst = declaration.type.kind === 'reference' && declaration.type.to.isConst;
  if (expression.kind === 'conditional' && !isConst) loseSides(state, expression, scope);
  const cell = makeCell(read(place), { name: declaration.name, depth: state.depth });
  return place.kind === 'somewhere' ? standFor(cell, place.buffer) : cell;
}

/** Which of two variables a reference is bound to is not known: what is assigned through it is not seen. */
function loseSides(state: HostState, { then, else: otherwise }: ConditionalExpression, scope: Scope): void {
  for (const side of [then, otherwise]) {
    const place = side.kind === 'name' ? locate(state, side, scope) : undefined;
    if (place?.kind === 'cell') lose(state, place.cell, 'one of two that a reference may be bound to');
  }
}

/** `auto [a, b] = …` */
function bindParts(state: HostState, declaration: VariableDeclaration, scope: Scope): void {
  const initializer = declaration.initializer;
  const expression = initializer?.form === 'assign' ? initializer.value : undefined;
  const value: Value = expression ? evaluate(state, expression, scope) : unknown('a structured binding');
  const isReference = declaration.type.kind === 'reference';
  bindNames(state, declaration.bindings ?? [], isReference ? value : convert(state, value, undefined), scope);
}

/** Names for the parts of a value: the fields of an object, the elements of a pair or tuple. */
export function bindNames(state: HostState, names: readonly string[], value: Value, scope: Scope): void {
  const parts = partsOf(state, value, names.length);
  for (const [index, name] of names.entries()) {
    const part = parts[index];
    scope.values.set(
      name,
      part ?? makeCell(unknownOf(state, autoType, name, 'parameter'), { name, depth: state.depth }),
    );
  }
}

/** The members of an object, the elements of an array. */
function partsOf(state: HostState, value: Value, count: number): readonly Cell[] {
  if (value.kind === 'struct') return [...value.fields.values()];
  const size = value.kind === 'array' || value.kind === 'container' ? sizeOf(state, value.element) : undefined;
  if ((value.kind !== 'array' && value.kind !== 'container') || size === undefined) return [];
  const first = value.kind === 'array' ? value.offset : 0;
  return Array.from({ length: count }, (_, i) => cellAt(state, value.buffer, first + i * size, value.element));
}

function declareEnum(state: HostState, declaration: EnumDeclaration, scope: Scope): void {
  const type = resolveType(
    state,
    {
      kind: 'enum',
      enumeration: declaration,
      isConst: false,
      isVolatile: false,
      first: declaration.first,
      last: declaration.last,
    },
    scope,
  );
  if (declaration.name) scope.types.set(lastName(declaration.name), type);
  if (declaration.isScoped) return;
  let next: number | undefined = 0;
  for (const enumerator of declaration.enumerators ?? []) {
    const given: Value | undefined = enumerator.value && evaluate(state, enumerator.value, scope);
    if (given) next = given.kind === 'number' ? given.value : undefined;
    const value = next === undefined ? unknown('an enumerator') : number(next);
    const typed = value.kind === 'number' && type.kind === 'enum' ? { ...value, declared: type } : value;
    scope.values.set(enumerator.name, makeCell(typed, { name: enumerator.name }));
    if (next !== undefined) next++;
  }
}
