/** Texts: words, counts, suffixes, numbers. */
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
std::vector<std::string> split(const std::string& s, char by) {
  std::vector<std::string> out;
  size_t at = 0, next;
  while ((next = s.find(by, at)) != std::string::npos) { out.push_back(s.substr(at, next - at)); at = next + 1; }
  out.push_back(s.substr(at));
  return out;
}
std::string joined(const std::vector<std::string>& v, const std::string& by) {
  std::string out;
  for (size_t i = 0; i < v.size(); i++) { if (i) out += by; out += v[i]; }
  return out;
}
int main() {
  std::string text = "the quick brown fox jumps over the lazy dog and the cat";
  std::map<std::string, int> counts;
  std::istringstream words(text);
  std::string w;
  while (words >> w) counts[w]++;
  show(counts["the"]); //= 3
  show(counts.size()); //= 10
  show(counts.begin()->first.size()); //= 3
  auto parts = split("a,bb,,ccc", ',');
  show(parts.size() * 100 + parts[3].size()); //= 403
  show(joined(parts, "--").size()); //= 12
  std::string up = text;
  std::transform(up.begin(), up.end(), up.begin(), ::toupper);
  show(up[4] * 1000 + text[4]); //= 81113
  std::vector<int> suffixes(text.size());
  for (size_t i = 0; i < suffixes.size(); i++) suffixes[i] = i;
  std::sort(suffixes.begin(), suffixes.end(), [&](int a, int b) { return text.compare(a, std::string::npos, text, b, std::string::npos) < 0; });
  show(suffixes[0] * 100 + suffixes[54]); //= 4337
  std::unordered_map<char, int> letters;
  for (char c : text) if (std::isalpha(c)) letters[c]++;
  show(letters.size()); //= 26
  show(letters['o']); //= 4
  std::string digits;
  for (int n = 6174; n; n /= 10) digits.insert(digits.begin(), char('0' + n % 10));
  show(std::stoi(digits) + digits.size()); //= 6178
  std::reverse(digits.begin(), digits.end());
  show(std::stol(digits)); //= 4716
  show(std::stod("3.25") * 100); //= 325
  show(std::strtol("ff", nullptr, 16) + std::stoul("777", nullptr, 8)); //= 766
  std::ostringstream out;
  out << "n=" << 42 << ',' << 1.5 << '\n';
  show(out.str().size()); //~ 9
  std::string rle;
  std::string source = "aaabccdddd";
  for (size_t i = 0; i < source.size();) { size_t j = i; while (j < source.size() && source[j] == source[i]) j++; rle += source[i] + std::to_string(j - i); i = j; }
  show(rle.size()); //= 8
  show(rle == "a3b1c2d4"); //= 1
  text.erase(0, 4);
  text.replace(text.find("fox"), 3, "wolves");
  show(text.find("wolves") * 100 + text.size()); //= 1254
  show(std::string(3, 'x').append("yz").back()); //= 122
  std::set<std::string> unique(parts.begin(), parts.end());
  show(unique.count("bb") * 10 + unique.size()); //= 14
  show(std::string("abc") < std::string("abd")); //= 1
  show(text.starts_with("quick") + 2 * text.ends_with("cat")); //= 3
  return 0;
}
