// nvcc: -std=c++20
// A tiny columnar query engine: the predicate is an expression tree on the host, compiled by a
// recursive visitor to postfix code that an interpreter kernel runs over the rows. Then selection
// vector, late materialisation of typed columns, dictionary LIKE, grouped aggregation.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

void expect(cudaError_t code, const char* text) {
  if (code != cudaSuccess) {
    std::fprintf(stderr, "%s failed: %s\n", text, cudaGetErrorString(code));
    std::exit(EXIT_FAILURE);
  }
}
template <typename T>
class Column {
 public:
  explicit Column(std::size_t rows) : rows_(rows) { expect(cudaMalloc(&data_, rows * sizeof(T)), "column"); }
  explicit Column(std::span<const T> host) : Column(host.size()) {
    expect(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "column upload");
  }
  Column(Column&& o) noexcept : data_(std::exchange(o.data_, nullptr)), rows_(o.rows_) {}
  Column(const Column&) = delete;
  ~Column() { cudaFree(data_); }
  void zero() { expect(cudaMemset(data_, 0, rows_ * sizeof(T)), "memset"); }
  T* data() const { return data_; }
  std::vector<T> fetch(std::size_t count) const {
    std::vector<T> h(count);
    expect(cudaMemcpy(h.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost), "fetch");
    return h;
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
};

enum class Op : std::uint8_t { literal, quantity, price, discount, day, product_flag, add, mul, less, land, lor };

struct Instruction {
  Op op;
  std::int32_t operand;
};

constexpr int kMaxCode = 64;
__constant__ Instruction g_code[kMaxCode];

// Columns of the fact table, by value to the kernels.
struct FactTable {
  const std::int32_t* quantity;
  const std::int32_t* price;
  const std::int8_t* discount;
  const std::int32_t* day;
  const std::uint16_t* store;
  const std::int32_t* product;
  int rows;
};
// ---- expression tree --------------------------------------------------------------------
struct Node;
using NodePtr = std::unique_ptr<Node>;
struct Node {
  Op op;
  std::int32_t value = 0;
  NodePtr left;
  NodePtr right;
};
NodePtr leaf(Op op, std::int32_t v = 0) {
  auto n = std::make_unique<Node>();
  n->op = op;
  n->value = v;
  return n;
}
NodePtr lit(std::int32_t v) { return leaf(Op::literal, v); }
NodePtr binary(Op op, NodePtr a, NodePtr b) {
  auto n = leaf(op);
  n->left = std::move(a);
  n->right = std::move(b);
  return n;
}
NodePtr operator+(NodePtr a, NodePtr b) { return binary(Op::add, std::move(a), std::move(b)); }
NodePtr operator*(NodePtr a, NodePtr b) { return binary(Op::mul, std::move(a), std::move(b)); }
NodePtr operator<(NodePtr a, NodePtr b) { return binary(Op::less, std::move(a), std::move(b)); }
NodePtr operator&&(NodePtr a, NodePtr b) { return binary(Op::land, std::move(a), std::move(b)); }
NodePtr operator||(NodePtr a, NodePtr b) { return binary(Op::lor, std::move(a), std::move(b)); }

void compile(const Node& n, std::vector<Instruction>& code) {
  if (n.left) compile(*n.left, code);
  if (n.right) compile(*n.right, code);
  code.push_back({n.op, n.value});
}
// ---- kernels ----------------------------------------------------------------------------
__global__ void like_prefix(const char* __restrict__ text, const int* __restrict__ offsets, int strings, char c0, char c1,
                            std::uint8_t* __restrict__ flag) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= strings) return;
  const int begin = offsets[s];
  const int length = offsets[s + 1] - begin;
  flag[s] = length >= 2 && text[begin] == c0 && text[begin + 1] == c1;
}

__global__ void filter_rows(FactTable t, const std::uint8_t* __restrict__ product_flag, int code_length,
                            std::uint32_t* __restrict__ bitmap) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  std::int32_t stack[8];
  int top = 0;
  bool keep = false;
  if (row < t.rows) {
    for (int pc = 0; pc < code_length; ++pc) {
      const Instruction in = g_code[pc];
      switch (in.op) {
        case Op::literal:
          stack[top++] = in.operand;
          break;
        case Op::quantity:
          stack[top++] = t.quantity[row];
          break;
        case Op::price:
          stack[top++] = t.price[row];
          break;
        case Op::discount:
          stack[top++] = t.discount[row];
          break;
        case Op::day:
          stack[top++] = t.day[row];
          break;
        case Op::product_flag:
          stack[top++] = product_flag[t.product[row]];
          break;
        default: {
          const std::int32_t b = stack[--top];
          const std::int32_t a = stack[--top];
          std::int32_t r = 0;
          if (in.op == Op::add) r = a + b;
          if (in.op == Op::mul) r = a * b;
          if (in.op == Op::less) r = a < b;
          if (in.op == Op::land) r = a && b;
          if (in.op == Op::lor) r = a || b;
          stack[top++] = r;
        }
      }
    }
    keep = stack[0] != 0;
  }
  const std::uint32_t word = __ballot_sync(0xffffffffu, keep);
  if ((threadIdx.x & 31) == 0)
    bitmap[row >> 5] = word;
}
// A single block turns the bitmap words into exclusive offsets.
__global__ void __launch_bounds__(1024) offsets_from_bitmap(const std::uint32_t* __restrict__ bitmap, int words,
                                                           int* __restrict__ offset, int* __restrict__ selected) {
  __shared__ int warp_total[32];
  __shared__ int carry;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  for (int base = 0; base < words; base += 1024) {
    const int w = base + threadIdx.x;
    const int count = w < words ? __popc(bitmap[w]) : 0;
    int scan = count;
    for (int d = 1; d < 32; d *= 2) {
      const int t = __shfl_up_sync(0xffffffffu, scan, d);
      if (lane >= d) scan += t;
    }
    if (lane == 31) warp_total[warp] = scan;
    __syncthreads();
    int before = carry;
    for (int k = 0; k < warp; ++k) before += warp_total[k];
    if (w < words)
      offset[w] = before + scan - count;
    __syncthreads();
    if (threadIdx.x == 1023) carry = before + scan;
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *selected = carry;
}

// Thread per bitmap word, serial over its set bits.
__global__ void selection_vector(const std::uint32_t* __restrict__ bitmap, const int* __restrict__ offset, int words,
                                 int* __restrict__ rows) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= words) return;
  std::uint32_t bits = bitmap[w];
  int at = offset[w];
  while (bits != 0) {
    rows[at++] = w * 32 + __ffs(bits) - 1;
    bits &= bits - 1;
  }
}

template <typename T>
__global__ void materialise(const T* __restrict__ column, const int* __restrict__ rows, int count, T* __restrict__ out) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    out[i] = column[rows[i]];
}

struct GroupRow {
  unsigned long long revenue;
  unsigned int orders;
  int max_quantity;
};

template <int Stores>
__global__ void aggregate(const std::uint16_t* __restrict__ store, const std::int32_t* __restrict__ quantity,
                          const std::int32_t* __restrict__ price, const std::int8_t* __restrict__ discount, int count,
                          GroupRow* __restrict__ groups) {
  __shared__ unsigned long long revenue[Stores];
  __shared__ unsigned int orders[Stores];
  __shared__ int largest[Stores];
  for (int g = threadIdx.x; g < Stores; g += blockDim.x) {
    revenue[g] = 0;
    orders[g] = 0;
    largest[g] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int g = store[i];
    const int q = quantity[i];
    atomicAdd(&revenue[g], static_cast<unsigned long long>(q) * price[i] * (100 - discount[i]));
    atomicAdd(&orders[g], 1u);
    atomicMax(&largest[g], q);
  }
  __syncthreads();
  for (int g = threadIdx.x; g < Stores; g += blockDim.x) {
    if (orders[g] != 0) {
      atomicAdd(&groups[g].revenue, revenue[g]);
      atomicAdd(&groups[g].orders, orders[g]);
      atomicMax(&groups[g].max_quantity, largest[g]);
    }
  }
}
using AnyColumn = std::variant<const Column<std::int32_t>*, const Column<std::int8_t>*, const Column<std::uint16_t>*>;
using AnyResult = std::variant<Column<std::int32_t>, Column<std::int8_t>, Column<std::uint16_t>>;

AnyResult late_materialise(const AnyColumn& any, const int* rows, int count) {
  return std::visit(
      [&](auto column) -> AnyResult {
        using T = std::remove_pointer_t<decltype(column->data())>;
        Column<T> out(count > 0 ? count : 1);
        materialise<T><<<132, 256>>>(column->data(), rows, count, out.data());
        expect(cudaGetLastError(), "materialise");
        return out;
      },
      any);
}

}  // namespace

int main() {
  constexpr int rows = 500003;
  constexpr int stores = 400;
  constexpr int products = 3000;
  std::mt19937 rng(4242);
  std::vector<std::int32_t> quantity(rows), price(rows), day(rows), product(rows);
  std::vector<std::int8_t> discount(rows);
  std::vector<std::uint16_t> store(rows);
  for (int r = 0; r < rows; ++r) {
    quantity[r] = 1 + rng() % 50;
    price[r] = 100 + rng() % 9900;
    discount[r] = static_cast<std::int8_t>(rng() % 11);
    day[r] = r / 1000 + rng() % 30;
    store[r] = static_cast<std::uint16_t>((rng() % stores) * (rng() % stores) / stores);
    product[r] = rng() % products;
  }
  std::string text;
  std::vector<int> offsets{0};
  for (int p = 0; p < products; ++p) {
    const int length = 1 + rng() % 14;
    for (int c = 0; c < length; ++c)
      text.push_back(static_cast<char>('a' + rng() % 3));
    offsets.push_back(static_cast<int>(text.size()));
  }
  Column<std::int32_t> d_quantity(quantity), d_price(price), d_day(day), d_product(product);
  Column<std::int8_t> d_discount(discount);
  Column<std::uint16_t> d_store(store);
  Column<char> d_text(std::span<const char>(text.data(), text.size()));
  Column<int> d_offsets(offsets);
  const FactTable table{d_quantity.data(), d_price.data(), d_discount.data(), d_day.data(), d_store.data(), d_product.data(), rows};
  // (day in [60, 360) and quantity * price < 120000 and LIKE 'ab%') or 8 < discount + 0
  NodePtr where = (leaf(Op::day) < lit(360) && lit(59) < leaf(Op::day) && leaf(Op::quantity) * leaf(Op::price) < lit(120000) &&
                   leaf(Op::product_flag)) ||
                  (lit(8) < leaf(Op::discount) + lit(0));
  std::vector<Instruction> code;
  compile(*where, code);
  if (code.size() > kMaxCode) return EXIT_FAILURE;
  expect(cudaMemcpyToSymbol(g_code, code.data(), code.size() * sizeof(Instruction)), "code");
  const int words = (rows + 31) / 32;
  const int filter_blocks = (rows + 255) / 256;
  Column<std::uint8_t> flag(products);
  Column<std::uint32_t> bitmap(filter_blocks * 8);
  Column<int> word_offset(words);
  Column<int> selection(rows);
  Column<int> selected(1);
  Column<GroupRow> groups(stores);
  groups.zero();

  like_prefix<<<(products + 127) / 128, 128>>>(d_text.data(), d_offsets.data(), products, 'a', 'b', flag.data());
  filter_rows<<<filter_blocks, 256>>>(table, flag.data(), static_cast<int>(code.size()), bitmap.data());
  offsets_from_bitmap<<<1, 1024>>>(bitmap.data(), words, word_offset.data(), selected.data());
  selection_vector<<<(words + 127) / 128, 128>>>(bitmap.data(), word_offset.data(), words, selection.data());
  expect(cudaGetLastError(), "selection");
  const int count = selected.fetch(1)[0];

  const std::array<AnyColumn, 4> wanted = {&d_store, &d_quantity, &d_price, &d_discount};
  std::vector<AnyResult> got;
  for (const AnyColumn& c : wanted) got.push_back(late_materialise(c, selection.data(), count));
  aggregate<stores><<<64, 256>>>(std::get<Column<std::uint16_t>>(got[0]).data(), std::get<Column<std::int32_t>>(got[1]).data(),
                                 std::get<Column<std::int32_t>>(got[2]).data(), std::get<Column<std::int8_t>>(got[3]).data(), count,
                                 groups.data());
  expect(cudaGetLastError(), "aggregate");
  expect(cudaDeviceSynchronize(), "query");
  // reference
  std::vector<GroupRow> want(stores, GroupRow{0, 0, 0});
  std::vector<int> want_rows;
  for (int r = 0; r < rows; ++r) {
    const std::string_view name(text.data() + offsets[product[r]], offsets[product[r] + 1] - offsets[product[r]]);
    const bool like = name.substr(0, 2) == "ab";
    if ((day[r] < 360 && 59 < day[r] && quantity[r] * price[r] < 120000 && like) || 8 < discount[r]) {
      want_rows.push_back(r);
      GroupRow& g = want[store[r]];
      g.revenue += static_cast<unsigned long long>(quantity[r]) * price[r] * (100 - discount[r]);
      ++g.orders;
      g.max_quantity = std::max(g.max_quantity, quantity[r]);
    }
  }
  int bad = count != static_cast<int>(want_rows.size());
  if (!bad) bad += selection.fetch(count) != want_rows;
  const auto result = groups.fetch(stores);
  for (int g = 0; g < stores; ++g) {
    bad += result[g].revenue != want[g].revenue || result[g].orders != want[g].orders;
    bad += result[g].max_quantity != want[g].max_quantity;
  }
  std::printf("%zu instructions, %d of %d rows, %d errors: %s\n", code.size(), count, rows, bad, bad == 0 ? "PASS" : "FAIL");
  return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
