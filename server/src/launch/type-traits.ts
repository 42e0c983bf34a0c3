/** What the standard's traits answer about host types; undefined where a type is not known well enough. */
import { arithmeticTypes } from './arithmetic';
import { type HostType, typeName } from './host-type';

type Question = (...types: readonly (HostType | undefined)[]) => boolean | undefined;

/** A name that nothing in the unit declares may be another name of any type; of the halves every name is known. */
const isOpen = (type: HostType): boolean =>
  type.kind === 'auto' ||
  type.kind === 'function' ||
  type.kind === 'pack' ||
  (type.kind === 'opaque' && type.bytes === undefined);

/** `__half` and `half` are one type. */
const plainName = (type: HostType): string => typeName(type).replace(/^__(?=half|nv_)/, '');

function isSame(a: HostType | undefined, b: HostType | undefined): boolean | undefined {
  if (!a || !b) return undefined;
  if ('to' in a && a.kind === b.kind) return isSame(a.to, b.to);
  if (isOpen(a) || isOpen(b)) return undefined;
  return plainName(a) === plainName(b);
}

const about =
  (holds: (type: HostType) => boolean): Question =>
  (type) =>
    type === undefined || isOpen(type) ? undefined : holds(type);

const isArithmetic = (type: HostType): boolean => type.kind === 'arithmetic' && type.name !== 'void';
const isFloating = (type: HostType): boolean => type.kind === 'arithmetic' && arithmeticTypes[type.name].floating;
const isSigned = (type: HostType): boolean => type.kind === 'arithmetic' && arithmeticTypes[type.name].signed;

const questions: Readonly<Record<string, Question>> = {
  is_same: isSame,
  is_void: about((type) => type.kind === 'arithmetic' && type.name === 'void'),
  is_integral: about((type) => isArithmetic(type) && !isFloating(type)),
  is_floating_point: about(isFloating),
  is_arithmetic: about(isArithmetic),
  is_signed: about((type) => isArithmetic(type) && (isFloating(type) || isSigned(type))),
  is_unsigned: about((type) => isArithmetic(type) && !isFloating(type) && !isSigned(type)),
  is_pointer: about((type) => type.kind === 'pointer'),
  is_enum: about((type) => type.kind === 'enum'),
};

/** Names of the traits that are answered. */
export const traitNames: readonly string[] = Object.keys(questions);

/** What `std::is_same<A, B>` and its kin say. */
export const traitAnswer = (name: string, types: readonly HostType[]): boolean | undefined => questions[name](...types);
