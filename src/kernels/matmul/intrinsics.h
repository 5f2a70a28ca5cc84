// The processor's vector instructions as functions.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// gcc 12 warns of its own header's deliberately undefined registers (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>
