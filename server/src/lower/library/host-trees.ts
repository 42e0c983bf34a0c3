/**
 * What the ordered containers of the host keep (host-ordered.ts): elements that never move, for references and iterators to them hold, and a treap over
 * their numbers, whose ranks are a hash of them. Neighbours know each other, so that going on costs a load. Element 0 is the end; its first child
 * is the root. Links are numbers and lie apart from the elements: pointers among elements would make all that elements lead to one class of
 * memory with them (host/points-to.ts).
 */
export const hostTrees = `
struct __key_of_pair { template <class T> static const auto& of(const T& x) { return x.first; } };
struct __key_itself { template <class T> static const T& of(const T& x) { return x; } };
template <class T> struct __tree_node { T* held_; int next_; int prev_; int up_; int child_[2]; unsigned rank_; };
template <class T> struct __tree_head { __tree_node<T>* nodes_; int used_; int room_; int size_; };
struct __tree_spot { int at_; int parent_; };
template <class T> struct __tree {
  __tree_head<T>* head_;
  __tree() { __begin(); }
  ~__tree() { __end_all(); }
  void __end_all() {
    if constexpr (__warplens_ends(T)) for (int at = head_->nodes_[0].next_; at != 0; at = head_->nodes_[at].next_) __warplens_end(*head_->nodes_[at].held_);
  }
  void __begin() {
    head_ = (__tree_head<T>*)__warplens_allocate(sizeof(__tree_head<T>));
    head_->nodes_ = (__tree_node<T>*)__warplens_allocate(sizeof(__tree_node<T>));
    head_->room_ = 1;
    __empty();
  }
  void __empty() {
    __tree_node<T>* end = head_->nodes_;
    end->next_ = 0;
    end->prev_ = 0;
    end->child_[0] = 0;
    end->rank_ = 0xffffffffu;
    head_->used_ = 1;
    head_->size_ = 0;
  }
  void __left() { __begin(); }
  __tree<T> __copied() const {
    __tree<T> other;
    for (int at = head_->nodes_[0].next_; at != 0; at = head_->nodes_[at].next_) other.__add(0, other.head_->nodes_[0].prev_, *head_->nodes_[at].held_);
    return other;
  }
  void __grow(int old) {
    int room = old < 8 ? 8 : 2 * old;
    __tree_node<T>* nodes = (__tree_node<T>*)__warplens_allocate(room * sizeof(__tree_node<T>));
    T* made = (T*)__warplens_allocate((room - old) * sizeof(T));
    memcpy(nodes, head_->nodes_, old * sizeof(__tree_node<T>));
    for (__tree_node<T>* n = nodes + old; n != nodes + room; ++n) { n->held_ = made; made = made + 1; }
    head_->nodes_ = nodes;
    head_->room_ = room;
  }
  /** A new one below a parent that has none there, in front of one or, as it is not the parent, behind the parent. */
  int __add(int at, int parent, const T& x) {
    int n = head_->used_;
    int room = head_->room_;
    // in a loop of its own: each pass of one around costs its longest way
    if (__warplens_certainly(n >= room)) do __grow(room); while (n >= head_->room_);
    head_->used_ = n + 1;
    head_->size_ = head_->size_ + 1;
    __tree_node<T>* nodes = head_->nodes_;
    __tree_node<T>* own = nodes + n;
    __warplens_place(*own->held_, forward<T>(x));
    // what is in front of it is what was in front of the other
    __tree_node<T>* behind = nodes + at;
    int before = behind->prev_;
    own->prev_ = before;
    own->next_ = at;
    nodes[before].next_ = n;
    behind->prev_ = n;
    own->up_ = parent;
    own->child_[0] = 0;
    own->child_[1] = 0;
    nodes[parent].child_[at != parent] = n;
    unsigned rank = n * 2654435769u;
    rank = (rank ^ (rank >> 15)) * 2246822519u >> 1;
    own->rank_ = rank;
    if (nodes[parent].rank_ < rank) do parent = __lift(nodes, n, parent); while (nodes[parent].rank_ < rank);
    return n;
  }
  /** Over its parent; gives the new one. */
  static int __lift(__tree_node<T>* nodes, int n, int over) {
    __tree_node<T>* own = nodes + n;
    __tree_node<T>* other = nodes + over;
    int above = other->up_;
    int inner;
    if (other->child_[0] == n) {
      inner = own->child_[1];
      other->child_[0] = inner;
      own->child_[1] = over;
    } else {
      inner = own->child_[0];
      other->child_[1] = inner;
      own->child_[0] = over;
    }
    nodes[inner].up_ = over;
    other->up_ = n;
    own->up_ = above;
    __hang(nodes + above, over, n);
    return above;
  }
  static void __hang(__tree_node<T>* up, int old, int n) { if (up->child_[0] == old) up->child_[0] = n; else up->child_[1] = n; }
  void __remove(int n) {
    __tree_node<T>* nodes = head_->nodes_;
    __tree_node<T>* own = nodes + n;
    while (own->child_[0] != 0 && own->child_[1] != 0) __lift(nodes, nodes[own->child_[0]].rank_ < nodes[own->child_[1]].rank_ ? own->child_[1] : own->child_[0], n);
    int only = own->child_[0] + own->child_[1];
    nodes[only].up_ = own->up_;
    __hang(nodes + own->up_, n, only);
    nodes[own->prev_].next_ = own->next_;
    nodes[own->next_].prev_ = own->prev_;
    head_->size_ = head_->size_ - 1;
    if constexpr (__warplens_ends(T)) __warplens_end(*own->held_);
  }
};
template <class T> struct __tree_place {
  using value_type = T;
  __tree_head<T>* head_;
  int at_;
  T& operator*() const { return *head_->nodes_[at_].held_; }
  T* operator->() const { return head_->nodes_[at_].held_; }
  __tree_place<T>& operator++() { at_ = head_->nodes_[at_].next_; return *this; }
  __tree_place<T>& operator--() { at_ = head_->nodes_[at_].prev_; return *this; }
};
template <class T> bool operator==(const __tree_place<T>& a, const __tree_place<T>& b) { return a.at_ == b.at_; }
template <class T> bool operator!=(const __tree_place<T>& a, const __tree_place<T>& b) { return a.at_ != b.at_; }
template <class T> struct __tree_back {
  using value_type = T;
  __tree_head<T>* head_;
  int at_;
  T& operator*() const { return *head_->nodes_[head_->nodes_[at_].prev_].held_; }
  T* operator->() const { return head_->nodes_[head_->nodes_[at_].prev_].held_; }
  __tree_back<T>& operator++() { at_ = head_->nodes_[at_].prev_; return *this; }
  __tree_back<T>& operator--() { at_ = head_->nodes_[at_].next_; return *this; }
  __tree_place<T> base() const { return __tree_place<T>{head_, at_}; }
};
template <class T> bool operator==(const __tree_back<T>& a, const __tree_back<T>& b) { return a.at_ == b.at_; }
template <class T> bool operator!=(const __tree_back<T>& a, const __tree_back<T>& b) { return a.at_ != b.at_; }
template <class T> __tree_place<T> next(__tree_place<T> p, ptrdiff_t n = 1) { for (; n > 0; --n) ++p; for (; n < 0; ++n) --p; return p; }
template <class T> __tree_place<T> prev(__tree_place<T> p, ptrdiff_t n = 1) { return next(p, -n); }
template <class T> void advance(__tree_place<T>& p, ptrdiff_t n) { p = next(p, n); }
template <class T> ptrdiff_t distance(__tree_place<T> a, __tree_place<T> b) { ptrdiff_t n = 0; for (; a != b; ++a) n = n + 1; return n; }
template <class T> __tree_back<T> next(__tree_back<T> p, ptrdiff_t n = 1) { for (; n > 0; --n) ++p; for (; n < 0; ++n) --p; return p; }
template <class T, class V> __tree_place<T> lower_bound(__tree_place<T> a, __tree_place<T> b, const V& x) { while (a != b && *a < x) ++a; return a; }
template <class T, class V> __tree_place<T> upper_bound(__tree_place<T> a, __tree_place<T> b, const V& x) { while (a != b && !(x < *a)) ++a; return a; }
`;
