import { checkLines } from '../machine/check-lines';

describe('loops with a second condition', () => {
  it('are written out where a pragma asks for it: what does not change in them stays on its line', () =>
    checkLines(`k(const float *in, const float *scale, float *out, int n)
{
    float local[2], sum = 0;
    #pragma unroll
    for (int i = threadIdx.x, j = 0; i < 48 && j < 2; ++j) { //= none
        local[j] = in[i]; //= global load 2 x 4 bytes
        i += blockDim.x;
    }
    #pragma unroll
    for (int i = threadIdx.x, j = 0; i < 48 && j < 2; ++j) {
        sum += local[j] *
            scale[0]; //= global load 1 x 4 bytes
        i += blockDim.x;
    }
    out[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`));
  it('and stay loops otherwise', () =>
    checkLines(`k(const float *in, const float *scale, float *out, int n)
{
    float sum = 0;
    for (int i = threadIdx.x, j = 0; i < 48 && j < 2; ++j, i += 32) //= global load 1 x 4 bytes
        sum += in[i] * //= global load 2 x 4 bytes
            scale[0]; //= none
    out[threadIdx.x] = sum; //= global store 1 x 4 bytes
}`));
});
