/** Reports of short texts, for the tests of what is shown. */
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { FileReport } from '../../../server/src/report/report';

export const path = '/project/kernels.cu';
export const uri = 'file:///project/kernels.cu';

/** The report of a text under a capability. */
export function reportOf(text: string, computeCapability = '9.0'): FileReport {
  const options = { computeCapability, defines: new Map<string, string>(), assume: new Map<string, number>() };
  return analyzeFile({ path, text, options, include: () => undefined });
}

/** A column of a 32 × 32 tile read by each warp: 32-way. */
export const conflicting = `__global__ void columns(float *out)
{
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void run(float *out) { columns<<<1, dim3(32, 32)>>>(out); }
`;

/** Where a text stands, as the protocol counts. */
export function positionOf(text: string, part: string, nth = 0): { line: number; character: number } {
  let index = -1;
  for (let count = 0; count <= nth; count++) index = text.indexOf(part, index + 1);
  if (index < 0) throw new Error(`${part} is not in the text`);
  const before = text.slice(0, index).split('\n');
  return { line: before.length - 1, character: before[before.length - 1].length };
}
