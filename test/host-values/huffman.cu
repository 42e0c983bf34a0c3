/** Huffman codes: a heap of trees owned by pointers, codes of texts, bits that are packed. */
#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
struct Tree {
  char symbol = 0;
  int weight = 0;
  std::unique_ptr<Tree> left, right;
  Tree(char c, int w) : symbol(c), weight(w) {}
  Tree(std::unique_ptr<Tree> a, std::unique_ptr<Tree> b) : weight(a->weight + b->weight), left(std::move(a)), right(std::move(b)) {}
  bool isLeaf() const { return !left && !right; }
};
struct Heavier { bool operator()(const std::unique_ptr<Tree>& a, const std::unique_ptr<Tree>& b) const { return a->weight != b->weight ? a->weight > b->weight : a->symbol > b->symbol; } };
void assign(const Tree& t, const std::string& prefix, std::map<char, std::string>& codes) {
  if (t.isLeaf()) { codes[t.symbol] = prefix.empty() ? "0" : prefix; return; }
  assign(*t.left, prefix + '0', codes);
  assign(*t.right, prefix + '1', codes);
}
class BitWriter {
  std::vector<std::uint8_t> bytes_;
  int used_ = 0;
 public:
  void put(bool bit) {
    if (used_ % 8 == 0) bytes_.push_back(0);
    if (bit) bytes_.back() |= 1u << (7 - used_ % 8);
    ++used_;
  }
  BitWriter& operator<<(const std::string& code) { for (char c : code) put(c == '1'); return *this; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  int size() const { return used_; }
};
int main() {
  const std::string text = "she sells sea shells on the sea shore";
  std::map<char, int> counts;
  for (char c : text) ++counts[c];
  show(counts.size() * 100 + counts['s']); //= 1008
  std::vector<std::unique_ptr<Tree>> heap;
  for (auto [c, n] : counts) heap.push_back(std::make_unique<Tree>(c, n));
  std::make_heap(heap.begin(), heap.end(), Heavier{});
  while (heap.size() > 1) {
    std::pop_heap(heap.begin(), heap.end(), Heavier{});
    auto a = std::move(heap.back());
    heap.pop_back();
    std::pop_heap(heap.begin(), heap.end(), Heavier{});
    auto b = std::move(heap.back());
    heap.pop_back();
    heap.push_back(std::make_unique<Tree>(std::move(a), std::move(b)));
    std::push_heap(heap.begin(), heap.end(), Heavier{});
  }
  auto root = std::move(heap.front());
  show(root->weight); //= 37
  std::map<char, std::string> codes;
  assign(*root, "", codes);
  show(codes['s'].size() * 10 + codes['h'].size()); //= 23
  show(std::stoi(codes[' '], nullptr, 2)); //= 7
  int bits = 0;
  for (char c : text) bits += codes[c].size();
  show(bits); //= 112
  BitWriter out;
  for (char c : text) out << codes[c];
  show(out.size() * 10 + out.bytes().size() % 10); //= 1124
  unsigned hash = 2166136261u;
  for (auto b : out.bytes()) hash = (hash ^ b) * 16777619u;
  show(hash); //= 2964186160
  std::string back;
  const Tree* at = root.get();
  for (int i = 0; i < out.size(); ++i) {
    at = (out.bytes()[i / 8] >> (7 - i % 8)) & 1 ? at->right.get() : at->left.get();
    if (at->isLeaf()) { back += at->symbol; at = root.get(); }
  }
  show(back == text); //= 1
  std::vector<std::pair<int, char>> lengths;
  for (auto& [c, code] : codes) lengths.emplace_back(code.size(), c);
  std::sort(lengths.begin(), lengths.end());
  unsigned code = 0;
  int length = lengths[0].first;
  std::map<char, unsigned> canonical;
  for (auto [l, c] : lengths) { code <<= l - length; length = l; canonical[c] = code++; }
  show(canonical['o'] * 1000 + canonical['t']); //= 29030
  show(std::bitset<8>(canonical['n']).count()); //= 5
  double kraft = 0;
  for (auto [l, c] : lengths) kraft += 1.0 / (1 << l);
  show(kraft * 1000); //= 1000
  std::unordered_map<std::string, char> decode;
  for (const auto& kv : codes) decode.emplace(kv.second, kv.first);
  show(decode.at(codes['e'])); //= 101
  return 0;
}
