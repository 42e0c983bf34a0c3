/** Declaration specifiers and attributes, CUDA's among them, wherever in a declaration they stand. */
import { TokenKind } from '../preprocess/token';
import type { Expression, Specifiers, TypeNode } from './ast';
import { parseAssignment } from './expressions';
import type { Parser } from './parser';
import { scanType } from './scan';
import { parseTypeId } from './types';
import { Word } from './words';

export type MutableSpecifiers = { -readonly [K in keyof Specifiers]: Specifiers[K] };

export const noSpecifiers: Specifiers = Object.freeze({
  isGlobal: false,
  isDevice: false,
  isHost: false,
  isShared: false,
  isConstant: false,
  isManaged: false,
  isGridConstant: false,
  isStatic: false,
  isExtern: false,
  isConstexpr: false,
  isInline: false,
  isNoinline: false,
  isRestrict: false,
  isPacked: false,
  isVirtual: false,
});

/** Specifiers that only set a flag. */
const flags: ReadonlyMap<string, keyof Specifiers> = new Map<string, keyof Specifiers>([
  ['__global__', 'isGlobal'],
  ['__device__', 'isDevice'],
  ['__host__', 'isHost'],
  ['__shared__', 'isShared'],
  ['__constant__', 'isConstant'],
  ['__managed__', 'isManaged'],
  ['__grid_constant__', 'isGridConstant'],
  ['static', 'isStatic'],
  ['extern', 'isExtern'],
  ['constexpr', 'isConstexpr'],
  ['consteval', 'isConstexpr'],
  ['constinit', 'isConstexpr'],
  ['inline', 'isInline'],
  ['__inline', 'isInline'],
  ['__inline__', 'isInline'],
  ['__forceinline__', 'isInline'],
  ['__forceinline', 'isInline'],
  ['__noinline__', 'isNoinline'],
  ['virtual', 'isVirtual'],
]);

/** What a run of specifiers says. Shared constant `noSpecifiers` until the first one is seen. */
export class SpecifierSet {
  private own: MutableSpecifiers | undefined;
  isTypedef = false;
  isFriend = false;

  get value(): Specifiers {
    return this.own ?? noSpecifiers;
  }

  change(): MutableSpecifiers {
    this.own ??= { ...noSpecifiers };
    return this.own;
  }

  setFlag(key: keyof Specifiers): void {
    (this.change() as Record<string, unknown>)[key] = true;
  }
}

/** Reads one specifier or attribute with its arguments; false if the parser does not stand at one. */
export function parseSpecifier(p: Parser, set: SpecifierSet): boolean {
  if (p.at('[')) return parseStandardAttribute(p, set);
  if (!(p.word & Word.specifier)) return false;
  const spelling = p.tok;
  const flag = flags.get(spelling);
  if (flag) set.setFlag(flag);
  if (spelling === 'typedef') set.isTypedef = true;
  else if (spelling === 'friend') set.isFriend = true;
  const first = p.pos;
  p.next();
  // extern "C"
  if (spelling === 'extern' && p.kindAt(p.pos) === TokenKind.string) p.next();
  if (p.at('(') && !flag) parseSpecifierArguments(p, set, spelling, first);
  return true;
}

function parseSpecifierArguments(p: Parser, set: SpecifierSet, spelling: string, first: number): void {
  switch (spelling) {
    case '__launch_bounds__':
      set.change().launchBounds = parseArgumentGroup(p);
      set.change().launchBoundsPlace = { first, last: p.pos - 1 };
      break;
    case '__maxnreg__':
      set.change().maxRegisters = parseArgumentGroup(p)[0];
      break;
    case '__cluster_dims__':
      set.change().clusterDimensions = parseArgumentGroup(p);
      break;
    case '__block_size__':
      set.change().blockSize = parseBlockSize(p);
      break;
    case '__align__':
    case '__builtin_align__':
    case 'alignas':
    case '_Alignas':
      set.change().alignment = parseAlignment(p);
      break;
    case '__attribute__':
    case '__attribute':
    case '__declspec':
      parseVendorAttributes(p, set);
      break;
    default:
      // explicit(…), extern(…): nothing of it matters here
      p.skipGroup();
  }
}

/** `__block_size__((x, y, z), (cx, cy, cz))`: the block's extents, then those of the cluster. */
function parseBlockSize(p: Parser): readonly Expression[] {
  if (p.peek(1) !== '(') return parseArgumentGroup(p);
  const group = p.enter();
  const extents = parseArgumentGroup(p);
  p.leave(group, true);
  return extents;
}

/** `(a, b)`: the expressions in a bracket group. */
export function parseArgumentGroup(p: Parser): Expression[] {
  const list: Expression[] = [];
  const group = p.enter();
  while (!p.atEnd) {
    list.push(parseAssignment(p));
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return list;
}

function parseAlignment(p: Parser): Expression | TypeNode {
  const group = p.enter();
  const type = scanType(p, p.pos);
  const isType = type.end === p.limit * 4 && type.sure;
  const alignment = isType ? parseTypeId(p) : parseAssignment(p);
  p.leave(group, true);
  return alignment;
}

/** `((aligned(16), packed))`, `(align(8))`: alignment and packing are kept, the rest has no bearing here. */
function parseVendorAttributes(p: Parser, set: SpecifierSet): void {
  const outer = p.enter();
  const inner = p.at('(') ? p.enter() : undefined;
  while (!p.atEnd) {
    const name = p.tok.replace(/^__|__$/g, '');
    p.next();
    if (name === 'packed') set.change().isPacked = true;
    else if (name === 'shared') set.setFlag('isShared');
    else if (name === 'global') set.setFlag('isGlobal');
    else if (name === 'device') set.setFlag('isDevice');
    else if (name === 'constant') set.setFlag('isConstant');
    else if (name === 'noinline') set.setFlag('isNoinline');
    if (p.at('(')) {
      if (name === 'aligned' || name === 'align') set.change().alignment = parseAlignment(p);
      else p.skipGroup();
    }
  }
  if (inner) p.leave(inner, true);
  p.leave(outer, true);
}

/** Whether the parser stands at `[[…]]`. */
export function atStandardAttribute(p: Parser): boolean {
  return p.at('[') && p.peek(1) === '[' && p.brackets.matched[p.pos] === 1;
}

function parseStandardAttribute(p: Parser, set: SpecifierSet): boolean {
  if (!atStandardAttribute(p)) return false;
  const { end } = p.brackets;
  if (end[p.pos + 1] + 1 !== end[p.pos]) return false;
  for (let i = p.pos + 2; i < end[p.pos]; i++) if (p.text[i] === 'noinline') set.setFlag('isNoinline');
  p.skipGroup();
  return true;
}

/** Reads attributes and alignments that stand where only such can. */
export function skipAttributes(p: Parser, set: SpecifierSet): void {
  for (;;) {
    if (p.at('[') && parseStandardAttribute(p, set)) continue;
    if (p.word & Word.specifier && attributeWords.has(p.tok)) {
      parseSpecifier(p, set);
      continue;
    }
    return;
  }
}

/** Specifiers between a pointer or reference and the declared name: `T const& __device__ f(`, `int* __shared__ p;`. */
export function parseInnerSpecifiers(p: Parser, set: SpecifierSet): void {
  let i = p.pos;
  while (p.wordAt(i) & Word.specifier && flags.has(p.text[i])) i++;
  // with a type between them the next declaration begins here
  if (i === p.pos || !p.isName(i) || !behindDeclaredName.has(p.textAt(i + 1))) return;
  while (p.pos < i) parseSpecifier(p, set);
}

const behindDeclaredName = new Set(['(', ';', '=', '[', ',', '{', ')']);

/** Specifiers that may stand behind a declared name. */
export function isAttributeWord(spelling: string): boolean {
  return attributeWords.has(spelling);
}

const attributeWords = new Set([
  ...['__attribute__', '__attribute', '__declspec', '__align__', '__builtin_align__', 'alignas', '_Alignas'],
  ...[
    '__launch_bounds__',
    '__maxnreg__',
    '__cluster_dims__',
    '__block_size__',
    '__extension__',
    '__cdecl',
    '__stdcall',
  ],
]);
