/** Two pointers in braces are the ends of a range where they make no elements. */
#include <string>
#include <vector>
struct Options { int n = 1; Options(std::vector<std::string> words) { for (size_t i = 1; i < words.size(); i++) n += (int)words[i].size(); } };
int main() {
  const char* words[] = {"run", "fast", "again"};
  int a[6] = {1, 2, 3, 4, 5, 6};
  std::vector<int> some{a, a + 4}, two{3, 4};
  show(some.size() * 10 + two.size()); //= 42
  show(some[3] * 10 + two[1]); //= 44
  float f[2];
  std::vector<float*> pointers{f, f + 1};
  show(pointers.size()); //= 2
  std::vector<std::string> both{"a", "bcd"}, all{words, words + 3};
  show(both.size() * 10 + all.size()); //= 23
  show(all[2].size()); //= 5
  auto options = Options({words, words + 3});
  show(options.n); //= 10
  std::vector<int> copied{some.begin() + 1, some.end()};
  show(copied.size() * 10 + copied[0]); //= 32
}
