/** Starts the analysis worker with the code that was kept of it, and keeps it once the first answers have compiled what they need. */
import { parentPort, workerData } from 'node:worker_threads';
import { runWithKeptCode } from './code-cache';
import type { WorkerStart } from './worker-messages';

/** Milliseconds from the first job to the moment at which code is kept, which takes some 50 ms: an editor's first answers are over by then. */
const KEEP_AFTER = 8_000;

const { program, codeCache } = workerData as WorkerStart;
const keep = runWithKeptCode(program, codeCache);
if (keep) parentPort?.once('message', () => setTimeout(keep, KEEP_AFTER).unref());
