/** Questions about the addresses of one warp. */

import { spaceOfAddress } from '../program/addresses';
import type { MemorySpace } from '../program/program';
import { WARP } from './mask';
import type { Lanes64, LaneValue } from './value';

/** Rows of banks, lines and segments of all capabilities repeat in this many bytes at most. */
const LARGEST_GEOMETRY = 256;

export const remainderOf = (address: number): number =>
  address - Math.floor(address / LARGEST_GEOMETRY) * LARGEST_GEOMETRY;

/** Whether the lanes of two warps lie at the same distances from the first. */
export function liesAlike(addresses: Float64Array, one: number, other: number): boolean {
  const distance = addresses[other] - addresses[one];
  for (let lane = 1; lane < WARP; lane++)
    if (addresses[other + lane] - addresses[one + lane] !== distance) return false;
  return true;
}

/** Whether the lanes of a warp lie at given distances from its first. */
export function liesAs(addresses: Float64Array, first: number, distances: Float64Array): boolean {
  const start = addresses[first];
  for (let lane = 1; lane < WARP; lane++) if (addresses[first + lane] - start !== distances[lane]) return false;
  return true;
}

/** The value in a lane, of a uniform or linear value. */
export function addressAt(value: LaneValue<Lanes64>, lane: number): number {
  const { width, height } = value.geometry;
  const x = lane % width;
  const row = (lane - x) / width;
  const y = row % height;
  return value.scalar + value.kx * x + value.ky * y + value.kz * ((row - y) / height);
}

/** Writes the addresses of a warp, the first of which is `start`. */
export function fillWarp(value: LaneValue<Lanes64>, start: number, first: number, addresses: Float64Array): void {
  const { kx, ky, kz } = value;
  const { width, height } = value.geometry;
  let x = first % width;
  let y = ((first - x) / width) % height;
  let address = start;
  for (let lane = first; lane < first + WARP; lane++) {
    addresses[lane] = address;
    address += kx;
    if (++x < width) continue;
    x = 0;
    address += ky - kx * width;
    if (++y < height) continue;
    y = 0;
    address += kz - ky * height;
  }
}

export function firstActive(lanes: Uint8Array, first: number): number {
  let lane = first;
  while (lanes[lane] === 0 && lane < first + WARP - 1) lane++;
  return lane;
}

export function someMarked(marks: Uint8Array, lanes: Uint8Array, first: number): boolean {
  for (let lane = first; lane < first + WARP; lane++) if ((marks[lane] & lanes[lane]) !== 0) return true;
  return false;
}

export function sameSpace(addresses: Float64Array, lanes: Uint8Array, first: number, space: MemorySpace): boolean {
  for (let lane = first; lane < first + WARP; lane++) {
    if (lanes[lane] !== 0 && spaceOfAddress(addresses[lane]) !== space) return false;
  }
  return true;
}
