/**
 * Launches with what the text alone does not tell: a grid computed from the length of a container, a number of elements that a loop has counted.
 * The program of the host was run (host/run-host.ts), and what it gave a launch counts as known.
 */
import type { HostRound } from '../host/run-host';
import type { HostTriple, HostValue } from '../launch/host-value';
import type { TypeNode } from '../parse/ast';
import type { HostData } from './host-data';
import type { FoundKernel } from './kernels';
import type { Launch } from './launches';

/**
 * The launches, completed where the run came to them; nothing is run where the text tells everything.
 * @param isAnnotated kernels whose values a person has given
 * @param most rounds of a loop that give a launch different values and are reported
 */
export function completedLaunches(
  launches: readonly Launch[],
  data: HostData | undefined,
  isAnnotated: (kernel: FoundKernel) => boolean,
  most: number,
): Launch[] {
  return launches.flatMap((launch) => {
    if (!data || !isOpen(launch) || isAnnotated(launch.kernel)) return [launch];
    const instances = new Set(launches.filter((l) => l.place.first === launch.place.first).map((l) => l.instance));
    const rounds = distinct(data.roundsAt(launch.place.first).filter((round) => agrees(launch, round)));
    // which of the instances of a template a round was of is not known
    if (rounds.length === 0 || (instances.size > 1 && rounds.length > 1)) return [launch];
    return spread(rounds, most).map((round) => completed(launch, round));
  });
}

const isUnknown = (value: HostValue): boolean => value.kind === 'unknown';

/** The value, or a member of the structure that it is. */
const hasUnknown = (value: HostValue): boolean =>
  value.kind === 'struct' ? [...value.fields.values()].some(hasUnknown) : isUnknown(value);

function isOpen({ grid, block, dynamicSharedBytes, arguments: passed, kernel }: Launch): boolean {
  const { parameters } = kernel.declaration;
  return (
    [...grid, ...block, dynamicSharedBytes].some(isUnknown) ||
    passed.some((value, i) => hasUnknown(value) && parameters[i] !== undefined && isNumber(parameters[i].type))
  );
}

const isNumber = (type: TypeNode): boolean => type.kind === 'builtin' || type.kind === 'named';

/** What a round gave the part of a launch, by its name. */
function given({ launch, values }: HostRound): Map<string, number> {
  const found = new Map<string, number>();
  launch.values.forEach((value, i) => {
    const number = values[i];
    if (number === undefined || (value.kind === 'parameter' && value.isPointer)) return;
    if (value.kind === 'parameter') found.set(partOf(value.parameter, value.path.slice(1)), number);
    else found.set(value.kind === 'dynamicSharedBytes' ? value.kind : `${value.kind}.${value.axis}`, number);
  });
  return found;
}

const partOf = (parameter: number, path: readonly string[]): string => [parameter, ...path].join('.');

/** Applies a function to every part of a launch that a round may give. */
function mapped(launch: Launch, change: (value: HostValue, part: string) => HostValue): Launch {
  const triple = ([x, y, z]: HostTriple, name: string): HostTriple => [
    change(x, `${name}.0`),
    change(y, `${name}.1`),
    change(z, `${name}.2`),
  ];
  const deep = (value: HostValue, part: string): HostValue =>
    value.kind === 'struct'
      ? { ...value, fields: new Map([...value.fields].map(([name, field]) => [name, deep(field, `${part}.${name}`)])) }
      : change(value, part);
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
  const numbers = given(round);
  let isSame = true;
  mapped(launch, (value, part) => {
    const number = numbers.get(part);
    if (value.kind === 'number' && number !== undefined && Math.fround(value.value) !== Math.fround(number))
      isSame = false;
    return value;
  });
  return isSame;
}

function completed(launch: Launch, round: HostRound): Launch {
  const numbers = given(round);
  const added: string[] = [];
  const whole = mapped(launch, (value, part) => {
    const number = numbers.get(part);
    if (value.kind !== 'unknown' || number === undefined) return value;
    added.push(`${part}=${number}`);
    return { kind: 'number', value: number };
  });
  return { ...whole, key: `${launch.key};${added.join(',')}` };
}

/** Rounds that give different values. */
function distinct(rounds: readonly HostRound[]): HostRound[] {
  return [...new Map(rounds.map((round) => [JSON.stringify([...given(round)]), round])).values()];
}

/** All where they are few; else the first, one in the middle and the last, then one of each shape as far as there is room. */
function spread(rounds: readonly HostRound[], most: number): HostRound[] {
  if (rounds.length <= most) return [...rounds];
  const picked = new Set([rounds[0], rounds[rounds.length >> 1], rounds[rounds.length - 1]]);
  const shapes = new Set([...picked].map(shapeOf));
  for (const round of rounds) {
    if (picked.size >= most || shapes.has(shapeOf(round))) continue;
    shapes.add(shapeOf(round));
    picked.add(round);
  }
  return rounds.filter((round) => picked.has(round));
}

const shapeOf = (round: HostRound): string =>
  JSON.stringify([...given(round)].filter(([part]) => /^(grid|block)\b/.test(part)));
