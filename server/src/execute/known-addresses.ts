/** Loads and stores at addresses that are known in all lanes: what is kept of shared and local memory is read and written in one loop. */
import { addressWindows } from '../program/addresses';
import type { Frame } from './mask';
import type { Cell, Contents, LaneAddresses } from './memory';
import type { MemoryState } from './memory-steps';
import { settle } from './steps';
import { type Lanes64, type LaneValue, markLanes, overwrite, vectorOf } from './value';

export function contentsAt(memory: MemoryState, address: number): Contents | undefined {
  if (address < addressWindows.shared || address >= addressWindows.constant) return undefined;
  return address < addressWindows.local ? memory.shared : memory.local;
}

/**
 * What lanes find where nothing of global and constant memory is known.
 * @param dataReason why nothing is known of what lies there
 */
export function loadKnownAddresses(
  memory: MemoryState,
  out: LaneValue,
  address: LaneValue<Lanes64>,
  offset: number,
  cell: Cell,
  dataReason: number,
  frame: Frame,
): void {
  const { lanes } = frame.mask;
  const addresses = address.uniform ? undefined : vectorOf(address);
  const vector = overwrite(out);
  const { hi } = frame;
  const at = { lanes, lane: frame.lo, hi, addresses, scalar: address.scalar, offset };
  let marks: Uint8Array | undefined;
  const unknown = (reason: number) => (marks ??= markLanes(out, reason));
  while (at.lane < hi) {
    const { lane } = at;
    if (lanes[lane] === 0) {
      at.lane++;
      continue;
    }
    const place = (addresses === undefined ? address.scalar : addresses[lane]) + offset;
    const contents = contentsAt(memory, place);
    if (contents) {
      at.lane = contents.readLanes(at, cell, vector, unknown);
      if (at.lane > lane) continue;
      // beside what is kept
      contents.read(place, lane, cell);
      unknown(contents.reason)[lane] = 1;
    } else unknown(dataReason)[lane] = 1;
    at.lane++;
  }
  settle(out, frame);
}

/** Stores what is kept of shared and local memory; the last parameters are those of `writeLanes`. */
export function storeAtKnownAddresses(
  memory: MemoryState,
  at: LaneAddresses,
  cell: Cell,
  stored: Int32Array | Float64Array | undefined,
  same: number,
  unknownLanes: Uint8Array | undefined,
  isKnown: boolean,
  reason: number,
): void {
  const { lanes, hi, addresses, scalar, offset } = at;
  while (at.lane < hi) {
    const { lane } = at;
    const contents =
      lanes[lane] === 0 ? undefined : contentsAt(memory, (addresses === undefined ? scalar : addresses[lane]) + offset);
    const next = contents?.writeLanes(at, cell, stored, same, unknownLanes, isKnown, reason) ?? lane;
    // a store beside what is kept changes nothing
    at.lane = next > lane ? next : lane + 1;
  }
}
