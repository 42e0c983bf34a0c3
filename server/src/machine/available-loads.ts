/** What a block knows to be in memory: values loaded or stored, by the array they lie in and the register of their address. */
import { TYPES, typeNumber } from '../program/expression-table';
import {
  type AccessSite,
  bytesOf,
  type MemorySpace,
  type Program,
  type Register,
  type ScalarType,
} from '../program/program';
import type { IsOther } from './fixed-variables';
import { changesAtFence, mayTouch } from './memory-overlap';

/** Bytes from a register on: register + first … register + last (inclusive). */
export interface Range {
  readonly address: Register;
  readonly first: number;
  readonly last: number;
}

interface Available extends Range, Vector {
  readonly type: ScalarType;
}

/** Registers that lie side by side in memory, since a store put them there or a load got them from it. */
export interface Vector {
  readonly values: readonly Register[];
  readonly isStored: boolean;
}

/** Who may change something: a table that has not been copied since. */
type Owner = object;

/** Values at one base, by offset, type and number of elements. */
interface Base {
  readonly owner: Owner;
  readonly values: Map<number, Available>;
}

/** Values of one array, or of one space where the array is not known. */
interface Group {
  readonly owner: Owner;
  readonly site: AccessSite;
  readonly readOnly: boolean;
  readonly bases: Map<Register, Base>;
}

/** Elements of one access are fewer. */
const MOST_ELEMENTS = 256;

/** What is at a base: its offset, type and number of elements. */
export const valueKey = (offset: number, type: ScalarType, count: number): number =>
  (offset * TYPES + typeNumber(type)) * MOST_ELEMENTS + count;

const spaces: Readonly<Record<MemorySpace | 'generic', number>> = {
  shared: 1,
  global: 2,
  constant: 3,
  local: 4,
  texture: 5,
  generic: 6,
};

/** Objects count up from 0, spaces down from -1; what is only read lies apart. */
const groupKey = ({ object, space }: AccessSite, readOnly: boolean): number =>
  (object ?? -spaces[space]) * 2 + (readOnly ? 1 : 0);

/**
 * Values that need not be loaded. Stores ask array by array, not value by value, and copies share what neither has changed:
 * kernels written out by unrolling know hundreds of values in hundreds of blocks.
 */
export class AvailableLoads {
  private owner: Owner = {};

  constructor(
    private readonly program: Program,
    private readonly groups = new Map<number, Group>(),
  ) {}

  get isEmpty(): boolean {
    return this.groups.size === 0;
  }

  fork(): AvailableLoads {
    this.owner = {};
    return new AvailableLoads(this.program, new Map(this.groups));
  }

  /** The registers that hold `count` elements at register + offset. */
  find(address: Register, offset: number, type: ScalarType, count: number): readonly Register[] | undefined {
    let key: number | undefined;
    for (const { bases } of this.groups.values()) {
      const base = bases.get(address);
      if (!base) continue;
      key ??= valueKey(offset, type, count);
      const found = base.values.get(key);
      if (found) return found.values;
    }
    return undefined;
  }

  /** The register that holds an element of a vector at register + offset. */
  findElement(
    address: Register,
    offset: number,
    type: ScalarType,
    isSeen: (element: number, vector: Vector) => boolean,
  ): Register | undefined {
    for (const { bases } of this.groups.values()) {
      const base = bases.get(address);
      const found = base && elementOf(base, offset, type, isSeen);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  add(
    site: AccessSite,
    readOnly: boolean,
    range: Range,
    type: ScalarType,
    values: readonly Register[],
    isStored = false,
  ): void {
    const { owner } = this;
    const key = groupKey(site, readOnly);
    let group = this.groups.get(key);
    if (group?.owner !== owner) {
      group = { owner, site: group?.site ?? site, readOnly, bases: new Map(group?.bases) };
      this.groups.set(key, group);
    }
    let base = group.bases.get(range.address);
    if (base?.owner !== owner) {
      base = { owner, values: new Map(base?.values) };
      group.bases.set(range.address, base);
    }
    base.values.set(valueKey(range.first, type, values.length), { ...range, values, type, isStored });
  }

  /**
   * Forgets what a store may change; other bytes of the same base it does not.
   * @param bytes of a lane, together with those that become part of the store
   */
  store(site: AccessSite, range?: Range, bytes = range && range.last - range.first + 1): void {
    for (const [key, group] of this.groups) {
      if (group.readOnly || !mayTouch(this.program, group.site, site, bytes)) continue;
      const base = range && group.bases.get(range.address);
      if (!base) this.groups.delete(key);
      else this.keepBase(key, group, range, base);
    }
  }

  /** Of a group only the values at one base stay that do not overlap a range of it. */
  private keepBase(key: number, group: Group, range: Range, base: Base): void {
    const { owner } = this;
    const overlapping: number[] = [];
    for (const [value, { first, last }] of base.values)
      if (range.first <= last && first <= range.last) overlapping.push(value);
    if (overlapping.length === base.values.size) {
      this.groups.delete(key);
      return;
    }
    let kept = base;
    if (overlapping.length > 0) {
      if (base.owner !== owner) kept = { owner, values: new Map(base.values) };
      for (const value of overlapping) kept.values.delete(value);
    }
    if (group.bases.size > 1 || kept !== base)
      this.groups.set(key, { ...group, owner, bases: new Map([[range.address, kept]]) });
  }

  /** Forgets what is at addresses that are others from here on. */
  forget(isOther: IsOther): void {
    const { owner } = this;
    for (const [key, group] of this.groups) {
      const object = group.site.object === undefined ? undefined : this.program.objects[group.site.object];
      for (const [address, base] of group.bases) {
        const gone = [...base.values].filter(([, { first }]) => isOther(address, first, object));
        if (gone.length === 0) continue;
        const values = new Map(base.values);
        for (const [value] of gone) values.delete(value);
        const now = this.groups.get(key) ?? group;
        const bases = new Map(now.bases);
        if (values.size === 0) bases.delete(address);
        else bases.set(address, { owner, values });
        if (bases.size === 0) this.groups.delete(key);
        else this.groups.set(key, { ...now, owner, bases });
      }
    }
  }

  /** What others may write to is not known any more, behind whatever pointer. */
  forgetWritten(): void {
    for (const [key, { readOnly }] of this.groups) if (!readOnly) this.groups.delete(key);
  }

  /** Other threads have written to what they may write to. */
  fence(): void {
    for (const [key, { readOnly, site }] of this.groups)
      if (!readOnly && changesAtFence(this.program, site)) this.groups.delete(key);
  }
}

/** The element of a vector of that type that lies at an offset, of those that `isSeen` lets through. */
function elementOf(
  { values }: Base,
  offset: number,
  type: ScalarType,
  isSeen: (element: number, vector: Vector) => boolean,
): Register | undefined {
  for (const vector of values.values()) {
    if (vector.values.length < 2 || vector.type !== type || offset < vector.first || offset > vector.last) continue;
    const element = (offset - vector.first) / bytesOf[type];
    if (Number.isInteger(element) && isSeen(element, vector)) return vector.values[element];
  }
  return undefined;
}

/** Bytes of `count` elements. */
export const rangeOf = (address: Register, offset: number, type: ScalarType, count: number): Range => ({
  address,
  first: offset,
  last: offset + bytesOf[type] * count - 1,
});
