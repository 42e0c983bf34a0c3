/** Structures of arrays, columns, rows in bytes, keys of several parts, groups. */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
struct Person { int id; std::string name; float score; bool operator<(const Person& o) const { return std::tie(name, id) < std::tie(o.name, o.id); } };
struct Soa { std::vector<float> x, y; std::vector<int> id; void push(float a, float b, int i) { x.push_back(a); y.push_back(b); id.push_back(i); } size_t size() const { return id.size(); } template <class F> void each(F f) { for (size_t i = 0; i < size(); i++) f(x[i], y[i], id[i]); } };
#pragma pack(push, 1)
struct Wire { uint8_t kind; uint32_t length; int16_t delta; };
#pragma pack(pop)
class Writer { std::vector<uint8_t> b_; public: template <class T> Writer& put(const T& x) { size_t n = b_.size(); b_.resize(n + sizeof(T)); std::memcpy(&b_[n], &x, sizeof(T)); return *this; } const std::vector<uint8_t>& bytes() const { return b_; } };
class Reader { const uint8_t* p_; public: explicit Reader(const std::vector<uint8_t>& v) : p_(v.data()) {} template <class T> T get() { T x; std::memcpy(&x, p_, sizeof x); p_ += sizeof x; return x; } };
int main() {
  std::vector<Person> people{{3, "eve", 2.5f}, {1, "bob", 3.5f}, {2, "bob", 1.0f}, {4, "ada", 4.0f}};
  std::sort(people.begin(), people.end());
  show(people[0].id * 1000 + people[1].id * 100 + people[2].id * 10 + people[3].id); //= 4123
  std::map<std::string, std::vector<const Person*>> groups;
  for (const auto& p : people) groups[p.name].push_back(&p);
  show(groups.size() * 10 + groups["bob"].size()); //= 32
  show(std::accumulate(groups["bob"].begin(), groups["bob"].end(), 0.f, [](float s, const Person* p) { return s + p->score; }) * 10); //= 45
  auto best = std::max_element(people.begin(), people.end(), [](const Person& a, const Person& b) { return a.score < b.score; });
  show(best->id); //= 4
  Soa s;
  for (int i = 0; i < 5; i++) s.push(i * 0.5f, i * i, i + 10);
  float sum = 0;
  s.each([&](float& x, float y, int id) { x += 1; sum += x * y + id; });
  show(sum * 2); //= 280
  show(s.x[4] * 10); //= 30
  show(sizeof(Wire)); //= 7
  Wire w{7, 1000, -3}, v;
  unsigned char raw[sizeof(Wire)];
  std::memcpy(raw, &w, sizeof w);
  std::memcpy(&v, raw, sizeof v);
  show(v.length + v.delta); //= 997
  show(raw[1] + raw[2] * 256); //= 1000
  Writer out;
  out.put<uint16_t>(513).put(2.5f).put<int64_t>(-7);
  show(out.bytes().size() * 100 + out.bytes()[1]); //= 1402
  Reader in(out.bytes());
  int first = in.get<uint16_t>();
  float f = in.get<float>();
  show(first * 10 + f * 2 + in.get<int64_t>()); //~ 5128
  std::map<std::tuple<int, char, bool>, int> keyed;
  keyed[{1, 'a', true}] = 5;
  keyed[std::make_tuple(1, 'a', false)] = 6;
  keyed[{0, 'z', true}] = 7;
  show(keyed.begin()->second * 10 + keyed.rbegin()->second); //= 75
  people.erase(std::remove_if(people.begin(), people.end(), [](const Person& p) { return p.score < 3; }), people.end());
  show(people.size() * 10 + people.back().id); //= 21
  return 0;
}
