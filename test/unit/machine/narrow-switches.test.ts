/** Loads whose bits a `switch` asks (PTX of nvcc 13.0, sm_90). */
import { checkLines } from './check-lines';

/** How wide `in[threadIdx.x]` is loaded, of which a switch with three ways asks so. */
const check =
  (type: string, asked: string, bytes: number, more = '0') =>
  () =>
    checkLines(`k(int *out, ${type} *in) {
  int i = threadIdx.x;
  ${type} v = in[i]; //= global load 1 x ${bytes} bytes
  switch (${asked}) {
    case 0: out[i] = 1; break;
    case 1: out[i] = 5; __syncwarp(); break;
    case 2: out[i] = 17; __syncthreads(); break;
    default: out[i + 1] = ${more};
  }
}`);

describe('loads whose bits a switch asks', () => {
  it('two bits of an int', check('int', 'v & 3', 2));
  it('fifteen bits', check('int', 'v & 0x7fff', 2));
  it('a remainder of an unsigned', check('unsigned', 'v % 4', 2));
  it('bits of 64', check('long long', 'v & 7', 2));
  it('bits of the lower half', check('int', '(v >> 4) & 3', 2));
  it('the upper half', check('int', '(v >> 16) & 15', 2));
  it('not more than sixteen bits', check('int', 'v & 0x1ffff', 4));
  it('not all of it', check('int', 'v', 4));
  it('not what is used again', check('int', 'v & 3', 4, 'v'));
  it('not where conditions ask', () =>
    checkLines(`k(int *out, int *in) {
  int i = threadIdx.x;
  int v = in[i] & 3; //= global load 1 x 4 bytes
  if (v == 0) out[i] = 1;
  else if (v == 1) { out[i] = 5; __syncwarp(); }
  else { out[i] = 17; __syncthreads(); }
}`));
});
