/** Threads of the host: what one does is done where it is started. Programs whose threads wait for each other are not followed so. */
export const hostConcurrency = `
struct thread {
  bool joinable_;
  thread() : joinable_(false) {}
  template <class F, class... A> thread(F f, A... a) : joinable_(true) { f(a...); }
  void join() { joinable_ = false; }
  void detach() { joinable_ = false; }
  bool joinable() const { return joinable_; }
};
using jthread = thread;
struct once_flag { bool done_ = false; };
template <class F, class... A> void call_once(once_flag& flag, F f, A... a) {
  if (flag.done_) return;
  flag.done_ = true;
  f(a...);
}
template <class T> struct future {
  T* held_;
  T get() { return *held_; }
  void wait() const {}
  bool valid() const { return true; }
  future<T> share() { return *this; }
};
template <> struct future<void> {
  void get() {}
  void wait() const {}
  bool valid() const { return true; }
  future<void> share() { return *this; }
};
template <class T> using shared_future = future<T>;
template <class T> struct promise {
  T* held_;
  promise() : held_(new T()) {}
  void set_value(T x) { *held_ = x; }
  future<T> get_future() { return future<T>{held_}; }
};
template <> struct promise<void> {
  void set_value() {}
  future<void> get_future() { return future<void>{}; }
};
enum class launch { async = 1, deferred = 2 };
template <class F, class... A> auto __done(F f, A... a) {
  using R = decltype(f(a...));
  if constexpr (is_void_v<R>) {
    f(a...);
    return future<void>{};
  } else return future<R>{new R(f(a...))};
}
template <class F, class... A> auto async(F f, A... a) {
  if constexpr (is_same_v<F, launch>) return __done(a...);
  else return __done(f, a...);
}
template <class T> struct atomic {
  T held_;
  atomic() : held_() {}
  atomic(T x) : held_(x) {}
  T load(int order = 5) const { return held_; }
  void store(T x, int order = 5) { held_ = x; }
  T exchange(T x, int order = 5) { T old = held_; held_ = x; return old; }
  T fetch_add(T x, int order = 5) { T old = held_; held_ = held_ + x; return old; }
  T fetch_sub(T x, int order = 5) { T old = held_; held_ = held_ - x; return old; }
  T fetch_or(T x, int order = 5) { T old = held_; held_ = held_ | x; return old; }
  T fetch_and(T x, int order = 5) { T old = held_; held_ = held_ & x; return old; }
  T operator++() { held_ = held_ + 1; return held_; }
  T operator++(int) { T old = held_; held_ = held_ + 1; return old; }
  T operator--() { held_ = held_ - 1; return held_; }
  T operator--(int) { T old = held_; held_ = held_ - 1; return old; }
  T operator+=(T x) { held_ = held_ + x; return held_; }
  T operator-=(T x) { held_ = held_ - x; return held_; }
  T operator=(T x) { held_ = x; return x; }
  operator T() const { return held_; }
};
template <class T> struct reference_wrapper {
  T* held_;
  reference_wrapper(T& x) : held_(&x) {}
  T& get() const { return *held_; }
  operator T&() const { return *held_; }
};
template <class T> reference_wrapper<T> ref(T& x) { return reference_wrapper<T>(x); }
template <class T> reference_wrapper<const T> cref(const T& x) { return reference_wrapper<const T>(x); }
`;

/** In namespace __warplens_std: what is made of a reference_wrapper in a pair or a tuple. */
export const unwrapping = `
template <class T> struct __unwrapped<std::reference_wrapper<T>> { using type = T&; };
template <class T> T& __unwrap(std::reference_wrapper<T>& x) { return x.get(); }
`;
