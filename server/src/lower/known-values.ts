/**
 * Values of variables where they are known to equal a stable register. Forks share what they had in common, so that a branch
 * costs what it changes and not all that is known: kernels written out by unrolling know thousands of values.
 */
import type { Register } from '../program/program';

/** Layers after which a chain is written out flat again. */
const MAX_LAYERS = 24;

/** A layer that no longer changes; undefined: known below, forgotten here. */
interface Layer {
  readonly own: ReadonlyMap<Register, Register | undefined>;
  readonly below: Layer | undefined;
  readonly depth: number;
}

export class KnownValues {
  private own = new Map<Register, Register | undefined>();
  /** No variable in `own` is a later one. */
  private latest = -1;

  constructor(private below?: Layer) {}

  get(variable: Register): Register | undefined {
    const value = this.own.get(variable);
    if (value !== undefined || this.own.has(variable)) return value;
    for (let layer = this.below; layer; layer = layer.below) {
      const before = layer.own.get(variable);
      if (before !== undefined || layer.own.has(variable)) return before;
    }
    return undefined;
  }

  set(variable: Register, value: Register): void {
    this.own.set(variable, value);
    if (variable > this.latest) this.latest = variable;
  }

  delete(variable: Register): void {
    if (!this.below) this.own.delete(variable);
    else {
      this.own.set(variable, undefined);
      if (variable > this.latest) this.latest = variable;
    }
  }

  clear(): void {
    this.own = new Map();
    this.below = undefined;
  }

  /** A copy that changes on its own. */
  fork(): KnownValues {
    if (this.own.size > 0) {
      this.below = { own: this.own, below: this.below, depth: (this.below?.depth ?? 0) + 1 };
      if (this.below.depth > MAX_LAYERS) this.below = { own: flat(this.below), below: undefined, depth: 1 };
      this.own = new Map();
    }
    return new KnownValues(this.below);
  }

  /**
   * Drops variables made since `first`, where that is cheap: they are out of reach and only take room.
   * @param isReached some may be within reach after all: what was known of them before they changed is not known either
   */
  forgetSince(first: Register, isReached = false): void {
    if (this.latest < first) return;
    const dropped = isReached ? [...this.own.keys()] : this.own.keys();
    for (const variable of dropped)
      if (variable >= first) {
        this.own.delete(variable);
        if (isReached && this.get(variable) !== undefined) this.own.set(variable, undefined);
      }
    this.latest = first - 1;
  }

  /** What all paths agree on. */
  static merged(paths: readonly KnownValues[]): KnownValues {
    const [first, ...rest] = paths;
    if (!first) return new KnownValues();
    if (rest.length === 0) return first.fork();
    const common = commonLayer(paths);
    const result = new KnownValues(common);
    const changed = new Set(paths.flatMap((path) => path.changesSince(common)));
    for (const variable of changed) {
      const value = first.get(variable);
      const agree = value !== undefined && rest.every((path) => path.get(variable) === value);
      if (agree) result.set(variable, value);
      else result.delete(variable);
    }
    return result;
  }

  private changesSince(common: Layer | undefined): Register[] {
    const changed = [...this.own.keys()];
    for (let layer = this.below; layer && layer !== common; layer = layer.below) changed.push(...layer.own.keys());
    return changed;
  }

  layers(): Set<Layer> {
    const layers = new Set<Layer>();
    for (let layer = this.below; layer; layer = layer.below) layers.add(layer);
    return layers;
  }
}

function commonLayer([first, ...rest]: readonly KnownValues[]): Layer | undefined {
  const others = rest.map((path) => path.layers());
  for (const layer of first.layers()) if (others.every((set) => set.has(layer))) return layer;
  return undefined;
}

function flat(top: Layer): Map<Register, Register> {
  const layers: Layer[] = [];
  for (let layer: Layer | undefined = top; layer; layer = layer.below) layers.push(layer);
  const all = new Map<Register, Register>();
  for (const layer of layers.reverse())
    for (const [variable, value] of layer.own)
      if (value === undefined) all.delete(variable);
      else all.set(variable, value);
  return all;
}
