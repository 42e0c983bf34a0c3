/** `getopt` and `getopt_long`, for programs that hold the command line they read. */
export const hostOptions = `
char* optarg;
int optind = 1;
int opterr = 1;
int optopt;
int __option_at;
const int no_argument = 0;
const int required_argument = 1;
const int optional_argument = 2;
struct option { const char* name; int has_arg; int* flag; int val; };
void __next_option(int argc, char** argv) {
  if (__option_at == 0) while (optind < argc && (argv[optind][0] != '-' || argv[optind][1] == 0)) ++optind;
}
int getopt(int argc, char** argv, const char* letters) {
  __next_option(argc, argv);
  if (optind >= argc) return -1;
  char* word = argv[optind];
  if (__option_at == 0) {
    if (word[1] == '-' && word[2] == 0) { ++optind; return -1; }
    __option_at = 1;
  }
  char c = word[__option_at];
  ++__option_at;
  const char* p = letters;
  while (*p != 0 && (*p != c || c == ':')) ++p;
  int result = *p == 0 ? '?' : c;
  bool ends = word[__option_at] == 0;
  if (*p != 0 && p[1] == ':') {
    if (!ends) optarg = word + __option_at;
    else if (p[2] == ':') optarg = 0;
    else if (optind + 1 < argc) { ++optind; optarg = argv[optind]; }
    else result = '?';
    ends = true;
  }
  if (ends) { ++optind; __option_at = 0; }
  return result;
}
int getopt_long(int argc, char** argv, const char* letters, const option* longs, int* at) {
  __next_option(argc, argv);
  if (optind >= argc || __option_at != 0 || argv[optind][1] != '-' || argv[optind][2] == 0) return getopt(argc, argv, letters);
  char* word = argv[optind] + 2;
  ++optind;
  size_t n = 0;
  while (word[n] != 0 && word[n] != '=') ++n;
  for (int k = 0; longs[k].name != 0; ++k) {
    if (strncmp(longs[k].name, word, n) != 0 || longs[k].name[n] != 0) continue;
    if (at) *at = k;
    optarg = 0;
    if (word[n] == '=') optarg = word + n + 1;
    else if (longs[k].has_arg == 1 && optind < argc) { optarg = argv[optind]; ++optind; }
    if (!longs[k].flag) return longs[k].val;
    *longs[k].flag = longs[k].val;
    return 0;
  }
  return '?';
}
`;
