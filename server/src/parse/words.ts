/**
 * What a spelling means to the parser whatever the context: keywords and their roles, and the precedence of binary operators.
 * One table look-up a token, done once before parsing.
 */
import { TokenKind, type TokenStream } from '../preprocess/token';

/** The low four bits of a token's word class: precedence as a binary operator, 0 for none. */
export const PRECEDENCE = 15;
/** The other bits. */
export const Word = {
  keyword: 1 << 4,
  /** int, float, unsigned, … */
  typeWord: 1 << 5,
  /** may stand in a sequence of declaration specifiers without being a type */
  specifier: 1 << 6,
  /** struct, class, union, enum */
  recordKey: 1 << 7,
  /** begins a statement that is neither declaration nor expression */
  statement: 1 << 8,
  /** an assignment operator */
  assign: 1 << 9,
  /** const, volatile, restrict: may follow a type or a `*` */
  qualifier: 1 << 10,
  /** an identifier that is no keyword */
  name: 1 << 11,
  /** begins a declaration that is no simple one: template, namespace, using, … */
  declaration: 1 << 12,
} as const;

const words = new Map<string, number>();

function add(spellings: string, bits: number): void {
  for (const spelling of spellings.split(' ')) words.set(spelling, (words.get(spelling) ?? 0) | bits);
}

add(
  'void bool char short int long signed unsigned float double wchar_t char8_t char16_t char32_t __int128 __signed__ ' +
    '_Bool __int64',
  Word.keyword | Word.typeWord,
);
add('const volatile __restrict__ __restrict restrict __const __volatile__', Word.keyword | Word.qualifier);
add(
  '__global__ __device__ __host__ __shared__ __constant__ __managed__ __grid_constant__ __launch_bounds__ __maxnreg__ ' +
    '__cluster_dims__ __block_size__ __align__ __forceinline__ __forceinline __noinline__ __inline__ __inline inline ' +
    'static extern constexpr consteval constinit register thread_local mutable virtual explicit friend typedef alignas ' +
    '_Alignas __attribute__ __attribute __declspec __extension__ __cdecl __stdcall __fastcall __vectorcall _Noreturn ' +
    '__nv_pure__ __thread __builtin_align__',
  Word.keyword | Word.specifier,
);
add('struct class union enum', Word.keyword | Word.recordKey);
add(
  'if for while do switch case default break continue return goto try asm __asm__ __asm else catch',
  Word.keyword | Word.statement,
);
add(
  'sizeof alignof _Alignof __alignof__ typeid this true false nullptr new delete operator static_cast reinterpret_cast ' +
    'const_cast dynamic_cast throw noexcept requires decltype __decltype __typeof__ __typeof typeof typename auto co_await co_yield co_return',
  Word.keyword,
);
add(
  'template namespace using static_assert _Static_assert concept public private protected export',
  Word.keyword | Word.declaration,
);
// how C++ spells some operators in words
add('and or not bitand bitor xor compl and_eq or_eq xor_eq not_eq', Word.keyword);

const precedences = [
  ['||', 'or'],
  ['&&', 'and'],
  ['|', 'bitor'],
  ['^', 'xor'],
  ['&', 'bitand'],
  ['==', '!=', 'not_eq'],
  ['<', '>', '<=', '>='],
  ['<=>'],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
  ['.*', '->*'],
];
precedences.forEach((operators, index) => {
  for (const operator of operators) add(operator, index + 2);
});
add('= += -= *= /= %= &= |= ^= <<= >>= and_eq or_eq xor_eq', Word.assign);

/** Operators spelled as words, as symbols. */
export const operatorSymbols: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
  ['bitand', '&'],
  ['bitor', '|'],
  ['xor', '^'],
  ['compl', '~'],
  ['and_eq', '&='],
  ['or_eq', '|='],
  ['xor_eq', '^='],
  ['not_eq', '!='],
]);

const decltypes = new Set(['decltype', '__decltype', '__typeof__', '__typeof', 'typeof']);

/** `decltype(x)` and its older spellings. */
export function isDecltype(spelling: string): boolean {
  return decltypes.has(spelling);
}

/** Word classes of all tokens. */
export function classifyWords(tokens: TokenStream): Uint16Array {
  const classes = new Uint16Array(tokens.count);
  for (let i = 0; i < tokens.count; i++) {
    const kind = tokens.kind[i];
    if (kind === TokenKind.identifier) classes[i] = words.get(tokens.text[i]) ?? Word.name;
    else if (kind === TokenKind.punctuator) classes[i] = words.get(tokens.text[i]) ?? 0;
  }
  return classes;
}

/** Whether a spelling is a keyword to this parser. */
export function isKeyword(spelling: string): boolean {
  return words.has(spelling);
}
