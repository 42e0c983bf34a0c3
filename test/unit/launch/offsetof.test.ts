/** Where members lie. */
import { check } from './support';

describe('offsetof', () => {
  it('is known of members, members of members and elements', () => {
    check(
      `struct In { short a; float v[4]; };
struct Base { double d; };
struct Header : Base { char tag; int count; In in; };
int main() { k<<<1, 1>>>((int)offsetof(Header, count), (int)offsetof(Header, in.v[2]), (int)offsetof(Header, d), offsetof(In, v)); }`,
      'k <<<(1,1,1),(1,1,1),0>>>(12, 28, 0, 4)',
    );
  });
});
