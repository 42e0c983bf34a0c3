/** Methods of library containers, and of objects whose type is not known. */
import type { CallExpression } from '../parse/ast';
import { evaluateArguments, forgetBehind } from './call';
import { convert } from './conversion';
import type { HostType } from './host-type';
import { construct } from './initialise';
import { keepsReferences, loseReferred } from './kept-references';
import { sizeOf } from './layout';
import { cellAt, forget, makeBuffer, smudge, store } from './memory';
import { combine } from './operator';
import { bindArguments } from './resolve-type';
import type { Scope } from './scope';
import { type HostState, sourceText } from './state';
import { type Cell, type ContainerValue, number, type UnknownValue, unknown, unknownFrom, type Value } from './value';

type Method = (state: HostState, self: ContainerValue, values: readonly Value[]) => Value;

const toData: Method = (_state, self) => ({ kind: 'pointer', to: self.buffer, offset: 0, element: self.element });

const toEnd: Method = (state, self) => {
  const bytes = sizeOf(state, self.element);
  const size = self.size.value;
  const offset = size.kind === 'number' && bytes ? size.value * bytes : Number.NaN;
  return { kind: 'pointer', to: self.buffer, offset, element: self.element };
};

const resize: Method = (state, self, [size]) => {
  if (size) store(state, self.size, size);
  return unknown('resize gives no value');
};

const append: Method = (state, self, [value]) => {
  const size = self.size.value;
  // a round that stands for many appends many elements
  const isKnown = size.kind === 'number' && state.blind === 0;
  const cell = isKnown ? elementAt(state, self, size.value) : undefined;
  if (cell && value) store(state, cell, convert(state, value, self.element));
  else smudge(state, self.buffer);
  store(state, self.size, combine(state, '+', size, number(1), undefined));
  return unknown('push_back gives no value');
};

function elementAt(state: HostState, self: ContainerValue, index: number): Cell | undefined {
  const bytes = sizeOf(state, self.element) ?? 1;
  return index >= 0 ? cellAt(state, self.buffer, index * bytes, self.element) : undefined;
}

const at: Method = (state, self, [index]) => {
  const cell = index?.kind === 'number' ? elementAt(state, self, index.value) : undefined;
  return cell?.value ?? unknownFrom(index ? [index] : [], `an element of ${self.buffer.name}`, self.element);
};

const last: Method = (state, self) => {
  const size = self.size.value;
  const cell = size.kind === 'number' ? elementAt(state, self, size.value - 1) : undefined;
  return cell?.value ?? unknown(`the last element of ${self.buffer.name}`, { type: self.element });
};

const removeLast: Method = (state, self) => {
  store(state, self.size, combine(state, '-', self.size.value, number(1), undefined));
  return unknown('pop_back gives no value');
};

const size: Method = (_state, self) => self.size.value;

const isEmpty: Method = (state, self) => combine(state, '==', self.size.value, number(0, 'unsigned long'), undefined);

const clear: Method = (state, self) => {
  store(state, self.size, number(0, 'unsigned long'));
  return unknown('clear gives no value');
};

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...['data', 'get', 'begin', 'c_str', 'release', 'cbegin'].map((name): [string, Method] => [name, toData]),
  ['end', toEnd],
  ['size', size],
  ['length', size],
  ['empty', isEmpty],
  ['resize', resize],
  ['assign', resize],
  ['push_back', append],
  ['emplace_back', append],
  ['pop_back', removeLast],
  ['clear', clear],
  ['at', at],
  ['front', (state, self) => at(state, self, [number(0)])],
  ['back', last],
  ['reserve', () => unknown('reserve gives no value')],
]);

/** A method of std::vector and its kin. */
export function callContainerMethod(
  state: HostState,
  self: ContainerValue,
  name: string,
  call: CallExpression,
  scope: Scope,
): Value {
  if (keepsReferences(self.type)) loseReferred(state, call.arguments, scope);
  const method = methods.get(name);
  if (method) return method(state, self, argumentsOf(state, self, name, call, scope));
  for (const { value, cell } of evaluateArguments(state, call.arguments, scope)) {
    if (!changesArguments.has(name)) continue;
    forgetBehind(state, value);
    if (cell && value.kind === 'container') forget(state, cell, `${name}() is not followed`);
  }
  smudge(state, self.buffer);
  if (!keepsSize.has(name)) forget(state, self.size, `the size of ${self.buffer.name} is not followed`);
  return unknown(`${name}() is not followed`);
}

/** Methods that are not followed and leave the container as long as it is. */
const keepsSize: ReadonlySet<string> = new Set(
  `find rfind find_first_of find_last_of find_first_not_of find_last_not_of count contains substr compare starts_with ends_with copy str
  rbegin rend crbegin crend before_begin top capacity max_size bucket_count load_factor reserve shrink_to_fit rehash lower_bound upper_bound
  equal_range fill sort reverse test any all none set flip to_ulong to_ullong to_string use_count unique get_deleter get_allocator key_comp
  value_comp hash_function has_value subspan first last size_bytes`.split(/\s+/),
);

/** Methods that are not followed and write what they are given: `text.copy(to, n)`, `a.swap(b)`. */
const changesArguments: ReadonlySet<string> = new Set(['copy', 'swap']);

/** Elements in place: `push_back({a, b})`, `emplace_back(a, b)`. */
function argumentsOf(
  state: HostState,
  self: ContainerValue,
  name: string,
  call: CallExpression,
  scope: Scope,
): readonly Value[] {
  const list = call.arguments;
  const isInPlace = name === 'emplace_back' || (name === 'push_back' && list[0]?.kind === 'initList');
  if (isInPlace) return [construct(state, self.element, list, scope, 'call')];
  return evaluateArguments(state, list, scope).map((argument) => argument.value);
}

/** Methods that give a pointer to the object's data: `tensor.data_ptr<float>()`, `buffer.data()`. */
const pointerMethods: ReadonlySet<string> = new Set([
  'data_ptr',
  'data',
  'mutable_data',
  'mutable_data_ptr',
  'const_data_ptr',
  'gpu_data',
  'mutable_gpu_data',
  'flat',
]);

/** A method of an object about which only the name is known. */
export function callUnknownMethod(
  state: HostState,
  self: UnknownValue,
  name: string,
  call: CallExpression,
  scope: Scope,
): Value {
  const list = evaluateArguments(state, call.arguments, scope);
  for (const { value } of list) forgetBehind(state, value);
  const owner = self.name ?? (call.callee.kind === 'member' ? sourceText(state, call.callee.object) : '');
  if (pointerMethods.has(name)) return dataPointer(state, owner || name, call, scope);
  const text = sourceText(state, call) || name;
  const assumed = state.assume.get(text);
  if (assumed !== undefined) return number(assumed);
  const type = /^(size|numel|rows|cols|width|height|stride|dim)$/.test(name) ? longType : undefined;
  return unknown(`${text} is not known in this file`, { name: text, roots: [text], type });
}

const longType: HostType = { kind: 'arithmetic', name: 'long' };

function dataPointer(state: HostState, owner: string, call: CallExpression, scope: Scope): Value {
  const callee = call.callee;
  const given = callee.kind === 'member' ? callee.name.parts.at(-1)?.templateArguments : undefined;
  const [argument] = given ? bindArguments(state, given, scope) : [];
  const to = state.outside.get(owner) ?? makeBuffer(owner, { nameDepth: 0, isDevice: true });
  state.outside.set(owner, to);
  return { kind: 'pointer', to, offset: 0, element: argument?.kind === 'type' ? argument.type : { kind: 'auto' } };
}
