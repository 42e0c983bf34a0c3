/** A small picture of one warp access in monospace text: which lane meets which bank, or which sector. */
import type { AccessShape } from '../hardware/access';
import type { AccessBytes, Capability } from '../hardware/capabilities';
import { explainGlobal, explainShared } from '../hardware/explain';
import type { AccessReport, AccessWitness } from '../report/report';

const lanesPerRow = 16;
const accessBytes: readonly number[] = [1, 2, 4, 8, 16] satisfies AccessBytes[];

/** Rows of lane numbers over rows of `cells`, cut after 16 lanes. */
function laneRows(label: string, cells: readonly string[]): string[] {
  const width = Math.max(2, ...cells.map((cell) => cell.length));
  const head = Math.max(4, label.length);
  const rows: string[] = [];
  for (let first = 0; first < cells.length; first += lanesPerRow) {
    const part = cells.slice(first, first + lanesPerRow);
    const lanes = part.map((_, index) => `${first + index}`.padStart(width));
    rows.push(`${'lane'.padEnd(head)}  ${lanes.join(' ')}`);
    rows.push(`${label.padEnd(head)}  ${part.map((cell) => cell.padStart(width)).join(' ')}`);
  }
  return rows;
}

interface WarpAccess {
  readonly shape: AccessShape;
  readonly addresses: Float64Array;
  readonly active: Uint8Array;
}

function warpAccess(access: AccessReport, witness: AccessWitness): WarpAccess | undefined {
  if (!accessBytes.includes(witness.bytes)) return undefined;
  const shape: AccessShape = {
    space: access.space,
    operation: access.operation,
    bytes: witness.bytes as AccessBytes,
  };
  return {
    shape,
    addresses: Float64Array.from(witness.addresses, (address) => address ?? 0),
    active: Uint8Array.from(witness.addresses, (address) => (address === null ? 0 : 1)),
  };
}

/** Numbers as ranges: `0–3, 8`. */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let index = 0; index < numbers.length; index++) {
    const first = numbers[index];
    while (index + 1 < numbers.length && numbers[index + 1] === numbers[index] + 1) index++;
    parts.push(first === numbers[index] ? `${first}` : `${first}–${numbers[index]}`);
  }
  return parts.join(', ');
}

function sharedPicture(capability: Capability, { shape, addresses, active }: WarpAccess): string[] {
  const { lanes, requests, worst } = explainShared(capability, shape, addresses, active, 0, addresses.length);
  const cells = Array.from(active, () => '·');
  for (const { lane, bank, banks } of lanes) cells[lane] = banks > 1 ? `${bank}–${bank + banks - 1}` : `${bank}`;
  const rows = laneRows('bank', cells);
  if (worst !== undefined && worst.words.length > 1) {
    const where = requests > 1 ? ` in request ${worst.request + 1} of ${requests}` : '';
    rows.push(`bank ${worst.bank}: ${worst.words.length} different words for lanes ${ranges(worst.lanes)}${where}`);
  }
  return rows;
}

function transactionPicture(capability: Capability, { shape, addresses, active }: WarpAccess): string[] {
  const { transactions, bytesMoved } = explainGlobal(capability, shape, addresses, active, 0, addresses.length);
  const cells = Array.from(active, () => '·');
  for (const [index, { lanes }] of transactions.entries()) {
    for (const lane of lanes) if (cells[lane] === '·') cells[lane] = `${index}`;
  }
  const unit = new Set(transactions.map(({ bytes }) => bytes)).size === 1 ? `${transactions[0].bytes} bytes` : 'bytes';
  const pieces = transactions.length === 1 ? '1 piece' : `${transactions.length} pieces`;
  return [...laneRows('piece', cells), `${pieces} of ${unit}: ${bytesMoved} bytes moved`];
}

/** The picture of an access's witness; undefined when it has none. */
export function lanePicture(access: AccessReport, capability: Capability): string | undefined {
  const { witness } = access;
  const warp = witness && warpAccess(access, witness);
  if (warp === undefined || !warp.active.includes(1)) return undefined;
  const rows = access.space === 'shared' ? sharedPicture(capability, warp) : transactionPicture(capability, warp);
  return rows.join('\n');
}
