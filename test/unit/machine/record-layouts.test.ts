/** Records as they lie in memory: packed ones, bit-fields, padding. Widths are those of the machine code of nvcc 13.0. */
import { checkLines } from './check-lines';

/** `r` and `o` point to records, `f` to floats; expectations stand behind the statements. */
const check = (record: string, ...statements: string[]) =>
  checkLines(`k(const R *r, R *o, float *f) {\n  int i = threadIdx.x;\n  ${statements.join('\n  ')}\n}`, record);

const packed = `#pragma pack(push, 1)
struct R { unsigned char discount; int date; unsigned short quantity; unsigned price; };
#pragma pack(pop)`;

describe('packed records', () => {
  it('are copied byte by byte', () => {
    check(packed, 'o[i] = r[i]; //= global load 11 x 1 bytes, global store 11 x 1 bytes');
    check(packed, 'R t = r[i]; //= global load 5 x 1 bytes', 'f[i] = t.date + t.discount;');
  });

  it('are read member by member in bytes, through references too', () => {
    check(packed, 'float v = r[i].date; //= global load 4 x 1 bytes', 'f[i] = v;');
    check(packed, 'const R &t = r[i];', 'float v = t.price; //= global load 4 x 1 bytes', 'f[i] = v;');
  });

  it('do not hold for the type of a member behind a pointer', () =>
    check(packed, 'const int *p = &r[i].date;', 'float v = *p; //= global load 1 x 4 bytes', 'f[i] = v;'));

  it('are packed by attributes before and behind, for the whole or for a member', () => {
    const members = '{ unsigned char a; float x; float y; }';
    const sum = ['float v = r[i].x + r[i].y; //= global load 8 x 1 bytes', 'f[i] = v;'];
    check(`struct __attribute__((packed)) R ${members};`, ...sum);
    check(`struct R ${members} __attribute__((packed));`, ...sum);
    check(`typedef struct ${members} __attribute__((packed)) R;`, ...sum);
    check(`struct __attribute__((packed, aligned(4))) R { unsigned char a; float x; float y; char b[3]; };`, ...sum);
    const one = 'struct R { unsigned char a; float x __attribute__((packed)); float y; };';
    check(one, 'float v = r[i].x; //= global load 4 x 1 bytes', 'f[i] = v;');
    check(one, 'float v = r[i].y; //= global load 1 x 4 bytes', 'f[i] = v;');
  });

  it('decide for records inside', () => {
    const inner = '{ int a; float b; };';
    const outer = `struct I ${inner}\n#pragma pack(push)\n#pragma pack(1)\nstruct R { I n; char c; };\n#pragma pack(pop)`;
    check(outer, 'float v = r[i].n.a; //= global load 4 x 1 bytes', 'f[i] = v;');
    const holder = '#pragma pack(1)\nstruct I { char c; int s; };\n#pragma pack()\nstruct R { char a; I q; int z; };';
    check(holder, 'float v = r[i].q.s; //= global load 4 x 1 bytes', 'f[i] = v;');
  });

  it('are read two bytes at once where two are asked for', () => {
    const two = '#pragma pack(2)\nstruct R { unsigned char d; int s; double z; };\n#pragma pack()';
    check(two, 'float v = r[i].s; //= global load 2 x 2 bytes', 'f[i] = v;');
    check(two, 'o[i] = r[i]; //= global load 7 x 2 bytes, global store 7 x 2 bytes');
  });

  it('end with the pragma', () =>
    check(
      '#pragma pack(push, 1)\nstruct P { char c; int s; };\n#pragma pack(pop)\nstruct R { char c; int s; };',
      'float v = r[i].s; //= global load 1 x 4 bytes',
      'f[i] = v;',
    ));
});

describe('bit-fields', () => {
  const particle = 'struct R { float x, y; unsigned species : 2, alive : 1, tag : 29; };';

  it('are read with their whole type in memory, or by their own bytes', () => {
    check(particle, 'float v = r[i].alive; //= global load 1 x 4 bytes', 'f[i] = v;');
    const bytes = 'struct R { unsigned a : 4, b : 12, c : 16; };';
    check(bytes, 'float v = r[i].b; //= global load 1 x 4 bytes', 'f[i] = v;');
    check(bytes, 'float v = r[i].c; //= global load 1 x 2 bytes', 'f[i] = v;');
  });

  it('are bytes in a record that was copied into a variable', () => {
    check(particle, 'R t = r[i]; //= global load 1 x 1 bytes', 'f[i] = t.alive;');
    check(particle, 'R t = r[i]; //= global load 1 x 4 bytes', 'f[i] = t.tag;');
    check('struct R { float x; unsigned a : 7, b : 9; };', 'R t = r[i]; //= global load 1 x 2 bytes', 'f[i] = t.b;');
  });

  it('are copied with the record', () =>
    check(particle, 'o[i] = r[i]; //= global load 3 x 4 bytes, global store 3 x 4 bytes'));

  it('lie behind each other and what comes before, also in another type', () => {
    // a and b take two bytes, c lies behind them: twelve bytes, so that lane 31 ends in the 12th sector
    const mixed = 'struct R { float x, y; unsigned a : 4, b : 12; unsigned char c; };';
    check(mixed, 'o[i] = r[i]; //= global load 3 x 4 bytes, global store 3 x 4 bytes');
    check(
      'struct R { unsigned char c; unsigned a : 7, b : 9; };',
      'o[i] = r[i]; //= global load 1 x 4 bytes, global store 1 x 4 bytes',
    );
  });
});

describe('padding', () => {
  it('behind the last member is copied in pieces of the alignment', () => {
    check('struct R { int a; char b; };', 'o[i] = r[i]; //= global load 2 x 4 bytes, global store 2 x 4 bytes');
    check('struct R { double a; int b; };', 'o[i] = r[i]; //= global load 2 x 8 bytes, global store 2 x 8 bytes');
    check('struct R { float4 a; int b; };', 'o[i] = r[i]; //= global load 2 x 16 bytes, global store 2 x 16 bytes');
    check(
      'struct __align__(16) R { float a, b, c; };',
      'o[i] = r[i]; //= global load 1 x 16 bytes, global store 1 x 16 bytes',
    );
  });

  it('between members is, too', () => {
    check('struct R { char a; int b; };', 'o[i] = r[i]; //= global load 2 x 4 bytes, global store 2 x 4 bytes');
    check('struct R { int a; double b; };', 'o[i] = r[i]; //= global load 2 x 8 bytes, global store 2 x 8 bytes');
  });

  it('is not read where members are', () => {
    check('struct R { char a; double b; int c; };', 'float v = r[i].a; //= global load 1 x 1 bytes', 'f[i] = v;');
    check('struct R { double b; int c; };', 'R t = r[i]; //= global load 1 x 4 bytes', 'f[i] = t.c;');
  });

  it('behind the last member goes through a variable, changed on the way or not', () => {
    const record = 'struct R { double a; int b; };';
    check(record, 'R t = r[i]; //= global load 2 x 8 bytes', 'o[i] = t; //= global store 2 x 8 bytes');
    check(record, 'R t = r[i]; //= global load 2 x 8 bytes', 't.b = 3;', 'o[i] = t; //= global store 2 x 8 bytes');
    check(record, 'R t; t = r[i]; //= global load 2 x 8 bytes', 'o[i] = t; //= global store 2 x 8 bytes');
    const short = 'struct R { short a; char b; };';
    check(short, 'R t = r[i]; //= global load 2 x 2 bytes', 'o[i] = t; //= global store 2 x 2 bytes');
  });
});

describe('records aligned beyond their members', () => {
  const order = 'struct __align__(16) R { unsigned short day; unsigned char kind, flags; int a, b; float c; };';

  it('are copied in pieces of what they are aligned to, whatever sizes the members have', () => {
    check(order, 'o[i] = r[i + 1]; //= global load 1 x 16 bytes, global store 1 x 16 bytes');
    const small = 'struct __align__(8) R { int a; char b, c; short d; };';
    check(small, 'o[i] = r[i + 1]; //= global load 1 x 8 bytes, global store 1 x 8 bytes');
  });

  it('lose no load where a store is put together of several types', () => {
    const vertex = 'struct __align__(16) R { float x, y, z; uchar4 c; };';
    check(vertex, 'R t = r[i + 1]; //= global load 1 x 16 bytes', 'o[i] = t; //= global store 1 x 16 bytes');
  });
});
