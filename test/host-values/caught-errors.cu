/** Errors that are thrown and caught. */
#include <stdexcept>
#include <string>
#include <vector>
struct BadShape : std::runtime_error {
  int rank;
  explicit BadShape(int r) : std::runtime_error("bad shape"), rank(r) {}
};
int checked(int n) {
  if (n < 0) throw std::invalid_argument("negative");
  if (n > 100) throw BadShape(n);
  return n * 2;
}
int tried(int n) {
  try {
    return checked(n);
  } catch (const BadShape& e) {
    return e.rank - 1000;
  } catch (const std::exception& e) {
    return -1;
  }
}
int main() {
  show(tried(5)); //= 10
  show(tried(-5)); //= -1
  show(tried(500)); //= -500
  int blocks = 0;
  try {
    blocks = 4;
    checked(-1);
    blocks = 8;
  } catch (...) {
    blocks += 1;
  }
  show(blocks); //= 5
  int fallback = 0;
  for (int i = -1; i < 3; i++) {
    try {
      fallback += checked(i * 60);
    } catch (const std::invalid_argument&) {
      fallback += 1000;
    } catch (BadShape& e) {
      fallback += e.rank;
    }
  }
  show(fallback); //= 1240
  std::vector<int> v{1, 2, 3};
  try {
    v.at(7) = 1;
    show(1);
  } catch (const std::out_of_range&) {
    v.push_back(9);
  }
  show(v.size()); //= 4
  try {
    throw 42;
  } catch (int code) {
    show(code); //= 42
  }
  int parsed = 0;
  try { parsed = std::stoi("12x"); } catch (...) { parsed = -1; }
  show(parsed); //= 12
  try { parsed = std::stoi("word"); } catch (const std::invalid_argument&) { parsed = -2; }
  show(parsed); //= -2
  return 0;
}
