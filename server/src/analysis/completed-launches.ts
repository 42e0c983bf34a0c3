/**
 * Launches with what the text alone does not tell: a grid computed from the length of a container, a number of elements that a loop has counted.
 * The program of the host was run (host/run-host.ts), and what it gave a launch counts as known.
 */
import type { HostRound } from '../host/run-host';
import type { HostTriple, HostValue } from '../launch/host-value';
import { reportedRounds } from '../launch/reported-rounds';
import { isSameInstance } from '../lower/records';
import type { TypeNode } from '../parse/ast';
import type { HostData } from './host-data';
import type { FoundKernel } from './kernels';
import { isEmpty, withoutZeros } from './launch-plan';
import type { Launch } from './launches';
import { partsOf, pointersIn, shapeOf } from './round-parts';

/**
 * The launches, completed where the run came to them, with the rounds of loops whose end the text does not tell; nothing is run where it tells everything.
 * @param isAnnotated kernels whose values a person has given
 * @param most rounds of a loop that give a launch different values and are reported
 */
export function completedLaunches(
  launches: readonly Launch[],
  data: HostData | undefined,
  isAnnotated: (kernel: FoundKernel) => boolean,
  most: number,
): Launch[] {
  const told = new Set<HostRound>();
  // the same for all open launches of a place
  const own = new Map<string, readonly HostRound[]>();
  return launches.flatMap((found) => {
    // a grid of no blocks is what comes of a container that the text does not follow, where the run has blocks
    const launch = isEmpty(found) ? withoutZeros(found) : found;
    const isWhole = !isOpen(launch) && !launch.isSupposed;
    if (!data || (isWhole && !launch.isFirstOfMany) || isAnnotated(launch.kernel)) return [found];
    const { place, instance } = launch;
    const instances = new Set(launches.filter((l) => l.place.first === place.first).map((l) => l.instance));
    const here = data.roundsAt(place.first, instance);
    const site = `${place.first};${instance}`;
    const all = isWhole ? here : (own.get(site) ?? ownRounds(here, launch, launches));
    if (!isWhole) own.set(site, all);
    const agreeing = all.filter((round) => agrees(launch, round));
    // a way that the text's first round does not take, with numbers of that round
    const isOfOthers = (!launch.reached || launch.isSupposed || launch !== found) && agreeing.length === 0;
    const rounds = distinct(isOfOthers || (launch.isFirstOfMany && agreeing.length > 0) ? all : agreeing);
    const isOfInstance = rounds.every((round) => isSameInstance(round.launch.instance, instance));
    // which of the instances of a template a round was of may not be known
    if (rounds.length === 0 || (instances.size > 1 && rounds.length > 1 && !isOfInstance)) return [found];
    // the text may come to a launch in several ways that it cannot tell apart: the rounds of a loop are told for the first of them
    const untold = rounds.length > 1 ? rounds.filter((round) => !told.has(round)) : rounds;
    for (const round of rounds) told.add(round);
    const picked = reportedRounds(untold.length, most, (at) => shapeOf(untold[at]));
    // all that the run tells is what the text does
    if (isWhole && picked.length < 2) return [found];
    const isOfMany = isOfOthers || launch.isFirstOfMany === true || rounds.length > 1;
    return picked.map((at) => completed(launch, untold[at], isOfMany));
  });
}

/** The rounds without those that are another launch of the place, which the text tells whole. */
function ownRounds(
  rounds: readonly HostRound[],
  { place, instance }: Launch,
  launches: readonly Launch[],
): readonly HostRound[] {
  const others = launches.filter(
    (other) =>
      other.place.first === place.first &&
      other.instance === instance &&
      other.reached &&
      !other.isFirstOfMany &&
      !isOpen(other),
  );
  const own = rounds.filter((round) => !others.some((other) => agrees(other, round)));
  return own.length > 0 ? own : rounds;
}

const isUnknown = (value: HostValue): boolean => value.kind === 'unknown';

/** The value, a member of the structure, an element of the array or a capture of the lambda that it is. */
function hasUnknown(value: HostValue): boolean {
  if (value.kind === 'struct') return [...value.fields.values()].some(hasUnknown);
  if (value.kind === 'lambda') return [...value.captures.values()].some(hasUnknown);
  return value.kind === 'array' ? value.elements.some(hasUnknown) : isUnknown(value);
}

function isOpen({ grid, block, dynamicSharedBytes, arguments: passed, kernel }: Launch): boolean {
  const { parameters } = kernel.declaration;
  return (
    [...grid, ...block, dynamicSharedBytes].some(isUnknown) ||
    passed.some((value, i) => hasUnknown(value) && parameters[i] !== undefined && isNumber(parameters[i].type))
  );
}

const isNumber = (type: TypeNode): boolean => type.kind === 'builtin' || type.kind === 'named';

/** Applies a function to every part of a launch that a round may give. */
export function mapped(launch: Launch, change: (value: HostValue, part: string) => HostValue): Launch {
  const triple = ([x, y, z]: HostTriple, name: string): HostTriple => [
    change(x, `${name}.0`),
    change(y, `${name}.1`),
    change(z, `${name}.2`),
  ];
  const members = (of: ReadonlyMap<string, HostValue>, part: string): Map<string, HostValue> =>
    new Map([...of].map(([name, member]) => [name, deep(member, `${part}.${name}`)]));
  const deep = (value: HostValue, part: string): HostValue => {
    if (value.kind === 'struct') return { ...value, fields: members(value.fields, part) };
    if (value.kind === 'lambda') return { ...value, captures: members(value.captures, part) };
    return value.kind === 'array'
      ? { ...value, elements: value.elements.map((element, i) => deep(element, `${part}.${i}`)) }
      : change(value, part);
  };
  return {
    ...launch,
    grid: triple(launch.grid, 'grid'),
    block: triple(launch.block, 'block'),
    dynamicSharedBytes: change(launch.dynamicSharedBytes, 'dynamicSharedBytes'),
    arguments: launch.arguments.map((value, i) => deep(value, String(i))),
  };
}

/** Whether what is known of a launch is what the round gave it. */
function agrees(launch: Launch, round: HostRound): boolean {
  const numbers = partsOf(round);
  let isSame = true;
  mapped(launch, (value, part) => {
    const number = numbers.get(part);
    if (value.kind === 'number' && number !== undefined && Math.fround(value.value) !== Math.fround(number))
      isSame = false;
    return value;
  });
  return isSame;
}

/** @param isOfMany the text tells another round of it */
function completed(launch: Launch, round: HostRound, isOfMany: boolean): Launch {
  const numbers = partsOf(round);
  const added: string[] = [];
  // of a later round of a loop, whose first is what the text tells
  const isLater = isOfMany && !agrees(launch, round);
  const whole = mapped(launch, (value, part) => {
    const isOther = isLater && value.kind === 'number' && (numbers.has(part) || /^\d/.test(part));
    // lists of pointers hold others in each round; a parameter that is one keeps its name
    const isMoved = isOfMany && value.kind === 'pointer' && part.includes('.');
    if (value.kind !== 'unknown' && !isOther && !isMoved) return value;
    const known =
      givenTo(numbers, part) ?? pointerOf(launch, round, part, isLater) ?? (isOther ? NOT_GIVEN : undefined);
    if (known) added.push(`${part}=${JSON.stringify([...numbers].filter(([name]) => isWithin(name, part)))}`);
    return known ?? value;
  });
  return {
    ...whole,
    isSupposed: undefined,
    ...(added.length > 0 && { seed: round.seed }),
    key: `${launch.key};${added.join(',')}`,
  };
}

const isWithin = (name: string, part: string): boolean => name === part || name.startsWith(`${part}.`);

/** Where in its block a pointer led that the text does not tell; pointers into one block are of one allocation. */
function pointerOf(launch: Launch, round: HostRound, part: string, isLater: boolean): HostValue | undefined {
  const pointers = pointersIn(round);
  const own = pointers.find((pointer) => pointer.part === part);
  if (!own) return undefined;
  const { block, offset } = own;
  // what the text says of pointers holds for the first round
  for (const other of isLater ? [] : pointers) {
    const known = launch.arguments[Number(other.part)];
    if (known?.kind !== 'pointer' || other.block !== block) continue;
    return { ...known, offsetBytes: known.offsetBytes + offset - other.offset };
  }
  return { kind: 'pointer', allocation: `memory ${block.address}`, offsetBytes: offset, bytes: block.size };
}

/** What a round gave a part: a number, or the members of a structure or elements of an array of which the text knows none. */
function givenTo(numbers: ReadonlyMap<string, number>, part: string): HostValue | undefined {
  const number = numbers.get(part);
  if (number !== undefined) return { kind: 'number', value: number };
  const within = [...numbers.keys()].filter((name) => isWithin(name, part));
  if (within.length === 0) return undefined;
  const names = new Set(within.map((name) => name.slice(part.length + 1).split('.')[0]));
  const fields = new Map([...names].map((name) => [name, givenTo(numbers, `${part}.${name}`) ?? NOT_GIVEN] as const));
  if (![...names].every((name) => /^\d+$/.test(name))) return { kind: 'struct', fields };
  const length = Math.max(...[...names].map(Number)) + 1;
  return { kind: 'array', elements: Array.from({ length }, (_, i) => fields.get(String(i)) ?? NOT_GIVEN) };
}

const NOT_GIVEN: HostValue = { kind: 'unknown', reason: 'the run of main does not tell' };

/** Rounds that give different values. */
function distinct(rounds: readonly HostRound[]): HostRound[] {
  return [...new Map(rounds.map((round) => [JSON.stringify([...partsOf(round)]), round])).values()];
}
