import assert from 'node:assert/strict';
import { preprocessText, spelled } from './preprocess-text';

/** The text expands to the tokens of `expected`. */
function check(text: string, expected: string): void {
  const result = preprocessText(text);
  assert.equal(spelled(result), spelled(preprocessText(expected)));
  assert.deepEqual(result.notes, []);
}

/** The text expands so, and a note says what is wrong. */
function checkNoted(text: string, expected: string, note: RegExp): void {
  const result = preprocessText(text);
  assert.equal(spelled(result), expected);
  assert.equal(result.notes.length, 1);
  assert.match(result.notes[0].message, note);
}

describe('macros', () => {
  it('expands object-like and function-like macros', () => {
    check(
      '#define N 32\n#define SQUARE(x) ((x) * (x))\nfloat a[N][SQUARE(N + 1)];',
      'float a[32][((32 + 1) * (32 + 1))];',
    );
  });

  it('leaves the name of a function-like macro without a call', () => {
    check('#define f(x) x\nint f; f = (f)(1) + f\n(2);', 'int f; f = (f)(1) + 2;');
  });

  it('tells a parameter list from a body that begins with a parenthesis', () => {
    check('#define a (x)\n#define b(x) x\na b(1)', '(x) 1');
  });

  it('expands the example of the standard, [cpp.rescan]', () => {
    check(
      `#define x 3
       #define f(a) f(x * (a))
       #undef x
       #define x 2
       #define g f
       #define z z[0]
       #define h g(~
       #define m(a) a(w)
       #define w 0,1
       #define t(a) a
       #define p() int
       #define q(x) x
       #define r(x,y) x ## y
       #define str(x) # x
       f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);
       g(x+(3,4)-w) | h 5) & m
         (f)^m(m);
       p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };
       char c[2][6] = { str(hello), str() };`,
      `f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);
       f(2 * (2+(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);
       int i[] = { 1, 23, 4, 5, };
       char c[2][6] = { "hello", "" };`,
    );
  });

  it('stringifies and joins, [cpp.stringize] and [cpp.concat]', () => {
    check(
      `#define str(s) # s
       #define xstr(s) str(s)
       #define INCFILE(n) vers ## n
       #define glue(a, b) a ## b
       #define xglue(a, b) glue(a, b)
       #define HIGHLOW "hello"
       #define LOW LOW ", world"
       str(strncmp("abc\\0d", "abc", '\\4') == 0) str(: @\\n) xstr(INCFILE(2).h)
       glue(HIGH, LOW); xglue(HIGH, LOW)`,
      `"strncmp(\\"abc\\\\0d\\", \\"abc\\", '\\\\4') == 0" ": @\\n" "vers2.h"
       "hello"; "hello" ", world"`,
    );
  });

  it('joins empty arguments, and keeps ## that an argument brings', () => {
    check(
      '#define t(x,y,z) x ## y ## z\nt(1,2,3) t(,4,5) t(6,,7) t(8,9,) t(10,,) t(,11,) t(,,12) t(,,)',
      '123 45 67 89 10 11 12',
    );
    check(
      '#define hh # ## #\n#define mk(a) # a\n#define in(a) mk(a)\n#define join(c, d) in(c hh d)\njoin(x, y)',
      '"x ## y"',
    );
  });

  it('never expands a macro within its own expansion', () => {
    check('#define a a + b\n#define b a * b\na; b', 'a + a * b; a + b * b');
    check('#define f(x) x f\nf(1)(2)(3)', '1 f(2)(3)');
  });

  it('goes on behind the expansion for the rest of a call, as GCC does', () => {
    check('#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)', '2*9*g');
    check('#define CALL F(1,\n#define F(a, b) a - b\nCALL 2)', '1 - 2');
  });

  it('takes calls over several lines, nested, with parentheses and commas in them', () => {
    check(
      '#define MAX(a, b) ((a) > (b) ? (a) : (b))\nMAX(\n  1, // one\n  MAX(f(2, 3), 4)\n)',
      '((1) > (((f(2, 3)) > (4) ? (f(2, 3)) : (4))) ? (1) : (((f(2, 3)) > (4) ? (f(2, 3)) : (4))))',
    );
  });

  it('takes a launch in an argument apart at its commas', () => {
    check('#define RUN(...) __VA_ARGS__; check()\nRUN(k<<<1, 2>>>(a, b));', 'k<<<1, 2>>>(a, b); check();');
  });

  it('takes macro names as arguments', () => {
    check('#define LIST(X) X(a) X(b)\n#define DECLARE(n) int n;\nLIST(DECLARE)', 'int a; int b;');
  });

  it('passes variable arguments, by their own name too', () => {
    check(
      '#define E(f, ...) printf(f, __VA_ARGS__)\n#define G(args...) g(args)\nE("a", 1, 2) G(1, 2) G()',
      'printf("a", 1, 2) g(1, 2) g()',
    );
  });

  it('drops the comma before ## __VA_ARGS__ where there are none', () => {
    check(
      '#define E(f, ...) printf(f, ## __VA_ARGS__)\nE("a") E("a",) E("a", 1)',
      'printf("a") printf("a") printf("a", 1)',
    );
  });

  it('includes __VA_OPT__ where there are variable arguments', () => {
    check(
      '#define F(a, ...) f(a __VA_OPT__(, (__VA_ARGS__)))\n#define Z\nF(1) F(1, 2, 3) F(1, Z)',
      'f(1) f(1, (2, 3)) f(1)',
    );
    check('#define S(...) #__VA_OPT__(<__VA_ARGS__>)\nS() S(a)', '"" "<a>"');
  });

  it('follows directives among the arguments of a call', () => {
    check('#define ID(...) __VA_ARGS__\nID(a,\n#ifdef X\n b\n#else\n c\n#define Y 5\n#endif\n , Y)', 'a, c, 5');
  });

  it('forgets what is undefined, and takes the last definition', () => {
    check('#define a 1\n#define a 2\na\n#undef a\na\n#undef never', '2 a');
  });

  it('knows line, file and counter', () => {
    const result = preprocessText('__LINE__\n#define L __LINE__\nL __FILE__ __COUNTER__ __COUNTER__\n');
    assert.equal(spelled(result), '1 3 "main.cu" 0 1');
  });

  it('leaves a call that is not closed as it stands, and reads on', () => {
    checkNoted('#define F(x) [x]\nF(1;\nint after;', 'F ( 1 ; int after ;', /macro F is not closed/);
  });

  it('leaves a call with too many or too few arguments as it stands', () => {
    checkNoted('#define N 1\n#define F(x, y) x y\nF(N);', 'F ( 1 ) ;', /takes 2 arguments and gets 1/);
    checkNoted('#define F() x\nF(1);', 'F ( 1 ) ;', /takes 0 arguments and gets 1/);
  });

  it('keeps both tokens where ## makes none of them', () => {
    checkNoted('#define J(a, b) a ## b\nJ(+, x)', '+ x', /\+ ## x/);
  });

  it('gives the definitions at the end, with their places', () => {
    const text = '#define F(a, b...) a b\n#define G 1\n#undef G';
    const { macros } = preprocessText(text, {}, { defines: new Map([['P', '1 + 2']]) });
    assert.deepEqual([...macros.keys()], ['P', 'F']);
    assert.deepEqual(macros.get('P')?.body, ['1', '+', '2']);
    const f = macros.get('F');
    assert.deepEqual(f?.parameters, ['a', 'b']);
    assert.equal(f?.variadic, true);
    assert.equal(text.slice(f?.definition?.start, f?.definition?.end), 'F(a, b...) a b');
  });
});
