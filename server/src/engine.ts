/**
 * How the JavaScript engine is to run the analysis; imported first by what starts a process of its own.
 *
 * A file is analysed once and in a second or less, by some two thousand functions of which each runs a little. As V8 (11.3, Node 20) is
 * set up, its optimising compiler takes up a function after 132 KB of byte code were run in it, often before all its branches were
 * seen, and throws the code away when one comes that it was not made for: 1,183 functions of one run over 63 files were
 * compiled 3,585 times, and more than half of the processor time was that of V8's own threads, the collector's among them. With
 * three times that budget the five files of docs/survey.md take 30 % less processor time, the analysis itself 6 % more.
 * An engine that does not know the option says so and goes on.
 */
import * as v8 from 'node:v8';

/** Bytes of byte code that a function runs before it is optimised. */
const BEFORE_OPTIMISING = 400_000;

v8.setFlagsFromString(`--interrupt-budget=${BEFORE_OPTIMISING}`);
