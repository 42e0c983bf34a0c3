/** Thrust's execution policies and pointers to the device. Memory of the device is the host's here, so a policy chooses nothing. */
export const pointers = `
struct __policy {
  template <class S> __policy on(const S& stream) const { return __policy(); }
  template <class A> __policy operator()(const A& allocator) const { return __policy(); }
};
inline const __policy device, host, seq;
namespace cuda { inline const __policy par, par_nosync; }
// what algorithms of the host write to of the device's memory
template <class A> void __touch(const A& a) {}
template <class T> void __touch(T* p) { __warplens_touch(p); }
template <class T> struct device_ptr {
  typedef T value_type;
  typedef T element_type;
  typedef T& reference;
  typedef ptrdiff_t difference_type;
  T* raw_;
  device_ptr() : raw_(nullptr) {}
  device_ptr(T* raw) : raw_(raw) { __warplens_touch(raw); }
  template <class U> device_ptr(const device_ptr<U>& p) : raw_(p.raw_) {}
  T* get() const { return raw_; }
  T& operator*() const { return *raw_; }
  T* operator->() const { return raw_; }
  T& operator[](ptrdiff_t i) const { return raw_[i]; }
  device_ptr operator+(ptrdiff_t n) const { device_ptr p = *this; p.raw_ += n; return p; }
  device_ptr operator-(ptrdiff_t n) const { device_ptr p = *this; p.raw_ -= n; return p; }
  ptrdiff_t operator-(const device_ptr& p) const { return raw_ - p.raw_; }
  device_ptr& operator+=(ptrdiff_t n) { raw_ += n; return *this; }
  device_ptr& operator-=(ptrdiff_t n) { raw_ -= n; return *this; }
  device_ptr& operator++() { ++raw_; return *this; }
  device_ptr& operator--() { --raw_; return *this; }
  device_ptr operator++(int) { device_ptr p = *this; ++raw_; return p; }
  device_ptr operator--(int) { device_ptr p = *this; --raw_; return p; }
  bool operator==(const device_ptr& p) const { return raw_ == p.raw_; }
  bool operator!=(const device_ptr& p) const { return raw_ != p.raw_; }
  bool operator<(const device_ptr& p) const { return raw_ < p.raw_; }
  operator bool() const { return raw_ != nullptr; }
};
template <class T> using device_reference = T&;
template <class T> device_ptr<T> device_pointer_cast(T* p) { return device_ptr<T>(p); }
template <class T> device_ptr<T> device_pointer_cast(const device_ptr<T>& p) { return p; }
template <class T> T* raw_pointer_cast(T* p) { return p; }
template <class T> T* raw_pointer_cast(const device_ptr<T>& p) { return p.raw_; }
template <class T> T& raw_reference_cast(T& x) { return x; }
template <class T> device_ptr<T> device_malloc(size_t n) { return device_ptr<T>((T*)malloc(n * sizeof(T))); }
template <class T> device_ptr<T> device_new(size_t n) { return device_ptr<T>((T*)malloc(n * sizeof(T))); }
template <class T> void device_free(device_ptr<T> p) { free(p.raw_); }
template <class T> void device_delete(device_ptr<T> p, size_t n = 0) { free(p.raw_); }
// what an iterator stands for: elements that lie one after the other are gone through by their address
template <class I> I __bare(I a) { return a; }
template <class T> T* __bare(device_ptr<T> a) { return a.raw_; }
template <class I> struct __valued { typedef typename I::value_type type; };
template <class T> struct __valued<T*> { typedef typename remove_cv<T>::type type; };
template <class I> ptrdiff_t distance(I a, I b) { return b - a; }
template <class I, class N> void advance(I& a, N n) { a = a + n; }
`;
