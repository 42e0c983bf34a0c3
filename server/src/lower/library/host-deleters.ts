/** Pointers that own what they hold and give it back with a deleter of the user's, which is kept beside them. */
const owner = (held: string, access: string): string => `
template <class T, class D> struct unique_ptr<${held}, D> {
  using element_type = T;
  using deleter_type = D;
  using pointer = T*;
  T* held_;
  D deleter_;
  unique_ptr() : held_(nullptr), deleter_() {}
  unique_ptr(T* p) : held_(p), deleter_() {}
  unique_ptr(T* p, const D& d) : held_(p), deleter_(d) {}
  ~unique_ptr() { reset(); }
  void __left() { held_ = nullptr; }
  void __deletes() const {}
  T* get() const { return held_; }
  D& get_deleter() { return deleter_; }
  const D& get_deleter() const { return deleter_; }
  ${access}
  void reset(T* p = nullptr) {
    T* old = held_;
    held_ = p;
    if (old) deleter_(old);
  }
  T* release() { T* p = held_; held_ = nullptr; return p; }
  void swap(unique_ptr& o) {
    T* p = held_; held_ = o.held_; o.held_ = p;
    D d = deleter_; deleter_ = o.deleter_; o.deleter_ = d;
  }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};`;

export const deletingPointers = `
template <class T> struct default_delete { void operator()(T* p) const { delete p; } };
template <class T> struct default_delete<T[]> { void operator()(T* p) const { delete[] p; } };
${owner('T', 'T& operator*() const { return *held_; } T* operator->() const { return held_; }')}
${owner('T[]', 'T& operator[](size_t i) const { return held_[i]; }')}
`;

/** The functions behind `new` and `delete`, where programs call them by name. */
export const allocationFunctions = `
// what new T[n] makes (host/new-objects.ts)
template <class T> void __make_all(T* p, size_t n) { for (size_t i = 0; i < n; ++i) new (p + i) T; }
namespace std {
enum class align_val_t : size_t {};
struct nothrow_t {};
}
${['operator new', 'operator new[]']
  .map(
    (name) => `
void* ${name}(size_t n) { return __warplens_allocate(n); }
void* ${name}(size_t n, std::align_val_t) { return __warplens_allocate(n); }
void* ${name}(size_t n, const std::nothrow_t&) { return __warplens_allocate(n); }`,
  )
  .join('')}
${['operator delete', 'operator delete[]']
  .map(
    (name) => `
void ${name}(void*) {}
void ${name}(void*, size_t) {}
void ${name}(void*, std::align_val_t) {}
void ${name}(void*, size_t, std::align_val_t) {}`,
  )
  .join('')}
`;
