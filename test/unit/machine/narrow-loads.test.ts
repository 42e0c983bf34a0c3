/** Loads of which only some bytes are used. */
import { checkLines } from './check-lines';

/** How wide `in[threadIdx.x]` is loaded, whose value is used so. */
const check =
  (type: string, use: string, bytes: number, parameter = `${type} *in`) =>
  () =>
    checkLines(`k(int *out, ${parameter}) {
  ${type} v = in[threadIdx.x]; //= global load 1 x ${bytes} bytes
  ${use};
}`);

describe('loads of which only some bytes are used', () => {
  it('a mask', check('unsigned', 'out[threadIdx.x] = 3 * (v & 255)', 1));
  it('a mask of 16 bits', check('int', 'out[threadIdx.x] = 3 * (v & 0xffff)', 2));
  it('a byte in the middle', check('int', 'out[threadIdx.x] = 3 * ((v >> 8) & 255)', 1));
  it('what is above', check('unsigned', 'out[threadIdx.x] = 3 * (v >> 16)', 2));
  it('the upper byte of a short, of an index too', check('unsigned short', 'atomicAdd(&out[v >> 8], 1)', 1));
  it('not what keeps its sign', check('int', 'out[threadIdx.x] = 3 * (v >> 16)', 4));
  it('not other masks', check('unsigned', 'out[threadIdx.x] = 3 * (v & 15)', 4));
  it('not across bytes', check('unsigned', 'out[threadIdx.x] = 3 * ((v >> 4) & 255)', 4));
  it('not an index that is scaled', check('unsigned', 'atomicAdd(&out[v & 255], 1)', 4));
  it('not what has two users', check('unsigned', 'out[threadIdx.x] = (v & 255) + (v >> 8)', 4));
  it('not what is only stored', check('unsigned', '((char *)out)[threadIdx.x] = v', 4));
  it(
    'not through the read-only cache',
    check('unsigned', 'out[threadIdx.x] = 3 * (v & 255)', 4, 'const unsigned *__restrict__ in'),
  );
});
