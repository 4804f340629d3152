/* Scalars: conversion between real values and raw fixed-point integers, and their bytes in memory and files.
 *
 * The rule is the compiler's, which differs from upstream's drivers: floor(x * 2^point + 1/2), saturated; NaN becomes
 * 0. Source: the TCU specification, 5.1, 5.2 and 5.4. No mathematical library is needed. */
#ifndef NPUKIT_NUMBER_H
#define NPUKIT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct npu_fixed {
    uint8_t width; /* total bits, 2 to 32 */
    uint8_t point; /* fraction bits */
    uint8_t bytes; /* bytes of a scalar in memory and files: 1, 2 or 4 */
} npu_fixed;

int32_t npu_fixed_largest(npu_fixed format);
int32_t npu_fixed_smallest(npu_fixed format);

/* Converts a value to a raw integer. Sets `saturated` if the value did not fit, and never clears it. */
int32_t npu_fixed_from_real(npu_fixed format, float value, bool *saturated);
/* Converts a value in units of the format's last bit. */
int32_t npu_fixed_round(npu_fixed format, double units, bool *saturated);
float npu_fixed_to_real(npu_fixed format, int32_t raw);
/* Like the functions above, for stored values that are divided by two to the power `exponent`. */
int32_t npu_fixed_from_scaled(npu_fixed format, float value, int32_t exponent, bool *saturated);
float npu_fixed_to_scaled(npu_fixed format, int32_t raw, int32_t exponent);

/* Little-endian bytes. An 18-bit scalar in four bytes is padded with zeros, as in upstream's files. */
void npu_fixed_store(npu_fixed format, int32_t raw, uint8_t *bytes);
/* Only the low `width` bits are used. */
int32_t npu_fixed_load(npu_fixed format, const uint8_t *bytes);

#endif
