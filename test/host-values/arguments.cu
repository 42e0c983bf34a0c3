/** A command line that the program holds, and a text of settings. */
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>
struct Options { int n = 1024, block = 256; std::string mode = "fast"; bool verbose = false; std::vector<int> sizes; float scale = 1; };
Options parsed(int argc, const char* const* argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    if (a == "-n" && i + 1 < argc) o.n = std::atoi(argv[++i]);
    else if (a.rfind("--block=", 0) == 0) o.block = std::stoi(a.substr(8));
    else if (a == "--mode") o.mode = argv[++i];
    else if (!std::strcmp(argv[i], "-v")) o.verbose = true;
    else if (a.compare(0, 8, "--sizes=") == 0) {
      std::stringstream list(a.substr(8));
      std::string item;
      while (std::getline(list, item, ',')) o.sizes.push_back(std::stoi(item));
    } else if (auto at = a.find('='); at != std::string::npos && a.substr(0, at) == "scale") o.scale = std::strtof(a.c_str() + at + 1, nullptr);
  }
  return o;
}
std::string trimmed(const std::string& s) {
  size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}
int main() {
  const char* argv[] = {"program", "-n", "4096", "--block=128", "--mode", "exact", "-v", "--sizes=3,14,15", "scale=2.5"};
  Options o = parsed(9, argv);
  show(o.n); //= 4096
  show(o.block); //= 128
  show(o.mode.size() + (o.mode == "exact" ? 100 : 0)); //= 105
  show(o.verbose); //= 1
  show(o.sizes.size() * 100 + o.sizes[2]); //= 315
  show(o.scale * 100); //= 250
  std::istringstream text("width = 640\n# comment\nheight= 480\n\n depth =3 \nname = test run\n");
  std::map<std::string, std::string> settings;
  std::string line;
  while (std::getline(text, line)) {
    if (line.empty() || line[0] == '#') continue;
    auto eq = line.find('=');
    if (eq == std::string::npos) continue;
    settings[trimmed(line.substr(0, eq))] = trimmed(line.substr(eq + 1));
  }
  show(settings.size()); //= 4
  show(std::stoi(settings["width"]) * std::stoi(settings["height"])); //= 307200
  show(std::stoi(settings.at("depth"))); //= 3
  show(settings["name"].length()); //= 8
  show(settings.count("missing")); //= 0
  int a, b; char c;
  std::sscanf("17x29", "%d%c%d", &a, &c, &b);
  show(a * b + (c == 'x')); //= 494
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%03d-%s", 7, "ab");
  show(std::strlen(buffer) + buffer[2]); //= 61
  show(std::to_string(12345).size()); //= 5
  char words[] = "one two  three";
  int n = 0;
  for (char* w = std::strtok(words, " "); w; w = std::strtok(nullptr, " ")) n = n * 10 + std::strlen(w);
  show(n); //= 335
  return 0;
}
