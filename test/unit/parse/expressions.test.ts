import { checkExpression as check } from './parse-text';

describe('expressions', () => {
  it('groups binary operators by precedence, from the left', () => {
    check('a + b * c - d', '(- (+ a (* b c)) d)');
    check('a | b ^ c & d == e < f << n + x * 2', '(| a (^ b (& c (== d (< e (<< f (+ n (* x 2))))))))');
    check('a || b && c || d', '(|| (|| a (&& b c)) d)');
    check('a - b - c', '(- (- a b) c)');
    check('a % b / c', '(/ (% a b) c)');
    check('a >> b >> c', '(>> (>> a b) c)');
    check('a >= b == c <= d', '(== (>= a b) (<= c d))');
    check('a <=> b < c', '(< (<=> a b) c)');
    check('x.*p + p->*x', '(+ (.* x p) (->* p x))');
    check('a, b, c', '(, (, a b) c)');
    check('not a and b or c xor d', '(|| (&& (! a) b) (^ c d))');
  });

  it('groups assignments and conditionals from the right', () => {
    check('a = b = c', '(= a (= b c))');
    check('a += b -= c', '(+= a (-= b c))');
    check('a <<= b', '(<<= a b)');
    check('a >>= b', '(>>= a b)');
    check('a = b ? c : d ? e : f', '(= a (? b c (? d e f)))');
    check('a ? b, c : d = e', '(? a (, b c) (= d e))');
    check('a ?: b', '(? a a b)');
  });

  it('reads prefix and postfix operators', () => {
    check('-a * +b', '(* (- a) (+ b))');
    check('!~*&p', '(! (~ (* (& p))))');
    check('++a - b--', '(- (++ a) (post-- b))');
    check('*p++ = a', '(= (* (post++ p)) a)');
    check('a - -b', '(- a (- b))');
    check('delete p', '(delete p)');
    check('delete[] p', '(delete p)');
    check('noexcept(a)', '(noexcept a)');
    check('a ? throw b : c', '(? a (throw) c)');
  });

  it('reads calls, subscripts and members', () => {
    check('f(a, b)(c)', '(call (call f a b) c)');
    check('p[a][b + 1]', '(index (index p a) (+ b 1))');
    check('p[a, b]', '(index p (, a b))');
    check('x.y.z(a)', '(call (. (. x y) z) a)');
    check('p->q->r', '(-> (-> p q) r)');
    check('this->x', '(-> this x)');
    check('x.template get<3>()', '(call (. x get<3>))');
    check('x.get<int>(a)', '(call (. x get<int>) a)');
    check('x.y < a', '(< (. x y) a)');
    check('x.T::y', '(. x T::y)');
    check('x.~T()', '(call (. x ~T))');
    check('x.operator+(a)', '(call (. x operator+) a)');
    check('f(x...)', '(call f x...)');
    check('f({a, b}, c)', '(call f {a b} c)');
    check('::f(a)', '(call ::f a)');
    check('std::max<int>(a, b)', '(call std::max<int> a b)');
  });

  it('reads numbers with a suffix of the user as calls', () => {
    check('48_KiB + a', '(+ (call operator""_KiB 48ull) a)');
  });

  it('reads members of typeid', () => {
    check('typeid(T).name()', '(call (. (typeid T) name))');
    check('f(typeid(*p).name(), a)', '(call f (call (. (typeid (* p)) name)) a)');
    check('typeid(a) == typeid(b)', '(== (typeid a) (typeid b))');
  });

  it('reads casts of every form', () => {
    check('(int)a', '(cast:c int a)');
    check('(unsigned long)a + b', '(+ (cast:c unsigned long a) b)');
    check('(float*)p + 1', '(+ (cast:c *float p) 1)');
    check('(const float4* const&)p', '(cast:c &const *const float4 p)');
    check('(int (*)(float))p', '(cast:c *fn(float) int p)');
    check('(unsigned char((*)[16])) p', '(cast:c *[16]unsigned char p)');
    check('(int)(float)a', '(cast:c int (cast:c float a))');
    check('(void)a', '(cast:c void a)');
    check('(T){a}', '(cast:c T {a})');
    check('static_cast<float>(a)', '(cast:static float a)');
    check('reinterpret_cast<int4*>(p)[a]', '(index (cast:reinterpret *int4 p) a)');
    check('const_cast<int*>(p)', '(cast:const *int p)');
    check('dynamic_cast<T&>(x)', '(cast:dynamic &T x)');
    check('float(a)', '(cast:functional float a)');
    check('unsigned(a) >> 1', '(>> (cast:functional unsigned int a) 1)');
    check('T(a, b)', '(cast:functional T a b)');
    check('T{a, b}', '(cast:braced T {a b})');
    check('int{}', '(cast:braced int {})');
    check('a = typename T::Y(b)', '(= a (cast:functional T::Y b))');
    check('decltype(a)(b)', '(cast:functional decltype(a) b)');
    check('a = decltype(a){}', '(= a (cast:braced decltype(a) {}))');
    check('make_float2(a, b)', '(call make_float2 a b)');
    check('Unknown<int>{}(a)', '(call (cast:braced Unknown<int> {}) a)');
  });

  it('reads sizeof and its kin', () => {
    check('sizeof(int)', '(sizeof int)');
    check('sizeof(int) * a', '(* (sizeof int) a)');
    check('sizeof(float[4])', '(sizeof [4]float)');
    check('sizeof(a)', '(sizeof a)');
    check('sizeof a + 1', '(+ (sizeof a) 1)');
    check('sizeof(T)', '(sizeof T)');
    check('sizeof(Unknown)', '(sizeof Unknown)');
    check('sizeof(p[0])', '(sizeof (index p 0))');
    check('sizeof...(x)', '(sizeof... x)');
    check('alignof(T)', '(alignof T)');
    check('typeid(a)', '(typeid a)');
  });

  it('reads new', () => {
    check('new T', '(new T)');
    check('new T(a, b)', '(new T a b)');
    check('new float[n]', '(new [n]float)');
    check('new (p) T{a}', '(new T {a})');
    check('new int*[n]', '(new [n]*int)');
  });

  it('reads initialiser lists', () => {
    check('x = {}', '(= x {})');
    check('x = {a, {b, c}, }', '(= x {a {b c}})');
    check('x = {.a = 1, .b{2}}', '(= x {.a=1 .b={2}})');
    check('x = {[3] = 1}', '(= x {.[3]=1})');
  });

  it('reads lambdas', () => {
    check('[] {}', '(lambda [] () {})');
    check('[&] { return a; }', '(lambda [&] () {(return a)})');
    check('[=, &a, b, c = d + 1](int i) { }', '(lambda [= &a b c=(+ d 1)] (i: int) {})');
    check('[this] {}', '(lambda [this] () {})');
    check('[](auto... xs) -> float { }', '(lambda [] (xs: auto...) float {})');
    check('[=] __device__ (int i) mutable { }', '(lambda [=] (i: int) {})');
    check('[] __host__ __device__ { }', '(lambda [] () {})');
    check('[]<typename U>(U u) { }', '(lambda [] <typename U> (u: U) {})');
    check('f([](int i) { return i; }, a)', '(call f (lambda [] (i: int) {(return i)}) a)');
    check('[a](int i) noexcept { }(b)', '(call (lambda [a] (i: int) {}) b)');
  });

  it('joins string literals, with macros of unread headers between them', () => {
    check('"a" "b\\n"', '"ab\\n"');
    check('f("%" PRIu64 "\\n", a)', '(call f "%\\n" a)');
    check('R"(a\\n)"', '"a\\\\n"');
    check('u8"x"', '"x"');
  });

  it('gives a node in parentheses the range of the parentheses', () => {
    check('(a)', 'a');
    check('((a + b)) * c', '(* (+ a b) c)');
  });
});
