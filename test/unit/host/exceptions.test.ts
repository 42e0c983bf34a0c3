/** What is thrown and caught in host code (values of g++). */
import { check } from './check-contents';

describe('exceptions of the host', () => {
  it('go to the handler that takes their type', () => {
    check(`
__global__ void k(int n) {}
struct Bad : std::runtime_error { int rank; explicit Bad(int r) : std::runtime_error("bad"), rank(r) {} };
int checked(int n) {
  if (n < 0) throw std::invalid_argument("negative");
  if (n > 9) throw Bad(n);
  return n;
}
int tried(int n) {
  try {
    return checked(n);
  } catch (const Bad& e) {
    return e.rank * 10;
  } catch (const std::exception&) {
    return -1;
  }
}
int main() {
  for (int n : {5, -2, 20}) k<<<1, 32>>>(tried(n)); //= n: 5; n: -1; n: 200
}`);
  });

  it('end what was declared on the way, and may be thrown again', () => {
    check(`
__global__ void k(int n, int m) {}
static int open = 0;
struct Guard { Guard() { open++; } ~Guard() { open--; } };
void fail(int code) { Guard g; throw code; }
int main() {
  int n = 1;
  try {
    Guard outer;
    try {
      n = 2;
      fail(40);
      n = 3;
    } catch (int code) {
      n += code;
      throw;
    }
  } catch (...) {
    n += 100;
  }
  k<<<1, 32>>>(n, open); //= n: 142, m: 0
}`);
  });

  it('lead to no other end of a program that launches none behind them', () => {
    check(`
__global__ void k(int n) {}
int total;
void note(int value) {
  if (value < total) throw "not in order";
  total = value;
}
void test(int kind, char** argv) {
  for (int pass = 0; pass < 2; pass++) {
    k<<<1, 32>>>(kind + pass); //= n: 10; n: 11; n: 20; n: 21
    if (atoi(argv[1]) > 3) return;
    note(pass);
  }
}
int main(int argc, char** argv) {
  try {
    test(10, argv);
    total = 0;
    test(20, argv);
  } catch (...) {
    return 1;
  }
}`);
  });

  it('of the library, and none where it is not known whether it is thrown', () => {
    check(`
__global__ void k(int n) {}
int main(int argc, char** argv) {
  std::vector<int> v{1, 2};
  int n = 0;
  try { n = v.at(5); } catch (const std::out_of_range&) { n = 7; }
  try { n += std::stoi("word"); } catch (const std::logic_error&) { n += 10; }
  k<<<1, 32>>>(n); //= n: 17
  try { if (atoi(argv[1]) > 3) throw 1; n = 5; } catch (int) { n = 6; }
  k<<<1, 32>>>(n); //= n: 5
}`);
  });
});
