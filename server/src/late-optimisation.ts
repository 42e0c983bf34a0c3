import * as v8 from 'node:v8';

/** Bytes of bytecode that a function executes before V8 compiles it again for speed; 132 KB where nobody says (Node 20). */
const INTERRUPT_BUDGET = 1_000_000;
/** Bytes of bytecode that are put into a function that V8 optimises, of those it calls; 920 where nobody says (Node 20). */
const MOST_INLINED = 300;
/** V8 of Node 18 to 24; tried on Node 20 (V8 11.3) only. An unknown flag is complained about, and nothing else. */
const KNOWN_VERSIONS = /^1[0-3]\./;

/**
 * Lets V8 optimise later, and less at once. An analysis is much code that runs briefly: much of the processor time of a first answer went into
 * optimising functions that were over by then (Node 20: first answer for the file of `npm run bench` 653 and 704 → 355 and 384 ms of processor
 * time, Rodinia 15.9 to 18.8 → 11.6 to 12.8 s; with less put into them llm.c, SGEMM_CUDA, LeetCUDA and Rodinia together 41.6 and 40.4 → 37.1
 * and 35.6 s; the compiler's answers for 44 recorded programs 2.59 → 2.45 s, long loops of scripts/bench-executor.ts as before). What is hot for long is compiled all the same, a few milliseconds later. To be called before anything else, for the whole process
 * with all its workers.
 */
export function optimiseLate(): void {
  if (!KNOWN_VERSIONS.test(process.versions.v8)) return;
  v8.setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
  // a fifth of the time went into optimising, much of it for functions that were thrown away when an operand of another form came
  v8.setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${MOST_INLINED}`);
  // machine code without optimisation, which is cheap to make
  v8.setFlagsFromString('--sparkplug');
}
