// TONNAGE_UNROLL in front of a loop with constant bounds: the compiler writes it out, so that small
// arrays of vectors live in registers.
#pragma once

#if defined(__clang__)
#define TONNAGE_UNROLL _Pragma("unroll")
#else
#define TONNAGE_UNROLL _Pragma("GCC unroll 16")
#endif
