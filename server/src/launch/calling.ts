/** std::invoke and std::apply: what they are given is called with what stands behind it, or with the elements of a tuple. */
import type { CallExpression } from '../parse/ast';
import type { Builtin } from './builtins';
import { callWith } from './call';
import { sourceText } from './state';

/** Others may have functions of these names. */
const isStandard = ({ callee }: CallExpression): boolean =>
  callee.kind === 'name' && callee.name.parts.length === 2 && callee.name.parts[0].name === 'std';

const invoke: Builtin = ({ state, call, list: [called, ...list] }) =>
  called && isStandard(call)
    ? callWith(state, called.value, list, call, sourceText(state, call.arguments[0]), called.cell)
    : undefined;

const apply: Builtin = ({ state, call, list: [called, tuple] }) => {
  if (!called || tuple?.value.kind !== 'struct' || tuple.value.type.kind !== 'tuple' || !isStandard(call))
    return undefined;
  const list = [...tuple.value.fields.values()].map((cell) => ({ value: cell.value, cell }));
  return callWith(state, called.value, list, call, sourceText(state, call.arguments[0]), called.cell);
};

export const callingBuiltins: readonly (readonly [string, Builtin])[] = [
  ['invoke', invoke],
  ['apply', apply],
];
