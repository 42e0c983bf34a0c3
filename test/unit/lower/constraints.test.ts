/** Concepts and requires-clauses in kernels: which overload, specialisation or arm they choose. */
import { equals } from './check-index';

describe('constraints of device code', () => {
  it('rule overloads out', () => {
    const widths = `#include <concepts>
template <std::integral T> __device__ int width(T) { return 2; }
template <std::floating_point T> __device__ int width(T) { return 4; }
template <class T> requires (sizeof(T) == 8) __device__ int words(T) { return 2; }
template <class T> requires (sizeof(T) < 8) __device__ int words(T) { return 1; }`;
    equals('', 'width(1u)', 2, widths);
    equals('', 'width(1.f)', 4, widths);
    equals('', 'words(1.0)', 2, widths);
    equals('', 'words(1.f)', 1, widths);
  });

  it('prefer what demands more', () => {
    const shapes = `
template <class T> concept Sized = requires(T t) { t.size(); };
template <class T> concept Named = Sized<T> && requires(T t) { t.name; };
template <Sized T> __device__ int shape(const T&) { return 2; }
template <Named T> __device__ int shape(const T&) { return 3; }
template <class T> __device__ int shape(const T&) { return 4; }
struct Plain { __device__ int size() const { return 1; } };
struct Own : Plain { int name; };`;
    equals('', 'shape(Plain())', 2, shapes);
    equals('Own own;', 'shape(own)', 3, shapes);
    equals('', 'shape(1)', 4, shapes);
  });

  it('decide if constexpr', () => {
    const measure = `
template <class T> concept HasArea = requires(const T& t) { { t.area() } -> std::same_as<int>; };
struct Square { int side; __device__ int area() const { return side * side; } };
struct Disc { int r; __device__ float area() const { return 3.f; } };
template <class T> __device__ int measure(const T& t) { if constexpr (HasArea<T>) return t.area(); else return 3; }`;
    equals('', 'measure(Square{2})', 4, measure);
    equals('', 'measure(Disc{2})', 3, measure);
    equals('', 'measure(5)', 3, measure);
  });

  it('choose specialisations and methods', () => {
    const traits = `
template <class T> struct Lanes { static constexpr int value = 1; };
template <class T> requires (sizeof(T) == 2) struct Lanes<T> { static constexpr int value = 2; };
template <std::integral T> struct Lanes<T*> { static constexpr int value = 4; };
template <class T> struct Tile { __device__ int pad() const requires (sizeof(T) > 4) { return 2; } __device__ int pad() const { return 1; } };`;
    equals('', 'Lanes<short>::value', 2, traits);
    equals('', 'Lanes<int*>::value', 4, traits);
    equals('', 'Lanes<float*>::value', 1, traits);
    equals('', 'Tile<double>().pad()', 2, traits);
    equals('', 'Tile<float>().pad()', 1, traits);
  });

  it('detect members by substitution', () => {
    const detected = `#include <type_traits>
#include <utility>
template <class T, class = void> struct HasPitch : std::false_type {};
template <class T> struct HasPitch<T, std::void_t<decltype(std::declval<const T&>().pitch())>> : std::true_type {};
template <class T> __device__ auto rows(const T& t, int) -> decltype(t.pitch()) { return 4; }
template <class T> __device__ int rows(const T&, long) { return 2; }
struct Flat { int n; }; struct Pitched { __device__ int pitch() const { return 1; } };`;
    equals('', '1 + HasPitch<Pitched>::value', 2, detected);
    equals('', '1 + HasPitch<Flat>::value', 1, detected);
    equals('', 'rows(Pitched(), 0)', 4, detected);
    equals('', 'rows(Flat(), 0)', 2, detected);
  });
});
