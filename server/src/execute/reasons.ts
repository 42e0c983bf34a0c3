/** Texts for people, by number: values carry the number of the reason for which they are unknown. */
export class Reasons {
  private readonly texts: string[] = [''];
  private readonly numbers = new Map<string, number>();

  /** The number of a text; the empty text is 0. */
  number(text: string): number {
    if (text === '') return 0;
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.texts.push(text);
    this.numbers.set(text, this.texts.length - 1);
    return this.texts.length - 1;
  }

  text(reason: number): string {
    return this.texts[reason] ?? '';
  }
}
