import { check, checkBody } from './parse-text';

describe('statements', () => {
  it('reads blocks, expressions and the empty statement', () => {
    checkBody('{ a; { } } ;', '{a; {}}; _');
    checkBody('a = b; c(d);', '(= a b); (call c d)');
  });

  it('reads declarations', () => {
    checkBody('int a, *b = &a, c[2] = {1, 2};', '(var a int) (var b *int = (& a)) (var c [2]int = {1 2})');
    checkBody(
      'const float x = 1.f, y(2), z{3};',
      '(var x const float = 1f) (var y const float (2)) (var z const float {3})',
    );
    checkBody('auto [a, b] = g();', '(var [a b] auto = (call g))');
    checkBody('const auto& [a, b, c] = g();', '(var [a b c] &const auto = (call g))');
    checkBody('struct P { int x; } p;', '(var p (struct P {(var x int)}))');
    checkBody('struct P { int x; }; P p;', '(struct P {(var x int)}); (var p P)');
    checkBody('enum { A = 1, B }; a = B;', '(enum {A=1 B}); (= a B)');
    checkBody('using T = float; T x;', '(alias T float); (var x T)');
    checkBody('typedef float T; T x;', '(alias T float); (var x T)');
    checkBody('using namespace n; using n::x;', '(using namespace n); (using n::x)');
    checkBody('namespace m = n::o;', '(namespace m = n::o)');
    checkBody('static_assert(sizeof(int) == 4, "four");', '(static_assert)');
    checkBody('[[maybe_unused]] int a;', '(var a int)');
    checkBody('static const int a = 1;', '(var static a const int = 1)');
    checkBody(
      'unsigned a; long long b; unsigned char c;',
      '(var a unsigned int); (var b long long); (var c unsigned char)',
    );
    checkBody('int (*g)(int) = h;', '(var g *fn(int) int = h)');
    checkBody('float (&r)[4] = s;', '(var r &[4]float = s)');
  });

  it('reads if', () => {
    checkBody('if (a) b; else c;', '(if a b else c)');
    checkBody('if (a) { b; } else if (c) d; else { e; }', '(if a {b} else (if c d else {e}))');
    checkBody('if (a) if (b) c; else d;', '(if a (if b c else d))');
    checkBody('if constexpr (N > 1) a;', '(if-constexpr (> N 1) a)');
    checkBody('if (int k = g(); k > 2) a;', '(if (var k int = (call g)); (> k 2) a)');
    checkBody('if (g(); a) b;', '(if (call g); a b)');
    checkBody('if (float* p = g()) a;', '(if (var p *float = (call g)) a)');
    checkBody('if (a) [[likely]] b;', '(if a b)');
  });

  it('reads loops', () => {
    checkBody('for (int i = 0; i < n; ++i) a;', '(for (var i int = 0); (< i n); (++ i) a)');
    checkBody(
      'for (int i = 0, j = 1; i < n; i++, j--) { }',
      '(for (var i int = 0) (var j int = 1); (< i n); (, (post++ i) (post-- j)) {})',
    );
    checkBody('for (i = 0; ; i += 2) a;', '(for (= i 0); _; (+= i 2) a)');
    checkBody('for (;;) ;', '(for _; _; _ _)');
    checkBody('for (int i = 0;;) ;', '(for (var i int = 0); _; _ _)');
    checkBody('for (int i = 0;; i++) ;', '(for (var i int = 0); _; (post++ i) _)');
    checkBody('for (float x : list) a;', '(for (var x float) : list a)');
    checkBody('for (const auto& [k, v] : g()) a;', '(for (var [k v] &const auto) : (call g) a)');
    checkBody('for (auto x : {1, 2}) a;', '(for (var x auto) : {1 2} a)');
    checkBody('while (a) b;', '(while a b)');
    checkBody('while (int k = g()) b;', '(while (var k int = (call g)) b)');
    checkBody('do a; while (b);', '(do a b)');
    checkBody('do { a; } while (b); c;', '(do {a} b); c');
    checkBody('break; continue;', 'break; continue');
  });

  it('reads what pragmas say about the loop behind them', () => {
    checkBody('\n#pragma unroll\nfor (;;) ;', '(for@unroll _; _; _ _)');
    checkBody('\n#pragma unroll 4\nfor (;;) ;', '(for@unroll=4 _; _; _ _)');
    checkBody('\n#pragma unroll (N / 2)\nwhile (a) ;', '(while@unroll=(/ N 2) a _)');
    checkBody('\n#pragma nounroll\ndo ; while (a);', '(do@unroll=1 _ a)');
    checkBody('\n#pragma unroll\nfor (int x : y) ;', '(for@unroll (var x int) : y _)');
    checkBody('\n#pragma unroll sizeof\nfor (;;) ;', '(for@unroll _; _; _ _)');
    checkBody('U4\nfor (;;) ;', '_; (for@unroll=4 _; _; _ _)', '#define U4 #pragma unroll 4');
    checkBody('\n#pragma unroll\na = 1; for (;;) ;', '(= a 1); (for _; _; _ _)');
  });

  it('reads switch and keeps its labels in the list', () => {
    checkBody(
      'switch (a) { case 1: b; break; case 2 ... 4: { c; } default: d; }',
      '(switch a {case 1:; b; break; case 2...4:; {c}; default:; d})',
    );
    checkBody('switch (int k = g(); k) { }', '(switch (var k int = (call g)); k {})');
    checkBody('switch (a) case E::x: b;', '(switch a {case E::x:; b})');
    checkBody(
      'switch (a) { case (int)B: ; case A ? 1 : 2: ; }',
      '(switch a {case (cast:c int B):; _; case (? A 1 2):; _})',
    );
  });

  it('reads jumps', () => {
    checkBody('goto end; end: return;', '(goto end); end:; (return)');
    checkBody('if (a) here: b;', '(if a {here:; b})');
    checkBody('return a + b;', '(return (+ a b))');
    checkBody('return {a, b};', '(return {a b})');
    checkBody('return (T){a};', '(return (cast:c T {a}))');
  });

  it('reads inline assembly', () => {
    checkBody('asm("bar.sync 0;");', '(asm "bar.sync 0;" [] [] [])');
    checkBody(
      'asm volatile("a %0;\\n" "b" : "=r"(x), "+f"(y[1]) : "r"(z), [n] "n"(4) : "memory", "cc");',
      '(asm-volatile "a %0;\\nb" [=r x, +f (index y 1)] [r z, n 4] [memory cc])',
    );
    checkBody('asm volatile("x" :: "l"(p) : "memory");', '(asm-volatile "x" [] [l p] [memory])');
    checkBody('__asm__ __volatile__("x" ::: "memory");', '(asm-volatile "x" [] [] [memory])');
    checkBody('asm("ld" MODE ".u32" : "=r"(x));', '(asm "ld.u32" [=r x] [] [])');
    checkBody('asm("x" : "=" "r"(x));', '(asm "x" [=r x] [] [])');
    checkBody('asm("x" :: "r"(x) "l"(p) : "memory");', '(asm "x" [] [r x, l p] [memory])');
  });

  it('reads try and steps over its handlers', () => {
    checkBody('try { a; } catch (const E& e) { b; } catch (...) { } c;', '(try {a}); c');
    check('void g() try { a; } catch (...) { }', '(fn g () void {a})');
  });
});
