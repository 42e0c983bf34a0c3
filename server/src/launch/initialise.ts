/** Initialisation of host objects: declarations, constructors, braces. */
import type { Expression, InitListExpression, VariableDeclaration, VariableInitializer } from '../parse/ast';
import { isCopyOf, takes } from '../parse/constructors';
import { emptyMoved, evaluateArguments } from './call';
import { deduceClass, isOpenClass } from './class-deduction';
import { containerFromList } from './container-list';
import { convert, decay, makeVector } from './conversion';
import { withBraces, withElementBraces } from './elided-braces';
import { evaluate, expandPack } from './expression';
import { bindMember, constructorsOf, type HostArgument, runConstructor } from './function-call';
import { autoType, type HostType, type RecordType, type TupleType, withoutReference } from './host-type';
import { keepsReferences, loseReferred as loseKept } from './kept-references';
import { bitWidthOf, layoutOf, sizeOf } from './layout';
import { containerFrom, containerOfElements, fill, longestList } from './make-container';
import { blank, cellAt, forget, makeBuffer, makeCell, store } from './memory';
import { pointerTo } from './place';
import { resolveType } from './resolve-type';
import { childScope, type Scope } from './scope';
import { budgets, type HostState } from './state';
import { tupleOf } from './tuples';
import { linkUnions } from './unions';
import { unknownOf } from './unknown-of';
import { lose, loseDeleter, loseGiven } from './unseen';
import {
  type ArrayValue,
  type Buffer,
  type Cell,
  type FunctionSymbol,
  number,
  type StructValue,
  typeOf,
  unknown,
  unknownFrom,
  type Value,
} from './value';

/** The first value of a declared variable and its type. `missing`: what stands there without an initialiser. */
export function initialValue(
  state: HostState,
  declaration: VariableDeclaration,
  scope: Scope,
  missing: 'zero' | 'uninitialised',
): { readonly value: Value; readonly type: HostType } {
  const name = declaration.name ?? '';
  const declared = resolveType(state, declaration.type, scope);
  const value = fromInitializer(state, declaration, declared, scope);
  if (value) return { value, type: finalType(declared, value) };
  if (declaration.specifiers.isExtern) return { value: unknownOf(state, declared, name, 'parameter'), type: declared };
  return { value: withoutInitializer(state, declared, name, missing, scope), type: declared };
}

function finalType(declared: HostType, value: Value): HostType {
  if (declared.kind === 'array' && declared.length === undefined) {
    const isText = value.kind === 'string';
    return isText ? { ...declared, length: value.value.length + 1 } : (typeOf(value) ?? declared);
  }
  return declared.kind === 'auto' || isOpenClass(declared) ? (typeOf(value) ?? declared) : declared;
}

function fromInitializer(
  state: HostState,
  declaration: VariableDeclaration,
  type: HostType,
  scope: Scope,
): Value | undefined {
  const initializer = declaration.initializer;
  if (!initializer) return undefined;
  if (keepsReferences(type)) loseKept(state, given(initializer), scope);
  if (initializer.form === 'call')
    return construct(state, type, initializer.arguments, scope, 'call', declaration.name);
  if (initializer.form === 'braces') {
    const [only, ...others] = initializer.list.elements;
    // `auto n{value}` is no list
    if (type.kind === 'auto' && only && others.length === 0)
      return initialised(state, evaluate(state, only.value, scope), type);
    return fromList(state, initializer.list, type, scope, declaration.name);
  }
  if (initializer.value.kind === 'initList') return fromList(state, initializer.value, type, scope, declaration.name);
  // what a constructor takes by reference is the object itself
  const [{ value, ...argument }] =
    type.kind === 'record' && isPlace(initializer.value)
      ? evaluateArguments(state, [initializer.value], scope)
      : [{ value: evaluate(state, initializer.value, scope) }];
  if (type.kind === 'record' && 'cell' in argument && value.kind !== 'struct' && value.kind !== 'unknown')
    return constructRecord(state, type, [{ value, ...argument }]);
  if (type.kind === 'container' && value.kind !== 'container') return containerFrom(state, type, [value]);
  const isWritable = declaration.type.kind === 'array' && !declaration.type.of.isConst;
  if (type.kind === 'array' && value.kind === 'string' && isWritable) return charactersOf(state, type, value.value);
  return initialised(state, value, type);
}

const isPlace = ({ kind }: Expression): boolean => kind === 'name' || kind === 'member' || kind === 'index';

/** What a variable is made of. */
function given(initializer: VariableInitializer): readonly Expression[] {
  if (initializer.form === 'call') return initializer.arguments;
  return [initializer.form === 'braces' ? initializer.list : initializer.value];
}

/** `char name[16] = "text"`: characters that may be written one by one, zeros behind them. */
function charactersOf(state: HostState, type: HostType & { kind: 'array' }, text: string): Value {
  const length = type.length ?? text.length + 1;
  const buffer = makeBuffer('a text', { rest: 'zero', bytes: length });
  const codes = Array.from(text.slice(0, longestList), (c) => c.charCodeAt(0));
  // what is beyond ASCII has several bytes
  if (codes.some((code) => code > 127)) buffer.rest = 'unknown';
  else
    fill(
      state,
      buffer,
      0,
      codes.map((code) => number(code, 'char')),
      type.of,
    );
  return { kind: 'array', buffer, offset: 0, element: type.of, length };
}

/** What an object of a type is that is initialised with a value: a parameter, a result, `T x = value`. */
export function initialised(state: HostState, value: Value, type: HostType): Value {
  const isMade = type.kind === 'record' && value.kind !== 'struct' && value.kind !== 'unknown';
  if (!isMade) return convert(state, value, type);
  const list = value.kind === 'array' ? value.list : undefined;
  return constructRecord(state, type, list ?? [{ value }]);
}

function withoutInitializer(
  state: HostState,
  type: HostType,
  name: string,
  missing: 'zero' | 'uninitialised',
  scope: Scope,
): Value {
  if (type.kind === 'record') return construct(state, type, [], scope, 'call', name);
  if (type.kind === 'opaque') return unknown(`${name} is not known in this file`, { type, uninitialised: true });
  if (type.kind === 'array') return arrayOfDefaults(state, type, name, missing, scope);
  if (missing === 'uninitialised' || type.kind === 'vector' || type.kind === 'container')
    return blank(state, type, name);
  return zeroOf(state, type, name);
}

/** Elements of larger arrays are not made one by one. */
const MOST_DEFAULTS = 64;

/** An array whose elements have what their class gives them: `struct Divider { unsigned shift = 0; }; Divider sizes[5];` */
function arrayOfDefaults(
  state: HostState,
  type: HostType & { kind: 'array' },
  name: string,
  missing: 'zero' | 'uninitialised',
  scope: Scope,
): Value {
  const value = missing === 'zero' ? zeroOf(state, type, name) : blank(state, type, name);
  const { of, length = 0 } = type;
  if (of.kind !== 'record' || length > MOST_DEFAULTS || value.kind !== 'array' || !givesValues(state, of)) return value;
  const size = sizeOf(state, of) ?? 0;
  for (let i = 0; i < length && size > 0; i++)
    cellAt(state, value.buffer, value.offset + i * size, of).value = construct(
      state,
      of,
      [],
      scope,
      'call',
      `${name}[${i}]`,
    );
  return value;
}

const givesValues = (state: HostState, type: RecordType): boolean =>
  constructorsOf(state, type).length > 0 ||
  layoutOf(state, type).fields.some((field) => field.initializer?.initializer !== undefined);

/** Static storage begins as zeros. */
function zeroOf(state: HostState, type: HostType, name: string): Value {
  if (type.kind === 'arithmetic') return number(0, type.name);
  if (type.kind === 'enum') return { ...number(0, type.underlying), declared: type };
  if (type.kind === 'pointer') return number(0, 'long');
  const value = blank(state, type, name);
  if (value.kind === 'array') value.buffer.rest = 'zero';
  return value;
}

/** `T(a, b)`, `T{a, b}`, `T x(a, b)` */
export function construct(
  state: HostState,
  type: HostType,
  list: readonly Expression[],
  scope: Scope,
  form: 'call' | 'braces',
  name = '',
): Value {
  if (list.length === 1 && list[0].kind === 'initList') return fromList(state, list[0], type, scope);
  const made = constructOf(state, type, evaluateArguments(state, list, scope), form, name);
  emptyMoved(state, list, scope);
  return made;
}

function constructOf(
  state: HostState,
  type: HostType,
  given: readonly HostArgument[],
  form: 'call' | 'braces',
  name: string,
): Value {
  const values = given.map((argument) => argument.value);
  if (isOwner(type)) for (const deleter of values.slice(1)) loseDeleter(state, deleter);
  switch (type.kind) {
    case 'vector':
      return values.length === 1 ? convert(state, values[0], type) : makeVector(type, values);
    case 'record':
      return constructRecord(state, type, given, name);
    case 'tuple':
      loseReferred(state, type, given);
      return tupleFrom(state, type, values);
    case 'container':
      return form === 'braces' ? containerOfElements(state, type, values) : containerFrom(state, type, values);
    case 'constant':
      return unknown('an integral constant', { type });
    case 'sequence':
      return unknown('an integer sequence', { type });
    case 'reference':
      return values[0] ?? unknown('a reference to nothing');
    case 'opaque':
      return unknownFrom(values, `${type.name} is not known in this file`, type);
    default:
      return values.length === 0 ? zeroOf(state, type, name) : convert(state, values[0], type);
  }
}

/** A pointer that may keep a deleter. */
const isOwner = (type: HostType): boolean =>
  type.kind === 'pointer' || (type.kind === 'container' && (type.name === 'unique_ptr' || type.name === 'shared_ptr'));

/** What `new T(…)` gives. */
export function newObject(
  state: HostState,
  type: HostType,
  list: readonly Expression[],
  scope: Scope,
  name = 'an object',
): Value {
  const value = construct(state, type, list, scope, 'call');
  return pointerTo(makeCell(value, { type, name, depth: Number.POSITIVE_INFINITY }));
}

/** A record from arguments: by a constructor, as a copy, or field by field. */
export function constructRecord(
  state: HostState,
  type: RecordType,
  given: readonly { value: Value; cell?: Cell }[],
  name = '',
): Value {
  const instance = deduceClass(
    state,
    type,
    given.map(({ value }) => value),
  );
  if (instance) return constructRecord(state, instance, given, name);
  const only = given.length === 1 ? given[0].value : undefined;
  if (only?.kind === 'struct' && only.type.kind === 'record' && only.type.declaration === type.declaration) {
    return convert(state, only, type);
  }
  loseGiven(state, type.name, given);
  const constructors = constructorsOf(state, type);
  if (constructors.length === 0 && isMadeElsewhere(type, given.length))
    return unknownOf(state, type, name || type.name, 'parameter');
  const object = defaultRecord(state, type, name);
  if (constructors.length > 0) return runConstructor(state, type, object, constructors, given);
  for (const [index, [name, cell]] of [...object.fields].entries()) {
    if (index < given.length && !bindMember(object, name, given[index])) store(state, cell, given[index].value);
  }
  return object;
}

/** By a constructor that is only declared here: such a class takes no values for its fields, and nobody knows what they become. */
function isMadeElsewhere(type: RecordType, given: number): boolean {
  const own = type.scope.symbols?.get(type.name) ?? [];
  return own.some((symbol) => {
    if (symbol.kind !== 'function' || given === 0) return false;
    return !isCopyOf(type.name, symbol.declaration) && takes(symbol.declaration, given);
  });
}

/** An object with its fields' default initialisers. */
export function defaultRecord(state: HostState, type: RecordType, name: string): StructValue {
  const fields = new Map<string, Cell>();
  const object: StructValue = { kind: 'struct', type, fields };
  if (state.depth > budgets.callDepth) return object;
  state.depth++;
  const self = makeCell(object, { type, name });
  for (const field of layoutOf(state, type).fields) {
    const full = name ? `${name}.${field.name}` : field.name;
    const initial = field.initializer?.initializer
      ? initialValue(state, field.initializer, childScope(field.scope, { self }), 'uninitialised').value
      : withoutInitializer(state, field.type, full, 'uninitialised', field.scope);
    const cell = makeCell(initial, { type: field.type, name: full, bits: bitWidthOf(state, field) });
    // which of a class's and its base's is meant is not followed
    if (fields.has(field.name)) lose(state, cell, `there are several members ${field.name}`);
    fields.set(field.name, cell);
  }
  state.depth--;
  linkUnions(type, fields);
  return object;
}

/** A braced list as a value of a type. */
export function fromList(state: HostState, list: InitListExpression, type: HostType, scope: Scope, name = ''): Value {
  switch (type.kind) {
    case 'array':
      return arrayFromList(state, list, type, scope, name);
    case 'vector':
      return makeVector(type, evaluateAll(state, list, scope));
    case 'tuple':
      return tupleFromList(state, list, type, scope);
    case 'record':
      return recordFromList(state, list, type, scope, name);
    case 'container':
      return containerFromList(state, list, type, scope);
    case 'auto':
      return untypedList(state, list, scope);
    case 'opaque':
      return openRecord(state, list, type, scope, name);
    default: {
      const first = list.elements[0];
      return first ? convert(state, evaluate(state, first.value, scope), type) : zeroOf(state, type, '');
    }
  }
}

function tupleFromList(state: HostState, list: InitListExpression, type: TupleType, scope: Scope): Value {
  return tupleOf(type, (element, part, index) => {
    const given = list.elements[index]?.value;
    if (!given) return zeroOf(state, element, part);
    if (given.kind === 'initList') return fromList(state, given, element, scope);
    return initialised(state, evaluate(state, given, scope), element);
  });
}

/** What a tuple has references to may be written through them, which is not followed. */
function loseReferred(state: HostState, type: TupleType, given: readonly HostArgument[]): void {
  for (const [index, { cell }] of given.entries()) {
    const element = type.elements[index];
    if (!cell || !element || given.length !== type.elements.length) continue;
    const isReference = element.kind === 'reference' || element.kind === 'opaque';
    if (isReference) lose(state, cell, `${cell.name ?? 'it'} may be written through a reference`);
  }
}

/** A copy, or element by element. */
function tupleFrom(state: HostState, type: TupleType, values: readonly Value[]): Value {
  const [first] = values;
  const isCopy = values.length === 1 && first.kind === 'struct' && first.type.kind === 'tuple';
  const given = isCopy ? [...first.fields.values()].map((cell) => cell.value) : values;
  return tupleOf(type, (element, part, index) =>
    given[index] ? initialised(state, given[index], element) : zeroOf(state, element, part),
  );
}

export function evaluateAll(state: HostState, list: InitListExpression, scope: Scope): Value[] {
  return evaluateArguments(
    state,
    list.elements.map((element) => element.value),
    scope,
  ).map((argument) => argument.value);
}

export function elementValues(state: HostState, list: InitListExpression, type: HostType, scope: Scope): Value[] {
  return list.elements.flatMap((element) =>
    element.value.kind === 'initList'
      ? [fromList(state, element.value, type, scope)]
      : evaluateArguments(state, [element.value], scope).map((argument) => convert(state, argument.value, type)),
  );
}

/** A struct whose declaration is not there has the fields the text names. */
function openRecord(state: HostState, list: InitListExpression, type: HostType, scope: Scope, name: string): Value {
  const fields = new Map<string, Cell>();
  for (const element of list.elements) {
    const value = evaluate(state, element.value, scope);
    const field = element.designator?.replace(/^\./, '');
    if (field) fields.set(field, makeCell(value, { name: `${name}.${field}` }));
  }
  return { kind: 'struct', type, fields };
}

function untypedList(state: HostState, list: InitListExpression, scope: Scope): Value {
  // what a list of arrays becomes holds pointers to them: `std::array<int*, 2>`
  const given = evaluateArguments(
    state,
    list.elements.map((element) => element.value),
    scope,
  ).map((argument) => ({ ...argument, value: decay(argument.value) }));
  const values = given.map(({ value }) => value);
  const element = (values[0] && typeOf(values[0])) ?? autoType;
  return { ...arrayOfValues(state, values, element), list: given };
}

function arrayOfValues(state: HostState, values: readonly Value[], element: HostType): ArrayValue {
  const buffer = makeBuffer('a list', { rest: 'zero' });
  fill(state, buffer, 0, values, element);
  return { kind: 'array', buffer, offset: 0, element, length: values.length };
}

/** Puts values into consecutive elements. */
function arrayFromList(
  state: HostState,
  list: InitListExpression,
  type: HostType & { kind: 'array' },
  scope: Scope,
  name: string,
): Value {
  const given = withElementBraces(state, list, type.of, scope);
  const length = type.length ?? given.elements.reduce((sum, { value }) => sum + valuesOf(state, value, scope), 0);
  const whole: HostType = { ...type, length };
  const buffer = makeBuffer(name || 'a list', { rest: 'zero', bytes: sizeOf(state, whole) });
  fillFromList(state, buffer, 0, given, type.of, scope);
  return { kind: 'array', buffer, offset: 0, element: type.of, length };
}

/** How many values an element of a list stands for: `{n...}` has one for each of the pack. */
const valuesOf = (state: HostState, value: Expression, scope: Scope): number =>
  value.kind === 'packExpansion' ? expandPack(state, value.operand, scope).length : 1;

/** Nested braces of an array of arrays fill one flat buffer. */
function fillFromList(
  state: HostState,
  buffer: Buffer,
  offset: number,
  list: InitListExpression,
  element: HostType,
  scope: Scope,
): void {
  const size = sizeOf(state, element) ?? 1;
  let at = offset;
  for (const { value } of list.elements.slice(0, longestList)) {
    if (element.kind === 'array' && value.kind === 'initList')
      fillFromList(state, buffer, at, value, element.of, scope);
    else fill(state, buffer, at, elementValues(state, { ...list, elements: [{ value }] }, element, scope), element);
    at += size * valuesOf(state, value, scope);
  }
}

function recordFromList(
  state: HostState,
  list: InitListExpression,
  type: RecordType,
  scope: Scope,
  name: string,
): Value {
  const isDesignated = list.elements.some((element) => element.designator !== undefined);
  const constructors = isDesignated ? [] : constructorsOf(state, type);
  if (constructors.length > 0) {
    const whole = list.elements.length > 0 ? takenWhole(state, type, constructors, list.elements.length) : undefined;
    if (whole) return constructRecord(state, type, [{ value: fromList(state, list, whole, scope) }], name);
    return constructRecord(
      state,
      type,
      evaluateArguments(
        state,
        list.elements.map((element) => element.value),
        scope,
      ),
      name,
    );
  }
  if (!isDesignated && isMadeElsewhere(type, list.elements.length))
    return unknownOf(state, type, name || type.name, 'parameter');
  const isPlain = !isDesignated && list.elements.every(({ value }) => value.kind !== 'initList');
  const instance = isPlain && isOpenClass(type) ? deduceClass(state, type, evaluateAll(state, list, scope)) : undefined;
  const object = defaultRecord(state, instance ?? type, name);
  const given = list.elements.flatMap(({ value }) =>
    value.kind === 'lambda' ? evaluateArguments(state, [value], scope) : [],
  );
  loseGiven(state, type.name, given);
  const cells = [...object.fields.values()];
  const filled = new Set<Cell>();
  let next = 0;
  for (const element of withBraces(state, list, object.type, scope).elements) {
    const named = element.designator?.replace(/^\./, '');
    const cell = named !== undefined ? object.fields.get(named) : cells[next];
    next = cell ? cells.indexOf(cell) + 1 : next + 1;
    if (!cell) continue;
    filled.add(cell);
    const inner = element.value;
    if (cell.type?.kind === 'reference' && inner.kind !== 'initList') {
      const member = [...object.fields].find(([, each]) => each === cell)?.[0] ?? '';
      const [argument] = evaluateArguments(state, [inner], scope);
      if (!bindMember(object, member, argument)) cell.value = convert(state, argument.value, cell.type);
      continue;
    }
    const value =
      inner.kind === 'initList' ? fromList(state, inner, cell.type ?? autoType, scope) : evaluate(state, inner, scope);
    store(state, cell, value);
  }
  loseGiven(
    state,
    type.name,
    cells.flatMap(({ value }) => (value.kind === 'pointer' ? [{ value }] : [])),
  );
  settleOthers(state, cells, filled, list.elements.length > 0);
  return object;
}

/** Members that braces leave out are zero; of a union those beside the one that is given are not known. */
function settleOthers(state: HostState, cells: readonly Cell[], filled: ReadonlySet<Cell>, isAnyGiven: boolean): void {
  for (const cell of cells) {
    const { value, type: field } = cell;
    // other members of a union lie over the one that is given
    if (cell.union && isAnyGiven) {
      state.changing.add(cell.union);
      if (!filled.has(cell)) forget(state, cell, 'another member of the union was written');
      state.changing.delete(cell.union);
      continue;
    }
    if (value.kind === 'unknown' && value.uninitialised && field) cell.value = zeroOf(state, field, cell.name ?? '');
    if (value.kind === 'array' && value.buffer.rest === 'uninitialised') value.buffer.rest = 'zero';
  }
}

/**
 * The parameter of a constructor that takes the elements of braces together: `T(std::initializer_list<int> sizes)`, and `T x({a, b, c})` where no
 * constructor takes so many but one an object of them, `T(std::array<int, 3> sizes)`.
 */
function takenWhole(
  state: HostState,
  { name }: RecordType,
  constructors: readonly FunctionSymbol[],
  count: number,
): HostType | undefined {
  const alone = constructors.filter(({ declaration }) => takes(declaration, 1) && !isCopyOf(name, declaration));
  const given = alone.flatMap(({ declaration: { parameters }, scope }) =>
    parameters[0] ? [withoutReference(resolveType(state, parameters[0].type, scope))] : [],
  );
  const list = given.find((type) => type.kind === 'container' && type.name === 'initializer_list');
  if (list || constructors.some(({ declaration }) => takes(declaration, count))) return list;
  const objects = given.filter(({ kind }) => madeOfLists.has(kind));
  return objects.length === 1 ? objects[0] : undefined;
}

const madeOfLists: ReadonlySet<HostType['kind']> = new Set(['container', 'record', 'tuple', 'vector']);
