import * as v8 from 'node:v8';

/**
 * What V8 is told, by its version. An analysis is much code that runs briefly: much of the processor time of a first answer went into optimising
 * functions that were over by then. What is hot for long is compiled all the same, a few milliseconds later. V8 complains on the error output
 * about a flag that it does not know, so that of versions that nobody has tried none is told anything.
 */
const FLAGS: readonly { readonly versions: RegExp; readonly flags: readonly string[] }[] = [
  {
    // Node 18 and 20. First answer for the file of `npm run bench` 653 and 704 → 355 and 384 ms of processor time, Rodinia 15.9 to 18.8 → 11.6 to
    // 12.8 s; with less put into optimised functions llm.c, SGEMM_CUDA, LeetCUDA and Rodinia together 41.6 and 40.4 → 37.1 and 35.6 s; the
    // compiler's answers for 44 recorded programs 2.59 → 2.45 s, long loops of scripts/bench-executor.ts as before
    versions: /^1[01]\./,
    flags: [
      // bytes of bytecode that a function executes before it is optimised; 132 KB where nobody says
      '--interrupt-budget=1000000',
      // bytes of bytecode of called functions that are put into one; 920 where nobody says. A fifth of the time went into optimising, much of it
      // for functions that were thrown away when an operand of another form came
      '--max-inlined-bytecode-size-cumulative=300',
      // machine code without optimisation, which is cheap to make
      '--sparkplug',
    ],
  },
  {
    // Node 22 to 26, of which VS Code has one. First answers for llm.c's dev/cuda in a fresh process, processor time: Node 22 11.9, 15.8 and 16.3 → 9.7, 10.9 and
    // 11.7 s, Node 24 9.1, 10.8 and 10.4 → 8.3, 8.6 and 9.4 s, Node 25 10.8 and 11.2 → 9.3 and 10.3, Node 26 10.4 and 11.5 → 9.8 and 10.6 s; Maglev made earlier or later, with more or less put into it, brought nothing beyond noise
    versions: /^1[2-4]\./,
    // calls (or passes of loops) before the last optimisation; 3,000 where nobody says
    flags: ['--invocation-count-for-turbofan=30000'],
  },
];

/** The flags for a version of V8 (`process.versions.v8`). */
export const lateFlags = (version: string): readonly string[] =>
  FLAGS.find(({ versions }) => versions.test(version))?.flags ?? [];

/** Lets V8 optimise later, and less at once. To be called before anything else, for the whole process with all its workers. */
export function optimiseLate(): void {
  for (const flag of lateFlags(process.versions.v8)) v8.setFlagsFromString(flag);
}
