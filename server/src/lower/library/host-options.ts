/**
 * `getopt` and `getopt_long`, for programs that hold the command line they read: as glibc does, which moves what is no option behind the options
 * (`+` in front of the letters ends at the first of these, `-` gives them one by one).
 */
export const hostOptions = `
char* optarg;
int optind = 1;
int opterr = 1;
int optopt;
char* __option_at;
// words that are no options and were passed over: [first, end)
int __plain_first = 1;
int __plain_end = 1;
const int no_argument = 0;
const int required_argument = 1;
const int optional_argument = 2;
struct option { const char* name; int has_arg; int* flag; int val; };
bool __is_plain(const char* word) { return word[0] != '-' || word[1] == 0; }
bool __ends_options(const char* word) { return word[0] == '-' && word[1] == '-' && word[2] == 0; }
void __plain_behind(char** argv) {
  for (int k = __plain_end; k < optind; ++k) {
    char* word = argv[k];
    int to = k - (__plain_end - __plain_first);
    for (int j = k; j > to; --j) argv[j] = argv[j - 1];
    argv[to] = word;
  }
  __plain_first += optind - __plain_end;
  __plain_end = optind;
}
void __gather_plain(char** argv) {
  if (__plain_first != __plain_end && __plain_end != optind) __plain_behind(argv);
  else if (__plain_first == __plain_end) __plain_first = optind;
}
// -1: no option is left; 1: a word that is given as it is; 0: an option
int __next_option(int argc, char** argv, char order) {
  optarg = 0;
  if (optind == 0) { optind = 1; __option_at = 0; __plain_first = 1; __plain_end = 1; }
  if (__option_at != 0 && *__option_at != 0) return 0;
  if (__plain_end > optind) __plain_end = optind;
  if (__plain_first > optind) __plain_first = optind;
  if (order != '+' && order != '-') {
    __gather_plain(argv);
    while (optind < argc && __is_plain(argv[optind])) ++optind;
    __plain_end = optind;
  }
  if (optind < argc && __ends_options(argv[optind])) {
    ++optind;
    __gather_plain(argv);
    __plain_end = argc;
    optind = argc;
  }
  if (optind >= argc) {
    if (__plain_first != __plain_end) optind = __plain_first;
    return -1;
  }
  if (!__is_plain(argv[optind])) return 0;
  if (order == '+') return -1;
  optarg = argv[optind];
  ++optind;
  return 1;
}
const char* __behind_order(const char* letters) { return *letters == '+' || *letters == '-' ? letters + 1 : letters; }
int __missing_argument(const char* letters, int of) { optopt = of; return *__behind_order(letters) == ':' ? ':' : '?'; }
int __letter_option(int argc, char** argv, const char* letters) {
  char c = *__option_at;
  ++__option_at;
  const char* p = __behind_order(letters);
  while (*p != 0 && *p != c) ++p;
  bool ends = *__option_at == 0;
  if (ends) ++optind;
  if (*p == 0 || c == ':' || c == ';') { optopt = c; return '?'; }
  if (p[1] != ':') return c;
  if (!ends) { optarg = __option_at; ++optind; }
  else if (p[2] != ':') {
    if (optind >= argc) { __option_at = 0; return __missing_argument(letters, c); }
    optarg = argv[optind];
    ++optind;
  }
  __option_at = 0;
  return c;
}
int getopt(int argc, char** argv, const char* letters) {
  if (argc < 1) return -1;
  int next = __next_option(argc, argv, *letters);
  if (next != 0) return next;
  if (__option_at == 0 || *__option_at == 0) __option_at = argv[optind] + 1;
  return __letter_option(argc, argv, letters);
}
// the option of that name, or the only one whose name begins so; -1: none, -2: several
int __long_named(const char* word, size_t n, const option* longs) {
  int found = -1;
  for (int k = 0; longs[k].name != 0; ++k) {
    if (strncmp(longs[k].name, word, n) != 0) continue;
    if (longs[k].name[n] == 0) return k;
    if (found == -1) found = k;
    else if (found >= 0 && (longs[k].has_arg != longs[found].has_arg || longs[k].flag != longs[found].flag || longs[k].val != longs[found].val))
      found = -2;
  }
  return found;
}
int __long_option(int argc, char** argv, const char* letters, const option* longs, int* at, int k) {
  char* word = __option_at;
  __option_at = 0;
  ++optind;
  if (k < 0) { optopt = 0; return '?'; }
  while (*word != 0 && *word != '=') ++word;
  if (*word != 0) {
    if (longs[k].has_arg == 0) { optopt = longs[k].val; return '?'; }
    optarg = word + 1;
  } else if (longs[k].has_arg == 1) {
    if (optind >= argc) return __missing_argument(letters, longs[k].val);
    optarg = argv[optind];
    ++optind;
  }
  if (at) *at = k;
  if (!longs[k].flag) return longs[k].val;
  *longs[k].flag = longs[k].val;
  return 0;
}
int __any_option(int argc, char** argv, const char* letters, const option* longs, int* at, bool also_one_dash) {
  if (argc < 1) return -1;
  int next = __next_option(argc, argv, *letters);
  if (next != 0) return next;
  if (__option_at == 0 || *__option_at == 0) {
    char* word = argv[optind];
    bool is_long = word[1] == '-';
    if (is_long || (also_one_dash && (word[2] != 0 || !__is_among(word[1], letters)))) {
      __option_at = word + (is_long ? 2 : 1);
      size_t n = 0;
      while (__option_at[n] != 0 && __option_at[n] != '=') ++n;
      int k = __long_named(__option_at, n, longs);
      if (k != -1 || is_long || !__is_among(word[1], letters)) return __long_option(argc, argv, letters, longs, at, k);
    } else __option_at = word + 1;
  }
  return __letter_option(argc, argv, letters);
}
int getopt_long(int argc, char** argv, const char* letters, const option* longs, int* at) {
  return __any_option(argc, argv, letters, longs, at, false);
}
int getopt_long_only(int argc, char** argv, const char* letters, const option* longs, int* at) {
  return __any_option(argc, argv, letters, longs, at, true);
}
`;
