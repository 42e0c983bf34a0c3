/** A list that is followed in one direction: the ring of \`std::list\`, whose empty node stands in front of the first as well as behind the last. */
export const forwardList = `
namespace std {
template <class T> struct forward_list : list<T> {
  using value_type = T;
  forward_list() {}
  explicit forward_list(size_t n) : list<T>(n) {}
  forward_list(size_t n, const T& x) : list<T>(n, x) {}
  template <class I> forward_list(I a, I b) : list<T>(a, b) {}
  __list_place<T> before_begin() const { return __list_place<T>{this->ring_}; }
  __list_place<T> cbefore_begin() const { return before_begin(); }
  __list_place<T> insert_after(__list_place<T> at, const T& x) { return __list_place<T>{this->__made(at.node_->next_, forward<T>(x))}; }
  template <class... A> __list_place<T> emplace_after(__list_place<T> at, A&&... a) { return __list_place<T>{this->__made(at.node_->next_, T(forward<A>(a)...))}; }
  __list_place<T> erase_after(__list_place<T> at) { this->__drop(at.node_->next_); return __list_place<T>{at.node_->next_}; }
  __list_place<T> erase_after(__list_place<T> at, __list_place<T> end) { while (at.node_->next_ != end.node_) this->__drop(at.node_->next_); return end; }
};
}
`;
