/** What a time that the run of the host's program came to a launch gave it, part by part. */
import type { Contents } from '../host/host-blocks';
import type { HostRound } from '../host/run-host';

/** What a round gave the parts of a launch, by their names. */
export function partsOf({ launch, values }: HostRound): Map<string, number> {
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

/** The pointers that a round gave a launch, by the names of its parts, with the blocks that they led into and where. */
export function pointersIn(round: HostRound): { part: string; block: Contents; offset: number }[] {
  return round.launch.values.flatMap((value, i) => {
    const at = round.values[i];
    if (value.kind !== 'parameter' || !value.isPointer || !at) return [];
    const block = round.contents.find(({ address, size }) => isBetween(at, address, address + size));
    return block ? [{ part: partOf(value.parameter, value.path.slice(1)), block, offset: at - block.address }] : [];
  });
}

const isBetween = (at: number, from: number, to: number): boolean => at >= from && at < to;

/** Equal for rounds of the same grid and block. */
export const shapeOf = (round: HostRound): string =>
  JSON.stringify([...partsOf(round)].filter(([part]) => /^(grid|block)\b/.test(part)));
