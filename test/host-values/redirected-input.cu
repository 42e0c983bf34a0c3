/** A file in the place of the standard input, as programs of contests have it. */
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
int main() {
  if (!freopen("files.txt", "r", stdin)) return 1;
  int a, b;
  std::cin >> a >> b;
  show(a * 10 + b); //= 43
  std::string line;
  std::getline(std::cin, line);
  std::getline(std::cin, line);
  show(line.size()); //= 5
  std::fstream in("files.txt", std::ios::in);
  in >> a;
  show(a); //= 4
  return 0;
}
