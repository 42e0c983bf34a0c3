/**
 * Milliseconds from nvcc's answer to the report that rests on it: every fifth recorded program, analysed before as the editor does it (source
 * first, then with the data of the host), all in one process; the median, the quarter that takes longer, and the first program of
 * the process. Needs nvcc. `npm run bench` bundles and runs it; alone: npx tsx scripts/bench-compiled.ts, which takes a third longer.
 */
import * as path from 'node:path';
import { createAnalyzer } from '../server/src/analysis/analyze';
import type { AnalysisOptions, Compilation } from '../server/src/analysis/request';
import { findNvcc } from '../server/src/compiler/find-nvcc';
import { optimiseLate } from '../server/src/late-optimisation';
import { compiledProgram } from './compiled-program';
import { hardwareFolder, recordedPrograms } from './recorded-counters';
import { includeFrom } from './tiers';

const EVERY = 5;

const folder = path.join(hardwareFolder, 'programs');
const analyzer = createAnalyzer();

interface Time {
  readonly wall: number;
  /** Of the processor: what another load on the machine changes little. */
  readonly processor: number;
}

function analyse(file: string, text: string, more: Partial<AnalysisOptions>, compilation?: Compilation): Time {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), ...more };
  const [started, usage] = [performance.now(), process.cpuUsage()];
  analyzer.analyze({ path: file, text, options, include: includeFrom(folder), compilation });
  const { user, system } = process.cpuUsage(usage);
  return { wall: performance.now() - started, processor: (user + system) / 1000 };
}

/** `median 40.1 ms, a quarter above 70.2 ms` */
function inWords(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor(sorted.length * share)].toFixed(1)} ms`;
  return `median ${at(0.5)}, a quarter above ${at(0.75)}, first ${times[0].toFixed(1)} ms`;
}

async function main(): Promise<void> {
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  if (nvcc === undefined) throw new Error('nvcc was not found');
  const times: Time[] = [];
  for (const program of recordedPrograms([]).filter((_, index) => index % EVERY === 0)) {
    const file = path.join(folder, `${program}.cu`);
    const compilation = await compiledProgram(nvcc, file);
    if (!compilation) continue;
    const { text } = compilation;
    analyse(file, text, { followData: 'ready' });
    analyse(file, text, { followData: true });
    const own = { ...compilation, include: includeFrom(folder) };
    times.push(analyse(file, text, { followData: 'ready' }, own));
  }
  console.log(`${times.length} programs: ${inWords(times.map(({ wall }) => wall))}`);
  console.log(`processor time: ${inWords(times.map(({ processor }) => processor))}`);
}

optimiseLate();
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
