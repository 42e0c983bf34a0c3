/** Iterators that insert where they stand or at the front, and those that move what they lead to. */
export const inserters = `
namespace std {
template <class C> struct front_insert_iterator {
  C* to_;
  front_insert_iterator<C>& operator*() { return *this; }
  front_insert_iterator<C>& operator++() { return *this; }
  template <class T> front_insert_iterator<C>& operator=(const T& x) { to_->push_front(x); return *this; }
};
template <class C> front_insert_iterator<C> front_inserter(C& c) { return front_insert_iterator<C>{&c}; }
template <class C, class I> struct insert_iterator {
  C* to_;
  I at_;
  insert_iterator<C, I>& operator*() { return *this; }
  insert_iterator<C, I>& operator++() { return *this; }
  template <class T> insert_iterator<C, I>& operator=(const T& x) { __inserted(*to_, at_, x); return *this; }
};
template <class T, class I, class V> void __inserted(vector<T>& c, I& at, const V& x) { at = c.insert(at, x) + 1; }
template <class T, class I, class V> void __inserted(list<T>& c, I& at, const V& x) { at = c.insert(at, x); ++at; }
template <class C, class I, class V> void __inserted(C& c, I& at, const V& x) { c.insert(x); }
template <class C, class I> insert_iterator<C, I> inserter(C& c, I at) { return insert_iterator<C, I>{&c, at}; }
template <class I> struct move_iterator {
  I at_;
  auto&& operator*() const { return move(*at_); }
  move_iterator<I>& operator++() { ++at_; return *this; }
  I base() const { return at_; }
};
template <class I> bool operator==(const move_iterator<I>& a, const move_iterator<I>& b) { return a.at_ == b.at_; }
template <class I> bool operator!=(const move_iterator<I>& a, const move_iterator<I>& b) { return a.at_ != b.at_; }
template <class I> ptrdiff_t operator-(const move_iterator<I>& a, const move_iterator<I>& b) { return a.at_ - b.at_; }
template <class I> move_iterator<I> make_move_iterator(I at) { return move_iterator<I>{at}; }
template <class T> reverse_iterator<T> make_reverse_iterator(T* at) { return reverse_iterator<T>{at}; }
}
`;
