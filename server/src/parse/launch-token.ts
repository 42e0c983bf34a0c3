/** Where the configuration of a launch opens and closes: `<<<` and `>>>`, and what formatters that know no CUDA make of them: `<< <` and `>> >`. */

export function opensLaunch(text: readonly string[], at: number): boolean {
  return text[at] === '<<<' || (text[at] === '<<' && text[at + 1] === '<');
}

/** Tokens of the opening. */
export function openingLength(text: readonly string[], at: number): number {
  return text[at] === '<<<' ? 1 : 2;
}

/** At the first token of it. Nothing else in C++ has a `>` behind a shift. */
export function closesLaunch(text: readonly string[], at: number): boolean {
  return text[at] === '>>>' || (text[at] === '>>' && text[at + 1] === '>');
}
