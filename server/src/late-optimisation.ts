import * as v8 from 'node:v8';

/** Bytes of bytecode that a function executes before V8 compiles it again for speed; 132 KB where nobody says (Node 20). */
const INTERRUPT_BUDGET = 1_000_000;
/** The flags were looked up in V8 10 (Node 18) to 13 (Node 24); an unknown one would be complained about. */
const KNOWN_VERSIONS = /^1[0-3]\./;

/**
 * Lets V8 optimise later. An analysis is much code that runs briefly: of the processor time of a first answer up to 40 % went into optimising
 * functions that were over by then (Node 20: first answer for the file of `npm run bench` 780 → 410 ms of processor time, Rodinia
 * 16.5 → 12 s). What is hot for long is compiled all the same, a few milliseconds later. To be called before anything else, for the
 * whole process with all its workers.
 */
export function optimiseLate(): void {
  if (!KNOWN_VERSIONS.test(process.versions.v8)) return;
  v8.setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
  // machine code without optimisation, which is cheap to make
  v8.setFlagsFromString('--sparkplug');
}
