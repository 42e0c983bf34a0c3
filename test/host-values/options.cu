/** Options that getopt and getopt_long find in command lines that the program holds. */
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <unistd.h>
static int grid = 1, block = 1, size = 0, times = 1, isOptimised = 0;
void parse(int argc, char* argv[]) {
  extern char* optarg;
  extern int optind;
  extern int opterr;
  opterr = 0;
  int letter;
  while ((letter = getopt(argc, argv, "og:b:r::")) != -1) {
    switch (letter) {
      case 'o': isOptimised = 1; break;
      case 'g': if (sscanf(optarg, "%d", &grid) < 1) exit(1); break;
      case 'b': block = atoi(optarg); break;
      case 'r': times = optarg ? atoi(optarg) : -1; break;
      default: exit(1);
    }
  }
  if (optind < argc) size = atoi(argv[optind]);
  else exit(1);
}
/** Digits of what comes out, one after the other. */
long all(int argc, char** argv, const char* letters) {
  long seen = 0;
  optind = 0;
  opterr = 0;
  for (int letter; (letter = getopt(argc, argv, letters)) != -1;) seen = seen * 1000 + letter;
  return seen;
}
int chosen, depth;
long longs(int argc, char** argv, const char* letters) {
  const struct option options[] = {{"depth", required_argument, nullptr, 'd'}, {"fast", no_argument, &chosen, 7},
    {"slow", no_argument, &chosen, 9}, {"level", optional_argument, nullptr, 'l'}, {"levels", no_argument, nullptr, 'L'}, {nullptr, 0, nullptr, 0}};
  long seen = 0;
  int at = -1;
  optind = 0;
  opterr = 0;
  for (int letter; (letter = getopt_long(argc, argv, letters, options, &at)) != -1;) {
    seen = seen * 1000 + letter;
    if (letter == 'd') depth = atoi(optarg);
    if (letter == 'l') depth = optarg ? atoi(optarg) : -1;
  }
  return seen * 10 + at;
}
int main() {
  char* line[] = {(char*)"program", (char*)"-og16", (char*)"4096", (char*)"-b", (char*)"128", (char*)"-r", (char*)"3", nullptr};
  parse(7, line);
  show(grid); //~ 16
  show(block); //~ 128
  show(times); //~ -1
  show(size); //~ 4096
  show(isOptimised); //= 1
  show(optind); //= 5
  show(atoi(line[6])); //= 3
  show(atoi(line[4])); //= 0
  char* alone[] = {(char*)"program", nullptr};
  show(all(1, alone, "x:")); //= 0
  show(optind); //= 1
  char* ended[] = {(char*)"program", (char*)"first", (char*)"-x", (char*)"--", (char*)"-y", nullptr};
  show(all(5, ended, "xy")); //= 120
  show(optind); //= 3
  show(ended[3][0]); //= 102
  char* unknown[] = {(char*)"program", (char*)"-q", (char*)"-x", nullptr};
  show(all(3, unknown, "x:")); //= 63063
  show(optopt); //= 120
  show(all(3, unknown, ":x:")); //= 63058
  char* plain[] = {(char*)"program", (char*)"-", (char*)"-x", (char*)"word", (char*)"-y", nullptr};
  show(all(5, plain, "+xy")); //= 0
  show(optind); //= 1
  show(all(5, plain, "-xy")); //= 1120001121
  char* words[] = {(char*)"program", (char*)"--depth=12", (char*)"name", (char*)"--fast", (char*)"-v", (char*)"--dep", (char*)"15", nullptr};
  show(longs(7, words, "v")); //= 1000001181000
  show(depth); //= 15
  show(chosen); //= 7
  show(optind); //= 6
  char* levels[] = {(char*)"program", (char*)"--level", (char*)"--level=5", (char*)"--lev", (char*)"--other", (char*)"--fast=2", (char*)"--depth", nullptr};
  show(longs(3, levels, "")); //= 1081083
  show(depth); //= 5
  show(longs(7, levels, "")); //= 1081080630630630700
  show(optind); //= 7
  show(longs(7, levels, ":")); //= 1081080630630630500
}
