/** Iterators that append; beside the algorithms of kernels, which they overload (standard-functions.ts). */
export const appending = `
template <class C> struct __appending {
  C* to_;
  __appending<C>& operator*() { return *this; }
  __appending<C>& operator++() { return *this; }
  template <class T> __appending<C>& operator=(const T& x) { to_->push_back(x); return *this; }
};
template <class C> __appending<C> back_inserter(C& c) { return __appending<C>{&c}; }
template <class T, class C> __appending<C> copy(T* a, T* b, __appending<C> to) { for (; a != b; ++a) to.to_->push_back(*a); return to; }
template <class T, class C, class F> __appending<C> transform(T* a, T* b, __appending<C> to, F&& f) { for (; a != b; ++a) to.to_->push_back(f(*a)); return to; }
template <class N, class C, class T> __appending<C> fill_n(__appending<C> to, N n, const T& x) { for (N i = 0; i < n; ++i) to.to_->push_back(x); return to; }
`;
