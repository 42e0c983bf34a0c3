import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('what is loaded as the upper part of a wider number is shown', () => {
  it('where it is widened', () => {
    checkLines(`k(const unsigned *p, unsigned long long *d) {
  int i = threadIdx.x;
  unsigned b = p[i]; //= none
  unsigned long long key = ((unsigned long long)b << 32) | (unsigned)i; //= global load 1 x 4 bytes
  d[i] = key; //= global store 1 x 8 bytes
}`);
    checkLines(`k(const float *p, unsigned long long *d) {
  int i = threadIdx.x;
  float x = p[i]; //= none
  unsigned long long key = ((unsigned long long)__float_as_uint(x) << 32) | (unsigned)i; //= global load 1 x 4 bytes
  d[i] = key; //= global store 1 x 8 bytes
}`);
    checkLines(`k(const unsigned short *p, unsigned *d) {
  int i = threadIdx.x;
  unsigned short b = p[i]; //= none
  unsigned both = ((unsigned)b << 16) | i; //= global load 1 x 2 bytes
  d[i] = both; //= global store 1 x 4 bytes
}`);
    checkLines(`k(const int *p, unsigned long long *d) {
  int i = threadIdx.x;
  int b = p[i]; //= none
  unsigned long long key = ((unsigned long long)(unsigned)b << 32) | (unsigned)i; //= global load 1 x 4 bytes
  d[i] = key; //= global store 1 x 8 bytes
}`);
  });

  it('where it stands if other bits of the wide number are used, or the number itself', () => {
    checkLines(`k(const unsigned *p, unsigned long long *d) {
  int i = threadIdx.x;
  unsigned b = p[i]; //= global load 1 x 4 bytes
  unsigned long long key = ((unsigned long long)b << 20) | (unsigned)i;
  d[i] = key; //= global store 1 x 8 bytes
}`);
    checkLines(`k(const unsigned *p, unsigned long long *d, unsigned *q) {
  int i = threadIdx.x;
  unsigned b = p[i]; //= global load 1 x 4 bytes
  q[i] = b; //= global store 1 x 4 bytes
  unsigned long long key = ((unsigned long long)b << 32) | (unsigned)i;
  d[i] = key; //= global store 1 x 8 bytes
}`);
  });

  it('where it stands if it is one of two halves of a word', () => {
    checkLines(`k(const unsigned short *p, unsigned *d) {
  int i = threadIdx.x;
  unsigned short a = p[i]; //= global load 1 x 2 bytes
  unsigned short b = p[i + 77]; //= global load 1 x 2 bytes
  unsigned word = a | ((unsigned)b << 16);
  d[i] = word; //= global store 1 x 4 bytes
}`);
    checkLines(`k(const unsigned short *p, unsigned *d) {
  int i = threadIdx.x;
  unsigned short a = p[i]; //= global load 1 x 2 bytes
  unsigned short b = p[i + 77]; //= global load 1 x 2 bytes
  unsigned word = ((unsigned)b << 16) + (unsigned)a;
  d[i] = word; //= global store 1 x 4 bytes
}`);
    checkLines(`k(const unsigned short *p, unsigned *d) {
  int i = threadIdx.x;
  unsigned short a = i * 3;
  unsigned short b = p[i + 77];
  unsigned word = a | ((unsigned)b << 16); //= global load 1 x 2 bytes
  d[i] = word; //= global store 1 x 4 bytes
}`);
    checkLines(`k(const unsigned *p, unsigned long long *d) {
  int i = threadIdx.x;
  unsigned a = p[i]; //= global load 1 x 4 bytes
  unsigned b = p[i + 77];
  unsigned long long both = a | ((unsigned long long)b << 32); //= global load 1 x 4 bytes
  d[i] = both; //= global store 1 x 8 bytes
}`);
  });

  it('where it stands if it is read-only', () => {
    checkLines(`k(const unsigned *__restrict__ p, unsigned long long *__restrict__ d) {
  int i = threadIdx.x;
  unsigned b = p[i]; //= global load 1 x 4 bytes
  unsigned long long key = ((unsigned long long)b << 32) | (unsigned)i;
  d[i] = key; //= global store 1 x 8 bytes
}`);
  });
});
