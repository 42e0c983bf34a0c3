/** Matrices that are read from texts, as files in coordinate form would be. */
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
namespace io {
struct ParseError : std::runtime_error {
  int line;
  ParseError(int line, const std::string& what) : std::runtime_error(what + " in line " + std::to_string(line)), line(line) {}
};
struct Entry { int row, col; double value; };
struct Matrix { int rows = 0, cols = 0; bool symmetric = false; std::vector<Entry> entries; };
std::string lower(std::string s) { for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c))); return s; }
Matrix parse(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  int number = 0;
  Matrix m;
  if (!std::getline(in, line)) throw ParseError(0, "empty");
  ++number;
  std::istringstream header(line);
  std::string banner, object, format, field, symmetry;
  header >> banner >> object >> format >> field >> symmetry;
  if (banner != "%%MatrixMarket") throw ParseError(number, "no banner");
  m.symmetric = lower(symmetry) == "symmetric";
  std::size_t expected = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.empty() || line[0] == '%') continue;
    std::istringstream fields(line);
    if (m.rows == 0) { fields >> m.rows >> m.cols >> expected; continue; }
    Entry e{};
    fields >> e.row >> e.col >> e.value;
    if (e.row < 1 || e.row > m.rows) throw ParseError(number, "row out of range");
    --e.row; --e.col;
    m.entries.push_back(e);
    if (m.symmetric && e.row != e.col) m.entries.push_back({e.col, e.row, e.value});
  }
  return m;
}
}
const char* kText = R"(%%MatrixMarket matrix coordinate real Symmetric
% a comment
4 4 5
1 1 2.5
2 1 -1
3 3 4
4 2 0.75
4 4 1e2
)";
int main() {
  io::Matrix m = io::parse(kText);
  show(m.rows * 10 + m.cols); //= 44
  show(m.entries.size()); //= 7
  double sum = 0;
  for (const auto& e : m.entries) sum += e.value * (1 + e.row * m.cols + e.col);
  show(sum * 100); //= 165600
  std::vector<double> dense(m.rows * m.cols, 0.0);
  for (const auto& e : m.entries) dense[e.row * m.cols + e.col] += e.value;
  show(dense[1] * 1000 + dense[7] * 100); //= -925
  int caught = 0;
  try { io::parse("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n"); } catch (const io::ParseError& e) { caught = e.line; }
  show(caught); //= 3
  std::size_t length = 0;
  try { io::parse("hello world"); } catch (const std::exception& e) { length = std::strlen(e.what()); }
  show(length); //~ 19
  std::stringstream table;
  table << "name,score\nann,12\nbob,7\ncid,30\n";
  std::string row;
  std::getline(table, row);
  std::map<std::string, int> scores;
  while (std::getline(table, row)) {
    const auto comma = row.find(',');
    scores[row.substr(0, comma)] = std::stoi(row.substr(comma + 1));
  }
  show(scores["ann"] * 100 + scores["cid"]); //= 1230
  int code = 0;
  for (const auto& [name, score] : scores) code = code * 31 + name[1] + score;
  show(code); //= 121035
  std::ostringstream os;
  os << "[" << m.rows << "x" << m.cols << "] " << 3.5 << ' ' << true;
  show(os.str().size()); //= 11
  show(os.str()[1] * 1000 + os.str().back()); //= 52049
  std::istringstream words("  one two   three\tfour\nfive ");
  std::string word;
  int count = 0, letters = 0;
  while (words >> word) { ++count; letters += word.size(); }
  show(count * 100 + letters); //= 519
  std::istringstream list("3;14;15;92");
  std::vector<int> parts;
  for (std::string token; std::getline(list, token, ';');) parts.push_back(std::atoi(token.c_str()));
  show(parts[0] * 1000 + parts[3] * 10 + parts.size()); //= 3924
  int a = 0, b = 0;
  char op = 0;
  std::istringstream("12 * 7") >> a >> op >> b;
  show(a * b + op); //= 126
  int x = 0, y = 0, z = 0;
  show(std::sscanf("v 10/20/30", "v %d/%d/%d", &x, &y, &z)); //= 3
  show(x + y * 2 + z * 3); //= 140
  char buffer[32];
  show(std::snprintf(buffer, sizeof buffer, "%03d-%s-%.2f", 7, "ab", 2.344)); //= 11
  show(buffer[2] * 100 + buffer[8]); //= 5546
  return 0;
}
