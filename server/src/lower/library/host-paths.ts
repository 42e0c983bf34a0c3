/**
 * `std::filesystem`: names of files, taken apart and put together as POSIX has them. Of a file that is to be had it is known that it is there and
 * how large it is; of folders, and of what a program makes of files, nothing is.
 */
const comparisons = ['==', '!=', '<', '>', '<=', '>='];
// what is compared with a path is one, though a path is a text as well
const compared = (sign: string): string =>
  ['const path&', 'const char*', 'const std::string&']
    .map((type) => `bool operator${sign}(const path& a, ${type} b) { return a.held_ ${sign} path(b).held_; }`)
    .join('\n');

/** Questions about a file, each also with the place of an error. */
const asked = (type: string, name: string, answer: string): string => `
${type} ${name}(const path& p) {
  char* held = (char*)__warplens_file(p.c_str(), false);
  if (held == nullptr) return __warplens_unknown<${type}>(0);
  return ${answer};
}
${type} ${name}(const path& p, error_code&) { return ${name}(p); }`;

/** What is done to a file or folder: whether it could be is not known, nor what the file holds from then on. */
const done = (type: string, name: string, isOfFile: boolean): string => `
${type} ${name}(const path& p) {
  ${isOfFile ? '__warplens_file(p.c_str(), true);' : ''}
  return __warplens_unknown<${type}>(0);
}
${type} ${name}(const path& p, error_code&) { return ${name}(p); }`;

export const paths = `
namespace std {
struct error_code {
  int value_ = 0;
  int value() const { return __warplens_unknown<int>(0); }
  operator bool() const { return __warplens_unknown<bool>(0); }
};
namespace filesystem {
struct path {
  using value_type = char;
  using string_type = std::string;
  static constexpr char preferred_separator = '/';
  std::string held_;
  path() {}
  path(const char* s) : held_(s) {}
  path(const std::string& s) : held_(s.__copied()) {}
  path(const string_view& s) : held_(s) {}
  const char* c_str() const { return held_.c_str(); }
  const std::string& native() const { return held_; }
  std::string string() const { return held_.__copied(); }
  std::string generic_string() const { return held_.__copied(); }
  operator std::string() const { return held_.__copied(); }
  bool empty() const { return held_.size_ == 0; }
  void clear() { held_.clear(); }
  // where the file's name begins, and how much of it stands before its extension
  size_t __name() const { return held_.rfind('/') + 1; }
  size_t __stem() const {
    size_t from = __name();
    size_t dot = held_.rfind('.');
    bool is_folder = held_.size_ == from + 2 && held_.first_[from] == '.' && held_.first_[from + 1] == '.';
    return dot == std::string::npos || dot <= from || is_folder ? held_.size_ : dot;
  }
  path filename() const { return path(held_.substr(__name())); }
  path stem() const { size_t from = __name(); return path(held_.substr(from, __stem() - from)); }
  path extension() const { return path(held_.substr(__stem())); }
  path parent_path() const {
    size_t n = __name();
    while (n > 1 && held_.first_[n - 1] == '/') n = n - 1;
    return path(held_.substr(0, n));
  }
  bool is_absolute() const { return held_.size_ > 0 && held_.first_[0] == '/'; }
  bool is_relative() const { return !is_absolute(); }
  bool has_filename() const { return __name() < held_.size_; }
  bool has_stem() const { return __name() < __stem(); }
  bool has_extension() const { return __stem() < held_.size_; }
  bool has_parent_path() const { return __name() > 0; }
  path& operator/=(const path& p) {
    if (p.is_absolute()) held_.clear();
    else if (has_filename()) held_.push_back('/');
    held_.append(p.held_);
    return *this;
  }
  path& append(const path& p) { return *this /= p; }
  path& operator+=(const path& p) { held_.append(p.held_); return *this; }
  path& operator+=(char c) { held_.push_back(c); return *this; }
  path& concat(const path& p) { return *this += p; }
  path& remove_filename() { held_ = held_.substr(0, __name()); return *this; }
  path& replace_filename(const path& p) { remove_filename(); return *this /= p; }
  path& replace_extension(const path& p = path()) {
    held_ = held_.substr(0, __stem());
    if (!p.empty() && p.held_.first_[0] != '.') held_.push_back('.');
    held_.append(p.held_);
    return *this;
  }
};
path operator/(const path& a, const path& b) { path p = a; p /= b; return p; }
${comparisons.map(compared).join('\n')}
using filesystem_error = std::runtime_error;
${asked('bool', 'exists', 'true')}
${asked('bool', 'is_regular_file', 'true')}
${asked('bool', 'is_directory', 'false')}
${asked('bool', 'is_empty', '*(size_t*)held == 0')}
${asked('size_t', 'file_size', '*(size_t*)held')}
${done('bool', 'create_directory', false)}
${done('bool', 'create_directories', false)}
${done('bool', 'remove', true)}
}
}
`;
