#include "npukit/number.h"

int32_t npu_fixed_largest(npu_fixed format)
{
    return (int32_t)((UINT32_C(1) << (format.width - 1U)) - 1U);
}

int32_t npu_fixed_smallest(npu_fixed format)
{
    return -npu_fixed_largest(format) - 1;
}

/* Largest integer that is at most `value`, which fits 34 bits. */
static int64_t round_down(double value)
{
    int64_t whole = (int64_t)value;
    return (double)whole > value ? whole - 1 : whole;
}

int32_t npu_fixed_from_real(npu_fixed format, float value, bool *saturated)
{
    /* Exact: a float times a power of two. */
    return npu_fixed_round(format, (double)value * (double)(INT64_C(1) << format.point), saturated);
}

int32_t npu_fixed_round(npu_fixed format, double units, bool *saturated)
{
    int32_t largest = npu_fixed_largest(format);
    int32_t smallest = npu_fixed_smallest(format);
    double shifted = units + 0.5;
    if (!(shifted == shifted)) {
        *saturated = true;
        return 0;
    }
    if (shifted >= (double)largest + 1.0) {
        *saturated = true;
        return largest;
    }
    if (shifted < (double)smallest) {
        *saturated = true;
        return smallest;
    }
    return (int32_t)round_down(shifted);
}

float npu_fixed_to_real(npu_fixed format, int32_t raw)
{
    return (float)raw / (float)(INT64_C(1) << format.point);
}

/* `value * 2^exponent`: exact, as no exponent of a tensor exceeds the range of a double. */
static double scaled(double value, int32_t exponent)
{
    for (; exponent > 0; exponent--) {
        value *= 2.0;
    }
    for (; exponent < 0; exponent++) {
        value *= 0.5;
    }
    return value;
}

int32_t npu_fixed_from_scaled(npu_fixed format, float value, int32_t exponent, bool *saturated)
{
    return npu_fixed_round(format, scaled((double)value, (int32_t)format.point - exponent), saturated);
}

float npu_fixed_to_scaled(npu_fixed format, int32_t raw, int32_t exponent)
{
    return (float)scaled((double)raw, exponent - (int32_t)format.point);
}

void npu_fixed_store(npu_fixed format, int32_t raw, uint8_t *bytes)
{
    uint32_t bits = (uint32_t)raw;
    if (format.width < 32) {
        bits &= (UINT32_C(1) << format.width) - 1U;
    }
    for (unsigned byte = 0; byte < format.bytes; byte++) {
        bytes[byte] = (uint8_t)(bits >> (8U * byte) & 0xFFU);
    }
}

int32_t npu_fixed_load(npu_fixed format, const uint8_t *bytes)
{
    uint32_t bits = 0;
    for (unsigned byte = 0; byte < format.bytes; byte++) {
        bits |= (uint32_t)bytes[byte] << (8U * byte);
    }
    if (format.width == 32) {
        return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)(UINT32_MAX - bits) - 1;
    }
    uint32_t sign = UINT32_C(1) << (format.width - 1U);
    bits &= (sign << 1U) - 1U;
    return (int32_t)(bits & (sign - 1U)) - (int32_t)(bits & sign);
}
