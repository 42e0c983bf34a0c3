/** A machine of states, tokens of a text, a stack of values. */
#include <cctype>
#include <map>
#include <stack>
#include <string>
#include <vector>
enum class State { Start, Number, Word, End };
struct Token { State kind; std::string text; int value = 0; };
std::vector<Token> tokens(const std::string& s) {
  std::vector<Token> out;
  State state = State::Start;
  std::string held;
  for (size_t i = 0; i <= s.size(); i++) {
    char c = i < s.size() ? s[i] : ' ';
    switch (state) {
      case State::Start:
        if (std::isdigit(c)) { state = State::Number; held = c; }
        else if (std::isalpha(c)) { state = State::Word; held = c; }
        else if (c != ' ') out.push_back({State::End, std::string(1, c)});
        break;
      case State::Number:
        if (std::isdigit(c)) held += c;
        else { out.push_back({state, held, std::stoi(held)}); state = State::Start; i--; }
        break;
      case State::Word:
        if (std::isalnum(c)) held += c;
        else { out.push_back(Token{state, held}); state = State::Start; --i; }
        break;
      default: break;
    }
  }
  return out;
}
int evaluated(const std::string& s, const std::map<std::string, int>& names) {
  static const std::map<char, int> rank{{'+', 1}, {'-', 1}, {'*', 2}, {'/', 2}};
  std::stack<int> values;
  std::stack<char> operators;
  auto apply = [&] {
    int b = values.top(); values.pop();
    int a = values.top(); values.pop();
    switch (operators.top()) { case '+': a += b; break; case '-': a -= b; break; case '*': a *= b; break; case '/': a /= b; }
    operators.pop();
    values.push(a);
  };
  for (auto& t : tokens(s)) {
    if (t.kind == State::Number) values.push(t.value);
    else if (t.kind == State::Word) values.push(names.at(t.text));
    else if (t.text == "(") operators.push('(');
    else if (t.text == ")") { while (operators.top() != '(') apply(); operators.pop(); }
    else { while (!operators.empty() && operators.top() != '(' && rank.at(operators.top()) >= rank.at(t.text[0])) apply(); operators.push(t.text[0]); }
  }
  while (!operators.empty()) apply();
  return values.top();
}
int main() {
  auto t = tokens("a1 + 42*(b - 7)");
  show(t.size()); //~ 9
  show(t[2].value); //~ 42
  show(t[0].text.size()); //~ 2
  show(evaluated("2+3*4", {})); //~ 14
  show(evaluated("(n - 1) / 256 + 1", {{"n", 1000}})); //~ 4
  show(evaluated("rows*cols-2*(rows+cols)", {{"rows", 12}, {"cols", 9}})); //~ 66
  int transitions[3][2] = {{1, 0}, {1, 2}, {2, 0}};
  int at = 0, visits[3] = {};
  for (char c : std::string("abbabaab")) { at = transitions[at][c - 'a']; visits[at]++; }
  show(visits[0] * 100 + visits[1] * 10 + visits[2]); //~ 224
  return 0;
}
