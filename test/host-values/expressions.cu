/** A tokeniser, a parser by recursive descent, a stack machine; a trie of words. */
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
enum class Kind { number, name, op, open, close, end };
struct Token { Kind kind; double value = 0; std::string text; };
class Lexer {
  std::string_view s_;
  std::size_t at_ = 0;
 public:
  explicit Lexer(std::string_view s) : s_(s) {}
  Token next() {
    while (at_ < s_.size() && std::isspace((unsigned char)s_[at_])) ++at_;
    if (at_ == s_.size()) return {Kind::end};
    const char c = s_[at_];
    if (std::isdigit((unsigned char)c)) {
      double v = 0, scale = 1;
      bool behind = false;
      for (; at_ < s_.size() && (std::isdigit((unsigned char)s_[at_]) || s_[at_] == '.'); ++at_) {
        if (s_[at_] == '.') { behind = true; continue; }
        v = v * 10 + (s_[at_] - '0');
        if (behind) scale *= 10;
      }
      return {Kind::number, v / scale};
    }
    if (std::isalpha((unsigned char)c)) {
      const std::size_t from = at_;
      while (at_ < s_.size() && std::isalnum((unsigned char)s_[at_])) ++at_;
      return {Kind::name, 0, std::string(s_.substr(from, at_ - from))};
    }
    ++at_;
    if (c == '(') return {Kind::open};
    if (c == ')') return {Kind::close};
    return {Kind::op, 0, std::string(1, c)};
  }
};
struct Node {
  virtual ~Node() = default;
  virtual double eval(const std::map<std::string, double>& env) const = 0;
  virtual int depth() const { return 1; }
};
struct Number : Node { double v; explicit Number(double v) : v(v) {} double eval(const std::map<std::string, double>&) const override { return v; } };
struct Name : Node {
  std::string n;
  explicit Name(std::string n) : n(std::move(n)) {}
  double eval(const std::map<std::string, double>& env) const override {
    auto it = env.find(n);
    if (it == env.end()) throw std::out_of_range(n);
    return it->second;
  }
};
struct Binary : Node {
  char op;
  std::unique_ptr<Node> l, r;
  Binary(char op, std::unique_ptr<Node> l, std::unique_ptr<Node> r) : op(op), l(std::move(l)), r(std::move(r)) {}
  double eval(const std::map<std::string, double>& env) const override {
    const double a = l->eval(env), b = r->eval(env);
    switch (op) { case '+': return a + b; case '-': return a - b; case '*': return a * b; case '/': return a / b; default: return std::pow(a, b); }
  }
  int depth() const override { return 1 + std::max(l->depth(), r->depth()); }
};
class Parser {
  Lexer lexer_;
  Token now_;
  void step() { now_ = lexer_.next(); }
  static int power(const Token& t) { if (t.kind != Kind::op) return 0; switch (t.text[0]) { case '+': case '-': return 1; case '*': case '/': return 2; case '^': return 3; } return 0; }
  std::unique_ptr<Node> primary() {
    if (now_.kind == Kind::number) { auto n = std::make_unique<Number>(now_.value); step(); return n; }
    if (now_.kind == Kind::name) { auto n = std::make_unique<Name>(now_.text); step(); return n; }
    if (now_.kind != Kind::open) throw std::runtime_error("unexpected");
    step();
    auto inner = expression(1);
    if (now_.kind != Kind::close) throw std::runtime_error("missing )");
    step();
    return inner;
  }
 public:
  explicit Parser(std::string_view s) : lexer_(s) { step(); }
  std::unique_ptr<Node> expression(int least) {
    auto left = primary();
    while (power(now_) >= least && power(now_) > 0) {
      const char op = now_.text[0];
      const int p = power(now_);
      step();
      left = std::make_unique<Binary>(op, std::move(left), expression(op == '^' ? p : p + 1));
    }
    return left;
  }
};
struct Trie {
  struct Node { std::array<int, 26> next; int words = 0; Node() { next.fill(-1); } };
  std::vector<Node> nodes = std::vector<Node>(1);
  void add(const char* w) {
    int at = 0;
    for (; *w; ++w) {
      int& to = nodes[at].next[*w - 'a'];
      if (to < 0) { const int made = nodes.size(); to = made; nodes.emplace_back(); at = made; } else at = to;
    }
    ++nodes[at].words;
  }
  int under(std::string_view prefix) const {
    int at = 0;
    for (char c : prefix) if ((at = nodes[at].next[c - 'a']) < 0) return 0;
    return count(at);
  }
  int count(int at) const { int n = nodes[at].words; for (int t : nodes[at].next) if (t >= 0) n += count(t); return n; }
};
int main() {
  Lexer lexer("3.25 + (x1 * 40)");
  int tokens = 0, kinds = 0;
  for (Token t = lexer.next(); t.kind != Kind::end; t = lexer.next()) { ++tokens; kinds = kinds * 6 + (int)t.kind; }
  show(tokens); //= 7
  show(kinds); //= 19732
  std::map<std::string, double> env{{"x", 4}, {"y", 0.5}};
  show(Parser("1 + 2 * 3").expression(1)->eval(env)); //= 7
  show(Parser("(1 + x) * (x - 1) / 2.5").expression(1)->eval(env) * 10); //= 60
  show(Parser("2 ^ 3 ^ 2").expression(1)->eval(env)); //= 512
  auto tree = Parser("x * x - y / (x + 1)").expression(1);
  show(tree->eval(env) * 1000); //= 15900
  show(tree->depth()); //= 4
  int errors = 0;
  for (const char* bad : {"1 + ", "(2", "z * 2"}) {
    try { Parser(bad).expression(1)->eval(env); }
    catch (const std::out_of_range&) { errors += 100; }
    catch (const std::runtime_error&) { errors += 1; }
  }
  show(errors); //~ 102
  Trie trie;
  for (const char* w : {"warp", "warps", "wave", "lane", "lanes", "land"}) trie.add(w);
  show(trie.nodes.size()); //~ 14
  show(trie.under("wa") * 100 + trie.under("lane") * 10 + trie.under("x")); //~ 320
  return 0;
}
