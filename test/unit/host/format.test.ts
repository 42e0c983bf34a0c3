/** Texts that the program of the host formats, as glibc does. */
import { check } from './check-contents';

/** What a format makes of its arguments, and the length it gives back. */
function makes(expected: string, format: string, list: string): void {
  const codes = [...expected, '\0'].map((c) => c.charCodeAt(0)).join(' ');
  check(`
__global__ void k(const char* text, int n) {}
int main() {
  char text[64];
  const char* name = "lime";
  double third = 1 / 3.0;
  int n = snprintf(text, sizeof text, "${format}"${list && `, ${list}`});
  char* d;
  cudaMalloc(&d, 64);
  cudaMemcpy(d, text, 64, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n); //= text: ${codes}, n: ${expected.length}
}`);
}

describe('snprintf', () => {
  it('writes integers in the base, width and sign asked for', () => {
    makes('7,-12,4294967295', '%d,%i,%u', '7, -12, -1');
    makes('<   42|42   |00042|+42>', '<%5d|%-5d|%05d|%+d>', '42, 42, 42, 42');
    makes('ff FF 17 007', '%x %X %o %.3d', '255, 255, 15, 7');
    makes('-5000000000 12345678901', '%ld %llu', '-5000000000l, 12345678901ull');
  });

  it('writes characters and texts', () => {
    makes('lime  lime li [a] 100%', '%s %5s %.2s [%c] 100%%', "name, name, name, 'a'");
  });

  it('writes numbers with a point, rounded', () => {
    makes('0.333 0.333333 -2.5 3 2', '%.3f %f %.1f %.0f %.0f', 'third, third, -2.5f, 2.75, 2.5');
    makes('  1.00|0001.5', '%6.2f|%06.1f', '0.999, 1.5');
  });

  it('stops where there is no more room, and says how long the text is', () => {
    check(`
__global__ void k(const char* text, int n) {}
int main() {
  char text[8];
  memset(text, 1, 8);
  int n = snprintf(text, 4, "%d", 123456);
  char* d;
  cudaMalloc(&d, 8);
  cudaMemcpy(d, text, 8, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, n); //= text: 49 50 51 0 1 1 1 1, n: 6
}`);
  });

  it('leaves open what rounding makes of a number as near to one text as to the other', () => {
    makes('0.12 0.38 1.0', '%.2f %.2f %.1f', '0.125, 0.375, 0.96');
    check(`
__global__ void k(int n) {}
int main() {
  char text[64];
  k<<<1, 32>>>(snprintf(text, 64, "%.2f", 2.675)); //= n: ?
}`);
  });

  it('leaves open what other formats make', () => {
    check(`
__global__ void k(int n) {}
int main() {
  char text[64];
  k<<<1, 32>>>(snprintf(text, 64, "%e", 1.5)); //= n: ?
  k<<<1, 32>>>(snprintf(text, 64, "%d", 15)); //= n: 2
}`);
  });
});
