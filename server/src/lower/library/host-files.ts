/**
 * Files that a program reads. `__warplens_file` gives what one holds, its length before it and a 0 behind; 0 where that is not known, and then
 * neither is whether the file can be opened. What is written is not followed.
 */
export const hostFiles = `
enum { SEEK_SET, SEEK_CUR, SEEK_END };
struct FILE { char* bytes_; size_t size_; size_t at_; bool ended_; };
FILE* fopen(const char* name, const char* mode) {
  bool writes = mode[0] != 'r' || mode[1] == '+' || (mode[1] != 0 && mode[2] == '+');
  char* held = (char*)__warplens_file(name, writes);
  FILE* f = (FILE*)malloc(sizeof(FILE));
  // of it nothing is known, not even whether there is one: what is read moves it, and no other object of the program
  if (held == nullptr) return __warplens_unknown<bool>(0) ? f : nullptr;
  f->bytes_ = held + 8;
  f->size_ = *(size_t*)held;
  f->at_ = 0;
  f->ended_ = false;
  return f;
}
int fclose(FILE* f) { return 0; }
int feof(FILE* f) { return f->ended_; }
int ferror(FILE* f) { return 0; }
void rewind(FILE* f) { f->at_ = 0; f->ended_ = false; }
long ftell(FILE* f) { return (long)f->at_; }
int fseek(FILE* f, long by, int from) {
  f->at_ = (size_t)(from == 0 ? by : from == 1 ? (long)f->at_ + by : (long)f->size_ + by);
  f->ended_ = false;
  return 0;
}
int fgetc(FILE* f) {
  if (f->at_ >= f->size_) { f->ended_ = true; return -1; }
  int c = (unsigned char)f->bytes_[f->at_];
  f->at_ = f->at_ + 1;
  return c;
}
int fputc(int c, FILE* f) { return c; }
int putc(int c, FILE* f) { return c; }
size_t fwrite(const void* from, size_t size, size_t count, FILE* f) { return count; }
int getc(FILE* f) { return fgetc(f); }
int ungetc(int c, FILE* f) { f->at_ = f->at_ - 1; f->ended_ = false; return c; }
char* fgets(char* to, int most, FILE* f) {
  if (f->at_ >= f->size_) { f->ended_ = true; return nullptr; }
  int n = 0;
  bool goes_on = true;
  while (goes_on && n + 1 < most) {
    if (f->at_ >= f->size_) { f->ended_ = true; goes_on = false; }
    else {
      char c = f->bytes_[f->at_];
      f->at_ = f->at_ + 1;
      to[n] = c;
      n = n + 1;
      goes_on = c != '\\n';
    }
  }
  to[n] = 0;
  return to;
}
long getline(char** line, size_t* room, FILE* f) {
  if (f->at_ >= f->size_) { f->ended_ = true; return -1; }
  size_t left = f->size_ - f->at_;
  size_t n = 0;
  bool goes_on = true;
  while (goes_on && n < left) { goes_on = f->bytes_[f->at_ + n] != '\\n'; n = n + 1; }
  if (goes_on) f->ended_ = true;
  if (*line == nullptr || *room < n + 1) { *room = n < 119 ? 120 : n + 1; *line = (char*)malloc(*room); }
  memcpy(*line, f->bytes_ + f->at_, n);
  (*line)[n] = 0;
  f->at_ = f->at_ + n;
  return (long)n;
}
size_t fread(void* to, size_t size, size_t count, FILE* f) {
  size_t left = f->size_ - f->at_;
  size_t n = left / size < count ? left / size : count;
  if (n < count) f->ended_ = true;
  memcpy(to, f->bytes_ + f->at_, n * size);
  f->at_ = n < count ? f->size_ : f->at_ + n * size;
  return n;
}
template <class... R> int fscanf(FILE* f, const char* pattern, R*... to) {
  const char* s = f->bytes_ + f->at_;
  int none = 0;
  // one place more than asked for: what stands behind the last number of the pattern is passed over too
  int done = __scan(s, s, pattern, 0, to..., &none);
  f->at_ = __scanned - f->bytes_;
  if (f->at_ >= f->size_) f->ended_ = true;
  return done;
}
namespace std {
using ::FILE; using ::fopen; using ::fclose; using ::feof; using ::ferror; using ::rewind; using ::ftell; using ::fseek;
using ::fgetc; using ::fputc; using ::putc; using ::fwrite; using ::getc; using ::ungetc; using ::fgets; using ::fread; using ::fscanf;
}
`;

/** Whether there is a file, and how large it is. */
export const fileStatus = `
struct stat { unsigned long st_dev, st_ino; unsigned st_mode; unsigned long st_nlink; long st_size, st_blksize, st_blocks, st_atime, st_mtime, st_ctime; };
int stat(const char* name, struct stat* to) {
  char* held = (char*)__warplens_file(name, false);
  if (held == nullptr) return __warplens_unknown<int>(0);
  to->st_mode = 33188;
  to->st_size = (long)*(size_t*)held;
  return 0;
}
`;

/** The same by descriptors. */
export const fileDescriptors = `
enum { O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_CREAT = 64, O_TRUNC = 512 };
FILE* __descriptors[16];
int __descriptor_count;
template <class... M> int open(const char* name, int flags, M... mode) {
  FILE* f = fopen(name, flags == O_RDONLY ? "r" : "w");
  __descriptors[__descriptor_count % 16] = f;
  __descriptor_count = __descriptor_count + 1;
  return __descriptor_count + 2;
}
int close(int descriptor) { return 0; }
long read(int descriptor, void* to, size_t n) { return (long)fread(to, 1, n, __descriptors[(descriptor - 3) % 16]); }
long lseek(int descriptor, long by, int from) { FILE* f = __descriptors[(descriptor - 3) % 16]; fseek(f, by, from); return ftell(f); }
`;

/** `std::ifstream`: a stream over what the file holds. */
export const fileStreams = `
namespace std {
namespace filesystem { struct path; }
struct ifstream : stringstream {
  bool open_ = false;
  ifstream() {}
  explicit ifstream(const char* name, int mode = 1) { open(name, mode); }
  explicit ifstream(const string& name, int mode = 1) { open(name.c_str(), mode); }
  explicit ifstream(const filesystem::path& name, int mode = 1) { open(name.c_str(), mode); }
  void open(const string& name, int mode = 1) { open(name.c_str(), mode); }
  void open(const filesystem::path& name, int mode = 1) { open(name.c_str(), mode); }
  void open(const char* name, int mode = 1) {
    // to be written, and not read
    char* held = (char*)__warplens_file(name, (mode & 3) == 2);
    if (held == nullptr) {
      open_ = __warplens_unknown<bool>(0);
      failed_ = __warplens_unknown<bool>(0);
      __lose();
      return;
    }
    held_.append(held + 8, *(size_t*)held);
    open_ = true;
    if (mode & 8) at_ = held_.size_;
  }
  bool is_open() const { return open_; }
  void close() { open_ = false; }
};
using fstream = ifstream;
template <class C> struct istreambuf_iterator {
  stringstream* from_;
  istreambuf_iterator() : from_(nullptr) {}
  istreambuf_iterator(stringstream& s) : from_(&s) {}
  bool operator!=(const istreambuf_iterator& end) const { return from_->at_ < from_->held_.size_; }
  bool operator==(const istreambuf_iterator& end) const { return from_->at_ >= from_->held_.size_; }
  C operator*() const { return from_->held_[from_->at_]; }
  istreambuf_iterator& operator++() { from_->at_ = from_->at_ + 1; return *this; }
};
}
`;

/** `std::ofstream`: what is written goes nowhere (that of `<<` in `operators.ts`), and whether the file could be opened is not known. */
export const writtenStreams = `
namespace std {
struct ofstream : ios_base {
  bool open_ = false;
  bool failed_ = false;
  ofstream() {}
  explicit ofstream(const char* name, int mode = 2) { open(name, mode); }
  explicit ofstream(const string& name, int mode = 2) { open(name.c_str(), mode); }
  explicit ofstream(const filesystem::path& name, int mode = 2) { open(name.c_str(), mode); }
  void open(const string& name, int mode = 2) { open(name.c_str(), mode); }
  void open(const filesystem::path& name, int mode = 2) { open(name.c_str(), mode); }
  void open(const char* name, int mode = 2) {
    __warplens_file(name, 1);
    open_ = __warplens_unknown<bool>(0);
    failed_ = __warplens_unknown<bool>(0);
  }
  operator bool() const { return !failed_; }
  bool operator!() const { return failed_; }
  bool good() const { return !failed_; }
  bool fail() const { return failed_; }
  bool bad() const { return failed_; }
  bool is_open() const { return open_; }
  void close() { open_ = false; }
  void clear() { failed_ = false; }
  int precision(int n) { return 6; }
  int width(int n) { return 0; }
  char fill(char c) { return ' '; }
  ofstream& put(char c) { return *this; }
  ofstream& write(const char* from, size_t n) { return *this; }
  ofstream& flush() { return *this; }
  long tellp() { return __warplens_unknown<long>(0); }
  ofstream& seekp(long at) { return *this; }
  ofstream& seekp(long by, int from) { return *this; }
  int setf(int flags) { return 0; }
  int setf(int flags, int mask) { return 0; }
  void unsetf(int flags) {}
};
}
`;

/** A file in the place of the standard input. */
export const redirectedInput = `
FILE* stdin;
namespace std { ifstream cin; }
FILE* freopen(const char* name, const char* mode, FILE* f) {
  if (mode[0] != 'r') return f;
  std::cin.open(name);
  stdin = fopen(name, mode);
  return stdin;
}
template <class... R> int scanf(const char* pattern, R*... to) { return fscanf(stdin, pattern, to...); }
namespace std { using ::freopen; using ::scanf; }
`;
