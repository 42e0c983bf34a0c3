/** The witness of an access as cells to draw: which bank serves which lanes, or which bytes of which sectors are used. */
import type { AccessBytes, Capability } from '../hardware/capabilities';
import { explainGlobal, explainShared } from '../hardware/explain';
import { addressWindows } from '../program/addresses';
import type { AccessReport, AccessWitness } from './report';

/** One shared memory bank in the request that takes longest: each cell is a word, served one after the other. */
export interface BankColumn {
  readonly bank: number;
  /** Lanes of each word. */
  readonly words: readonly (readonly number[])[];
}

/** One transaction of global memory. */
export interface SectorRow {
  /** Byte offset from the start of the allocation. */
  readonly address: number;
  readonly bytes: number;
  readonly lanes: readonly number[];
  /** Parts that lanes ask for, in bytes from the start of the row. */
  readonly used: readonly { readonly from: number; readonly to: number }[];
}

export type WitnessPicture =
  | { readonly kind: 'banks'; readonly columns: readonly BankColumn[]; readonly requests: number }
  | { readonly kind: 'sectors'; readonly rows: readonly SectorRow[] };

const widths: readonly number[] = [1, 2, 4, 8, 16] satisfies AccessBytes[];

/** Undefined for an access without a witness. */
export function witnessPicture(access: AccessReport, capability: Capability): WitnessPicture | undefined {
  const { witness } = access;
  if (!witness || !widths.includes(witness.bytes) || witness.addresses.every((a) => a === null)) return undefined;
  const { space } = access;
  if (space === 'shared') return banksOf(access, witness, capability);
  return space === 'global' || space === 'local' ? sectorsOf(access, witness, capability) : undefined;
}

const lanesOf = ({ addresses }: AccessWitness) => ({
  addresses: Float64Array.from(addresses, (address) => address ?? 0),
  active: Uint8Array.from(addresses, (address) => (address === null ? 0 : 1)),
});

function banksOf({ operation }: AccessReport, witness: AccessWitness, capability: Capability): WitnessPicture {
  const { addresses, active } = lanesOf(witness);
  const shape = { space: 'shared' as const, operation, bytes: witness.bytes as AccessBytes };
  const { loads, worst, requests } = explainShared(capability, shape, addresses, active, 0, addresses.length);
  const columns = Array.from({ length: capability.shared.banks }, (_, bank): BankColumn => {
    const load = loads.find((each) => each.bank === bank && each.request === worst?.request);
    return { bank, words: load?.lanesOfWords ?? [] };
  });
  return { kind: 'banks', columns, requests };
}

function sectorsOf({ operation, space }: AccessReport, witness: AccessWitness, capability: Capability): WitnessPicture {
  const { addresses, active } = lanesOf(witness);
  const bytes = witness.bytes as AccessBytes;
  const shape = { space: space as 'global' | 'local', operation, bytes };
  const { transactions } = explainGlobal(capability, shape, addresses, active, 0, addresses.length);
  const rows = transactions.map(({ address, bytes: length, lanes }): SectorRow => {
    const starts = [...new Set(lanes.map((lane) => addresses[lane] - address))].sort((a, b) => a - b);
    const used = starts.map((from) => ({ from: Math.max(0, from), to: Math.min(length, from + bytes) }));
    // allocations lie a window apart
    return { address: address % addressWindows.global, bytes: length, lanes, used };
  });
  return { kind: 'sectors', rows };
}
