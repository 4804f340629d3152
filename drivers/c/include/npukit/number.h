/* Scalars: real values to raw integers of a fixed-point format and back, and their bytes in memory and files.
 *
 * The rule is the compiler's, not that of upstream's drivers: floor(x * 2^point + 1/2), saturated; NaN is 0. Source: the
 * TCU specification, 5.1, 5.2 and 5.4. No mathematical library is needed. */
#ifndef NPUKIT_NUMBER_H
#define NPUKIT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct npu_fixed {
    uint8_t width; /* bits, 2 to 32 */
    uint8_t point; /* bits behind the point */
    uint8_t bytes; /* of a scalar in memory and files: 1, 2 or 4 */
} npu_fixed;

int32_t npu_fixed_largest(npu_fixed format);
int32_t npu_fixed_smallest(npu_fixed format);

/* The raw integer of a value; `saturated` becomes true, and never false, when the value did not fit. */
int32_t npu_fixed_from_real(npu_fixed format, float value, bool *saturated);
/* The same of a value in units of the format's last bit. */
int32_t npu_fixed_round(npu_fixed format, double units, bool *saturated);
float npu_fixed_to_real(npu_fixed format, int32_t raw);
/* The same where what is stored is the value divided by two to the power `exponent`. */
int32_t npu_fixed_from_scaled(npu_fixed format, float value, int32_t exponent, bool *saturated);
float npu_fixed_to_scaled(npu_fixed format, int32_t raw, int32_t exponent);

/* Little-endian bytes. A scalar of 18 bits in four bytes has zeros above them, as upstream's files do. */
void npu_fixed_store(npu_fixed format, int32_t raw, uint8_t *bytes);
/* Only the low `width` bits count. */
int32_t npu_fixed_load(npu_fixed format, const uint8_t *bytes);

#endif
