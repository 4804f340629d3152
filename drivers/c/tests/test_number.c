/* Numbers and layouts. Expected values are from the TCU specification, 5.1, 5.4 and 6.3, or computed manually. */
#include <string.h>

#include "check.h"
#include "npukit/layout.h"
#include "npukit/number.h"

static const npu_fixed FP8BP4 = {8, 4, 1};
static const npu_fixed FP16BP8 = {16, 8, 2};
static const npu_fixed FP18BP10 = {18, 10, 4};
static const npu_fixed FP32BP16 = {32, 16, 4};

static void converts(npu_fixed format, float value, int32_t raw, bool saturated)
{
    bool clamped = false;
    int32_t found = npu_fixed_from_real(format, value, &clamped);
    if (found != raw || clamped != saturated) {
        fprintf(stderr, "%.9g: %ld, not %ld\n", (double)value, (long)found, (long)raw);
        failures++;
    }
}

static void conversions(void)
{
    /* Halves, by the compiler's rule: specification, 5.4. */
    converts(FP16BP8, 0.5F / 256, 1, false);
    converts(FP16BP8, -0.5F / 256, 0, false);
    converts(FP16BP8, 1.5F / 256, 2, false);
    converts(FP16BP8, -1.5F / 256, -1, false);
    converts(FP16BP8, 2.5F / 256, 3, false);
    converts(FP16BP8, -2.5F / 256, -2, false);
    converts(FP16BP8, 127.998F, 32767, false);
    converts(FP16BP8, 127.999F, 32767, true);
    converts(FP16BP8, 200, 32767, true);
    converts(FP16BP8, -128, -32768, false);
    converts(FP16BP8, -129, -32768, true);
    converts(FP16BP8, -128.001953125F, -32768, false); /* -32768.5 + 1/2 */
    float nothing = 0;
    converts(FP16BP8, nothing / nothing, 0, true);
    converts(FP16BP8, 1 / nothing, 32767, true);
    converts(FP16BP8, -1 / nothing, -32768, true);
    converts(FP8BP4, 7.9375F, 127, false);
    converts(FP8BP4, 8, 127, true);
    converts(FP18BP10, -128, -131072, false);
    converts(FP32BP16, 32767.998F, 2147483520, false);
    converts(FP32BP16, 32768, INT32_MAX, true);
    converts(FP32BP16, -32768, INT32_MIN, false);
    CHECK(npu_fixed_to_real(FP16BP8, -4281) == -16.72265625F);
    CHECK(npu_fixed_to_real(FP32BP16, INT32_MIN) == -32768.0F);
    /* With an exponent: 255 fits as 63.75, and 0.1 has six more bits. */
    bool clamped = false;
    CHECK(npu_fixed_from_scaled(FP16BP8, 255.0F, 2, &clamped) == 16320 && !clamped);
    CHECK(npu_fixed_from_scaled(FP16BP8, 0.1F, -6, &clamped) == 1638 && !clamped);
    CHECK(npu_fixed_from_scaled(FP16BP8, 255.0F, 0, &clamped) == 32767 && clamped);
    CHECK(npu_fixed_to_scaled(FP16BP8, 16320, 2) == 255.0F && npu_fixed_to_scaled(FP16BP8, -256, -6) == -0.015625F);
}

/* Integers give what doubles give, at every half of a unit and at its neighbors, where rounding differs first. */
static void integers_equal_doubles(void)
{
    const npu_fixed formats[] = {FP8BP4, FP16BP8, FP18BP10, FP32BP16};
    uint32_t differ = 0;
    for (size_t i = 0; i < 4; i++) {
        double units = (double)(INT64_C(1) << formats[i].point);
        for (int32_t half = -70000; half <= 70000; half++) {
            float value = (float)(0.5 * (double)half / units);
            for (uint32_t step = 0; step < 3; step++) {
                uint32_t bits;
                float neighbor;
                memcpy(&bits, &value, sizeof bits);
                bits += step - 1U;
                memcpy(&neighbor, &bits, sizeof neighbor);
                bool clamped = false;
                bool expected_clamped = false;
                int32_t expected = npu_fixed_round(formats[i], (double)neighbor * units, &expected_clamped);
                int32_t found = npu_fixed_from_real(formats[i], neighbor, &clamped);
                differ += found != expected || clamped != expected_clamped ? 1 : 0;
            }
        }
    }
    CHECK(differ == 0);
}

static void bytes_of_scalars(void)
{
    uint8_t bytes[4] = {9, 9, 9, 9};
    npu_fixed_store(FP18BP10, -1, bytes);
    CHECK(memcmp(bytes, "\xff\xff\x03\x00", 4) == 0 && npu_fixed_load(FP18BP10, bytes) == -1);
    bytes[3] = 0xAA; /* ignored byte */
    CHECK(npu_fixed_load(FP18BP10, bytes) == -1);
    npu_fixed_store(FP16BP8, -2, bytes);
    CHECK(memcmp(bytes, "\xfe\xff", 2) == 0);
    const npu_fixed formats[] = {FP8BP4, FP16BP8, FP18BP10, FP32BP16};
    for (size_t i = 0; i < 4; i++) {
        const int32_t raws[] = {0, 1, -1, npu_fixed_largest(formats[i]), npu_fixed_smallest(formats[i])};
        for (size_t j = 0; j < 5; j++) {
            npu_fixed_store(formats[i], raws[j], bytes);
            CHECK(npu_fixed_load(formats[i], bytes) == raws[j]);
        }
    }
}

/* NCHW of 1x3x2x2 in vectors of two lanes: pixels, each with its channels and a zero. */
static void a_layout(void)
{
    static const int expected[] = {0, 4, 8, -1, 1, 5, 9, -1, 2, 6, 10, -1, 3, 7, 11, -1};
    npu_layout layout = {4, {1, 3, 2, 2}, {0, 2, 3, 1}, 3, 0};
    uint64_t scalars = 0;
    uint64_t vectors = 0;
    CHECK(npu_layout_check(&layout, 2, &scalars, &vectors, NULL) == NPU_OK && scalars == 12 && vectors == 8);
    npu_layout_walk walk = npu_layout_begin(&layout, 2);
    for (size_t lane = 0; lane < 16; lane++) {
        uint64_t place = 0;
        int found = npu_layout_lane(&walk, &place) ? (int)place : -1;
        CHECK(found == expected[lane]);
    }
}

static void layouts_that_contradict_themselves(void)
{
    uint64_t scalars = 0;
    uint64_t vectors = 0;
    npu_layout layout = {4, {1, 3, 2, 2}, {0, 2, 2, 1}, 3, 0};
    CHECK(npu_layout_check(&layout, 2, &scalars, &vectors, NULL) == NPU_MANIFEST);
    npu_layout other = {4, {1, 3, 2, 2}, {0, 2, 3, 1}, 5, 0};
    CHECK(npu_layout_check(&other, 2, &scalars, &vectors, NULL) == NPU_MANIFEST);
    other.channels = 0;
    CHECK(npu_layout_check(&other, 2, &scalars, &vectors, NULL) == NPU_MANIFEST);
    npu_layout huge = {3, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {0, 1, 2}, 1, 0};
    CHECK(npu_layout_check(&huge, 2, &scalars, &vectors, NULL) == NPU_MANIFEST);
    npu_layout flat = npu_layout_flat(24, 8);
    CHECK(npu_layout_check(&flat, 8, &scalars, &vectors, NULL) == NPU_OK && vectors == 3);
}

int main(void)
{
    conversions();
    integers_equal_doubles();
    bytes_of_scalars();
    a_layout();
    layouts_that_contradict_themselves();
    FINISH();
}
