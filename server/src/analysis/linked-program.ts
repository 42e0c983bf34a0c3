/**
 * The units of a program as one: its main may stand in another file than its kernels, and what makes their data in a third. Tokens follow
 * one another in one stream, so that every node has a number in it; those of the unit under analysis keep theirs.
 */
import type { DeviceCode } from '../host/run-kernel';
import { hasMain } from '../launch/wanted-functions';
import { createUnitContext } from '../lower/lower-kernel';
import type { TranslationUnit } from '../parse/ast';
import { parse } from '../parse/parse';
import { renumber } from '../parse/renumber';
import type { Pragma, SourceFile, TokenStream } from '../preprocess/token';
import { deviceCode } from './device-code';
import { Fingerprints } from './fingerprint';
import { type FoundKernel, findKernels, oncePerPlace } from './kernels';
import type { Launch } from './launches';
import { indexOfUnit, type LinkedUnit } from './linker';
import type { ParsedUnit } from './parsed-unit';

/** The program that a unit is part of, as its host is run. */
export interface ProgramText {
  /** Equal texts: the same other units, with the same numbers. */
  readonly key: string;
  /** The number that a token of a linked unit has in the program; the unit's own keep theirs. */
  numberOf(token: number): number;
  /** Read when it is asked for. @param launches of the unit's kernels */
  read(launches: readonly Launch[]): {
    readonly tree: TranslationUnit;
    readonly tokens: TokenStream;
    readonly device: DeviceCode;
  };
}

/** The program of a unit and those that are linked with it: of several programs that use it the first. */
export function programOf(unit: ParsedUnit, linked: readonly LinkedUnit[]): ProgramText {
  const parts = partsOf(unit, linked);
  if (parts.length === 0) {
    const { tree, source } = unit;
    return {
      key: '',
      numberOf: (token) => token,
      read: (launches) => ({
        tree,
        tokens: source.tokens,
        device: deviceCode(unit, launches, unit.others && { context: unit.context, kernels: unit.others }),
      }),
    };
  }
  const begins = beginsOf([unit.source.tokens, ...parts.map(({ tokens }) => tokens)]);
  return {
    key: `${begins.join()}#${parts.map(({ id }) => id).join()}`,
    numberOf: (token) => {
      const index = parts.findIndex(({ base, tokens }) => token >= base && token < base + tokens.count);
      return index < 0 ? token : begins[index + 1] + token - parts[index].base;
    },
    read: (launches) => {
      const { tree, tokens } = linkedProgram(unit, parts, begins);
      const context = createUnitContext(tree, tokens);
      const whole = { context, kernels: findKernels(tree, context.scope) };
      return { tree, tokens, device: deviceCode(unit, launches, whole) };
    },
  };
}

/** A unit with what its kernels call of other files, as `nvcc -rdc=true` links it; the unit itself where that is nothing. */
export function withDeviceCode(unit: ParsedUnit, parts: readonly LinkedUnit[]): ParsedUnit {
  if (parts.length === 0) return unit;
  const key = parts.map(({ id }) => id).join();
  const known = withCode.get(unit);
  if (known?.key === key) return known.whole;
  const whole = joined(unit, parts);
  withCode.set(unit, { key, whole });
  return whole;
}

/** By unit: what it was last read with. */
const withCode = new WeakMap<ParsedUnit, { readonly key: string; readonly whole: ParsedUnit }>();

function joined(unit: ParsedUnit, parts: readonly LinkedUnit[]): ParsedUnit {
  const begins = beginsOf([unit.source.tokens, ...parts.map((part) => part.tokens)]);
  const { tree, tokens } = linkedProgram(unit, parts, begins);
  const [, linkedFrom] = begins;
  const others = parts.flatMap(({ pragmas }, index) => moved(pragmas, begins[index + 1]));
  const pragmas = [...unit.source.pragmas, ...others];
  const context = { ...createUnitContext(tree, tokens), linkedFrom };
  const kernels = oncePerPlace(findKernels(tree, context.scope), tokens);
  const isOwn = ({ declaration }: FoundKernel) => declaration.first < linkedFrom;
  return {
    source: { ...unit.source, tokens, pragmas },
    tree,
    context,
    kernels: kernels.filter(isOwn),
    others: kernels.filter((kernel) => !isOwn(kernel)),
    fingerprints: new Fingerprints(tree, tokens, pragmas),
  };
}

const moved = (pragmas: readonly Pragma[], by: number): Pragma[] =>
  pragmas.map((pragma) => ({ ...pragma, beforeToken: pragma.beforeToken + by }));

/** None where no unit has a main. */
function partsOf(unit: ParsedUnit, linked: readonly LinkedUnit[]): readonly LinkedUnit[] {
  let isComplete = hasMain(indexOfUnit(unit));
  const parts = linked.filter(({ index }) => {
    if (!hasMain(index)) return true;
    if (isComplete) return false;
    isComplete = true;
    return true;
  });
  return isComplete ? parts : [];
}

/**
 * Where each unit's tokens begin in the one stream, and its end. The room of a unit is a power of two, so that few edits change it; the first has
 * room for the largest (`renumber`).
 */
function beginsOf(streams: readonly TokenStream[]): number[] {
  const rooms = streams.map(({ count }) => 2 ** Math.ceil(Math.log2(count + 1)));
  const begins = [0, Math.max(...rooms)];
  for (const room of rooms.slice(1)) begins.push(begins[begins.length - 1] + room);
  return begins;
}

/** @param begins where the tokens of each unit begin */
function linkedProgram(
  unit: ParsedUnit,
  parts: readonly LinkedUnit[],
  begins: readonly number[],
): { tree: TranslationUnit; tokens: TokenStream } {
  const others = parts.flatMap((part, index) => {
    const { declarations } = parse(part.tokens, part.pragmas);
    const wanted = new Set(part.declarations.map(({ first }) => first - part.base));
    const own = declarations.filter(({ first }) => wanted.has(first));
    renumber(own, begins[index + 1]);
    return own;
  });
  return {
    tree: { declarations: [...unit.tree.declarations, ...others], notes: unit.tree.notes },
    tokens: inOneStream([unit.source.tokens, ...parts.map((part) => part.tokens)], begins),
  };
}

/** Streams one after the other, each where it begins. */
function inOneStream(streams: readonly TokenStream[], begins: readonly number[]): TokenStream {
  const count = begins[streams.length];
  const text = new Array<string>(count).fill('');
  const kind = new Uint8Array(count);
  const flags = new Uint8Array(count);
  const file = new Int32Array(count);
  const start = new Int32Array(count);
  const end = new Int32Array(count);
  const expansion = new Int32Array(count).fill(-1);
  const files: SourceFile[] = [];
  const expansions: TokenStream['expansions'][number][] = [];
  streams.forEach((stream, index) => {
    const base = begins[index];
    kind.set(stream.kind.subarray(0, stream.count), base);
    flags.set(stream.flags.subarray(0, stream.count), base);
    start.set(stream.start.subarray(0, stream.count), base);
    end.set(stream.end.subarray(0, stream.count), base);
    for (let at = 0; at < stream.count; at++) {
      text[base + at] = stream.text[at];
      file[base + at] = stream.file[at] + files.length;
      if (stream.expansion[at] >= 0) expansion[base + at] = stream.expansion[at] + expansions.length;
    }
    files.push(...stream.files);
    expansions.push(...stream.expansions);
  });
  return { count, kind, text, flags, file, start, end, expansion, expansions, files };
}
