/** Methods of the host that the class of an object chooses. */
import { check, upload } from './check-contents';

describe('virtual methods of the host', () => {
  it('calls through a base the method of the class that the object is of', () => {
    check(`
__global__ void k(int n) {}
struct Size {
  virtual int of() const { return 1; }
  virtual int twice() const { return 2 * of(); }
  virtual int fixed() const { return 3; }
};
struct Large : Size { int of() const override { return 100; } };
int by(const Size& size) { return size.of(); }
int main() {
  Large large;
  Size* size = new Large();
  int n = size->of();
  k<<<1, 32>>>(n); //= n: 100
  k<<<1, 32>>>(size->fixed()); //= n: 3
  k<<<1, 32>>>(large.of()); //= n: 100
  Size* plain = new Size;
  k<<<1, 32>>>(10 * plain->twice() + plain->Size::of()); //= n: 21
  k<<<1, 32>>>(by(*size) + by(*plain)); //= n: 101
  Size cut = *(Large*)size;
  k<<<1, 32>>>(cut.of()); //= n: 1
  k<<<1, 32>>>(size->twice()); //= n: 200
}`);
  });

  it('which method is called where the class is not known', () => {
    check(`
__global__ void k(int n) {}
struct Size { virtual int of() const { return 1; } };
struct Large : Size { int of() const override { return 100; } };
int main() {
  int isLarge;
  std::cin >> isLarge;
  Size* sizes[2] = {new Size(), new Large()};
  Size* size = sizes[isLarge & 1];
  int n = size->of();
  k<<<1, 32>>>(n); //= n: ?
  Size* same = (Size*)malloc(sizeof(Size));
  k<<<1, 32>>>(same->of()); //= n: ?
}`);
  });

  it('launches from methods that a loop calls for objects of several classes', () => {
    check(`
__global__ void k(const int* a, int n) {}
${upload}
class Format {
 public:
  explicit Format(int rows) : rows_(rows) {}
  virtual ~Format() = default;
  virtual void apply(std::vector<int>& log) const = 0;
 protected:
  int rows_;
};
template <int C> class Sliced final : public Format {
  std::vector<int> width_;
 public:
  explicit Sliced(int rows) : Format(rows), width_(rows / C, C) {}
  void apply(std::vector<int>& log) const override {
    k<<<1, 32>>>(up(width_), rows_); //= a: 4 4, n: 8; a: 2 2 2 2, n: 9
    log.push_back(C);
  }
};
struct Plain : Format {
  int extra = 5;
  Plain() : Format(3) {}
  void apply(std::vector<int>& log) const override;
};
void Plain::apply(std::vector<int>& log) const {
  log.push_back(extra + rows_);
  k<<<1, 32>>>(up(log), extra); //= a: 4 2 8, n: 5
}
int main() {
  std::vector<std::unique_ptr<Format>> all;
  all.emplace_back(new Sliced<4>(8));
  all.push_back(std::make_unique<Sliced<2>>(9));
  all.emplace_back(new Plain());
  std::vector<int> log;
  for (const auto& each : all) each->apply(log);
  k<<<1, 32>>>(up(log), (int)log.size()); //= a: 4 2 8, n: 3
}`);
  });
});
