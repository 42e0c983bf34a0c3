/**
 * Which blocks an address that is not known may lead to: those that were allocated where its pointer may come from. What is stored there then
 * makes these unknown and no others: a recursion that is not followed sorts one array, and the others keep what they hold.
 */
import type { Program, Register } from '../program/program';
import { ANY, PointsTo } from './points-to';

/** Index of the set for an address that may lead anywhere. */
export const ANYWHERE = 0;

export class Reach {
  /** Classes of memory, by the index that the program hands over; undefined: any. */
  readonly sets: (ReadonlySet<number> | undefined)[] = [undefined];
  private readonly indices = new Map<string, number>();
  private made: PointsTo | undefined;

  constructor(private readonly program: Program) {}

  private get pointsTo(): PointsTo {
    this.made ??= new PointsTo(this.program);
    return this.made;
  }

  /** The class of the memory that a pointer to its beginning leads to; ANY where it is not known. */
  classOf(pointer: Register): number {
    return this.pointsTo.classOf(pointer)[0] ?? ANY;
  }

  /** The set of an address that is not known. @param isFurther what is meant is behind the pointers that lie there */
  of(address: Register, isFurther: boolean): number {
    if (this.pointsTo.isOpen(address, isFurther)) return ANYWHERE;
    const classes = isFurther ? this.pointsTo.closureOf(address) : this.pointsTo.classOf(address);
    if (classes.length === 0 || classes.includes(ANY)) return ANYWHERE;
    const key = classes.join();
    let index = this.indices.get(key);
    if (index === undefined) {
      this.indices.set(key, (index = this.sets.length));
      this.sets.push(new Set(classes));
    }
    return index;
  }
}
