/** Keeps a value, and of all the newest. */
export function remember<T>(kept: Map<string, T>, key: string, value: T, most: number): void {
  kept.set(key, value);
  if (kept.size > most) {
    const oldest = kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
  }
}
