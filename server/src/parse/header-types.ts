/**
 * Arithmetic types that the C library's headers name, on 64-bit Linux: of stdint.h, stddef.h, time.h and sys/types.h (glibc, which
 * declares the last for stdlib.h as well, so that sources use its names without an include of their own).
 */
import type { BuiltinTypeName } from './ast';

export const headerTypes: ReadonlyMap<string, BuiltinTypeName> = new Map([
  // stdint.h; fast types of 16 bits and more are long there
  ['int8_t', 'signed char'],
  ['uint8_t', 'unsigned char'],
  ['int16_t', 'short'],
  ['uint16_t', 'unsigned short'],
  ['int32_t', 'int'],
  ['uint32_t', 'unsigned int'],
  ['int64_t', 'long'],
  ['uint64_t', 'unsigned long'],
  ['int_least8_t', 'signed char'],
  ['uint_least8_t', 'unsigned char'],
  ['int_least16_t', 'short'],
  ['uint_least16_t', 'unsigned short'],
  ['int_least32_t', 'int'],
  ['uint_least32_t', 'unsigned int'],
  ['int_least64_t', 'long'],
  ['uint_least64_t', 'unsigned long'],
  ['int_fast8_t', 'signed char'],
  ['uint_fast8_t', 'unsigned char'],
  ['int_fast16_t', 'long'],
  ['uint_fast16_t', 'unsigned long'],
  ['int_fast32_t', 'long'],
  ['uint_fast32_t', 'unsigned long'],
  ['int_fast64_t', 'long'],
  ['uint_fast64_t', 'unsigned long'],
  ['intmax_t', 'long'],
  ['uintmax_t', 'unsigned long'],
  ['intptr_t', 'long'],
  ['uintptr_t', 'unsigned long'],
  // stddef.h, time.h
  ['size_t', 'unsigned long'],
  ['ptrdiff_t', 'long'],
  ['clock_t', 'long'],
  ['time_t', 'long'],
  // sys/types.h
  ['ssize_t', 'long'],
  ['off_t', 'long'],
  ['u_int8_t', 'unsigned char'],
  ['u_int16_t', 'unsigned short'],
  ['u_int32_t', 'unsigned int'],
  ['u_int64_t', 'unsigned long'],
  ['u_char', 'unsigned char'],
  ['u_short', 'unsigned short'],
  ['u_int', 'unsigned int'],
  ['u_long', 'unsigned long'],
  ['ushort', 'unsigned short'],
  ['uint', 'unsigned int'],
  ['ulong', 'unsigned long'],
]);
