/** Members, elements of tuples and results of calls that refer to variables. */
import { check, checkMain } from './support';

const pass = (list: string) => `k <<<(1,1,1),(1,1,1),0>>>(${list})`;

describe('members that are references', () => {
  it('are the variables they are given', () => {
    check(
      `struct View { std::vector<int>& v; int& n; void bump() { n += 1; v.push_back(n); } };
int main() { std::vector<int> v{1}; int n = 5; View w{v, n}; w.bump(); View u = w; u.n += 10; n += 100; k<<<1, 1>>>(n, (int)v.size(), w.n, (int)sizeof(View)); }`,
      pass('116, 2, 116, 16'),
    );
    check(
      'struct Adder { int& n; explicit Adder(int& n) : n(n) {} void add(int k) { n += k; } }; int main() { int m = 1; Adder a(m); a.add(4); k<<<1, 1>>>(m); }',
      pass('5'),
    );
    check(
      'struct Context { int& count; const int& most; }; void step(Context c) { if (c.count < c.most) c.count++; } int main() { int n = 0, most = 2; for (int i = 0; i < 5; ++i) step({n, most}); k<<<1, 1>>>(n); }',
      pass('2'),
    );
  });
});

describe('references in tuples and behind calls', () => {
  it('are written through', () => {
    checkMain('int p = 1, q = 2; std::tie(p, q) = f(); k<<<1, 1>>>(p, q);', pass('?p, ?q'));
    checkMain('int a = 1; std::pair<int&, int> r(a, 2); r.first = 9; k<<<1, 1>>>(a);', pass('?a'));
  });
  it('are what a range of the user gives', () => {
    check(
      `template <class A> struct Scaled { A& a; struct It { typename A::iterator i; auto& operator*() { return *i; } It& operator++() { ++i; return *this; } bool operator!=(const It& o) const { return i != o.i; } }; It begin() { return {a.begin()}; } It end() { return {a.end()}; } };
int main() { std::vector<int> a{1, 2}; for (auto& x : Scaled<std::vector<int>>{a}) x *= 10; k<<<1, 1>>>(a[1]); }`,
      pass('?'),
    );
  });
});
