#include "npukit/number.h"

#include <string.h>

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
    return npu_fixed_from_scaled(format, value, 0, saturated);
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

/* Limit of the format that is next to an infinite or too large value. */
static int32_t limit(npu_fixed format, bool is_negative, bool *saturated)
{
    *saturated = true;
    return is_negative ? npu_fixed_smallest(format) : npu_fixed_largest(format);
}

/* floor(value / 2^places + 1/2) for a magnitude below 2^24 and at most 24 places. */
static int32_t round_places(int32_t value, unsigned places)
{
    int32_t sum = value + (INT32_C(1) << (places - 1U));
    int32_t below = (INT32_C(1) << places) - 1;
    return sum >= 0 ? sum >> places : -((below - sum) >> places);
}

/* Uses integers only: a processor without a floating-point unit needs thousands of cycles for the same in doubles. */
int32_t npu_fixed_from_scaled(npu_fixed format, float value, int32_t exponent, bool *saturated)
{
    enum { HIDDEN = 1 << 23, SPECIAL = 0xFF, BIAS = 150, MOST_SHIFT = 32, MOST_PLACES = 24 };
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool is_negative = bits >> 31 != 0;
    int32_t power = (int32_t)(bits >> 23 & SPECIAL);
    int32_t mantissa = (int32_t)(bits & (HIDDEN - 1U));
    if (power == SPECIAL) {
        int32_t nearest = limit(format, is_negative, saturated);
        return mantissa == 0 ? nearest : 0;
    }
    mantissa |= power == 0 ? 0 : HIDDEN;
    /* Units of the format's last bit are mantissa * 2^shift. */
    int32_t shift = (power == 0 ? 1 : power) - BIAS + (int32_t)format.point - exponent;
    if (mantissa == 0 || shift < -MOST_PLACES) {
        return 0;
    }
    if (shift > MOST_SHIFT) {
        return limit(format, is_negative, saturated);
    }
    int64_t whole = is_negative ? -mantissa : mantissa;
    whole = shift < 0 ? round_places((int32_t)whole, (unsigned)-shift) : whole * (INT64_C(1) << shift);
    if (whole > npu_fixed_largest(format) || whole < npu_fixed_smallest(format)) {
        return limit(format, is_negative, saturated);
    }
    return (int32_t)whole;
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
