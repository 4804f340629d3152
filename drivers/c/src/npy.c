#include "npukit/npy.h"

#include <string.h>

static const struct {
    const char *name;
    npu_element element;
    size_t bytes;
} ELEMENTS[] = {
    {"|i1", NPU_INT8, 1},  {"<i2", NPU_INT16, 2}, {"<i4", NPU_INT32, 4},   {"<i8", NPU_INT64, 8},
    {"|u1", NPU_UINT8, 1}, {"<f4", NPU_FLOAT32, 4}, {"<f8", NPU_FLOAT64, 8},
};

size_t npu_element_bytes(npu_element element)
{
    return ELEMENTS[element].bytes;
}

static const char *element_name(npu_element element)
{
    return ELEMENTS[element].name;
}

/* ---- reading ---- */

typedef struct head {
    const char *text;
    size_t length;
    size_t start; /* offset in the file, for errors */
} head;

/* Offset after a word of the header, or the header's length if the word does not occur. */
static size_t behind(const head *in, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= in->length; at++) {
        if (memcmp(in->text + at, word, length) == 0) {
            return at + length;
        }
    }
    return in->length;
}

static size_t skip_spaces(const head *in, size_t at)
{
    while (at < in->length && (in->text[at] == ' ' || in->text[at] == ':')) {
        at++;
    }
    return at;
}

static npu_code read_element(const head *in, npu_array *array, npu_error *error)
{
    size_t at = skip_spaces(in, behind(in, "'descr'"));
    for (size_t i = 0; i < sizeof ELEMENTS / sizeof ELEMENTS[0]; i++) {
        if (at + 5 <= in->length && in->text[at] == '\'' && memcmp(in->text + at + 1, ELEMENTS[i].name, 3) == 0 &&
            in->text[at + 4] == '\'') {
            array->element = ELEMENTS[i].element;
            return NPU_OK;
        }
    }
    return npu_fail(error, NPU_SYNTAX, "elements must be |i1, <i2, <i4, <i8, |u1, <f4 or <f8", "npy: descr",
                    in->start + at, 0, 0);
}

static npu_code read_order(const head *in, npu_error *error)
{
    size_t at = skip_spaces(in, behind(in, "'fortran_order'"));
    if (at + 5 <= in->length && memcmp(in->text + at, "False", 5) == 0) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_SYNTAX, "must be False (row-major)", "npy: fortran_order", in->start + at, 0, 0);
}

static npu_code read_shape(const head *in, npu_array *array, npu_error *error)
{
    size_t at = skip_spaces(in, behind(in, "'shape'"));
    array->rank = 0;
    array->scalars = 1;
    if (at >= in->length || in->text[at] != '(') {
        return npu_fail(error, NPU_SYNTAX, "a tuple is missing", "npy: shape", in->start + at, 0, 0);
    }
    for (at++; at < in->length && in->text[at] != ')';) {
        uint64_t size = 0;
        size_t first = at;
        while (at < in->length && in->text[at] >= '0' && in->text[at] <= '9' && size <= UINT32_MAX) {
            size = size * 10 + (uint64_t)(in->text[at++] - '0');
        }
        if (at == first || size > UINT32_MAX || array->rank == NPU_MOST_AXES ||
            (size != 0 && array->scalars > UINT64_MAX / 16 / size)) {
            return npu_fail(error, NPU_SYNTAX, "must have at most 8 sizes of at most 2^32 - 1", "npy: shape",
                            in->start + at, NPU_MOST_AXES, array->rank);
        }
        array->shape[array->rank++] = size;
        array->scalars *= size;
        while (at < in->length && (in->text[at] == ',' || in->text[at] == ' ')) {
            at++;
        }
    }
    if (at >= in->length) {
        return npu_fail(error, NPU_SYNTAX, "the tuple does not end", "npy: shape", in->start + at, 0, 0);
    }
    return NPU_OK;
}

npu_code npu_npy_read(const void *bytes, size_t length, npu_array *array, npu_error *error)
{
    const uint8_t *file = bytes;
    if (length < 12 || memcmp(file, "\x93NUMPY", 6) != 0 || file[6] < 1 || file[6] > 3) {
        return npu_fail(error, NPU_SYNTAX, "is not an .npy file of version 1 to 3", "npy", 0, 12, length);
    }
    size_t start = file[6] == 1 ? 10 : 12;
    uint64_t size = (uint64_t)file[8] | (uint64_t)file[9] << 8;
    if (file[6] > 1) {
        size |= (uint64_t)file[10] << 16 | (uint64_t)file[11] << 24;
    }
    if (size > length - start) {
        return npu_fail(error, NPU_SYNTAX, "the header ends beyond the file", "npy", start, size, length - start);
    }
    head in = {(const char *)file + start, (size_t)size, start};
    npu_code code = read_element(&in, array, error);
    code = code == NPU_OK ? read_order(&in, error) : code;
    code = code == NPU_OK ? read_shape(&in, array, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    uint64_t data = length - start - size;
    uint64_t expected = array->scalars * npu_element_bytes(array->element);
    if (data != expected) {
        return npu_fail(error, NPU_LENGTH, "the length of the data does not match the shape", "npy", start + size, expected,
                        data);
    }
    array->data = file + start + size;
    return NPU_OK;
}

/* ---- writing ---- */

static size_t put(char *text, size_t at, const char *words)
{
    size_t length = strlen(words);
    memcpy(text + at, words, length);
    return at + length;
}

static size_t put_number(char *text, size_t at, uint64_t number)
{
    char digits[21];
    size_t first = sizeof digits;
    digits[--first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return put(text, at, digits + first);
}

npu_code npu_npy_head(const npu_array *array, uint8_t *out, size_t *length, npu_error *error)
{
    if (array->rank > NPU_MOST_AXES) {
        return npu_fail(error, NPU_CAPACITY, "an array has at most 8 axes", "npy", 0, NPU_MOST_AXES, array->rank);
    }
    char *text = (char *)out;
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    size_t at = put(text, 10, "{'descr': '");
    at = put(text, at, element_name(array->element));
    at = put(text, at, "', 'fortran_order': False, 'shape': (");
    for (uint32_t axis = 0; axis < array->rank; axis++) {
        at = put_number(text, at, array->shape[axis]);
        at = put(text, at, array->rank == 1 ? "," : axis + 1 < array->rank ? ", " : "");
    }
    at = put(text, at, "), }");
    /* The data begins at a multiple of 64, after the line feed of the header. */
    while ((at + 1) % 64 != 0) {
        text[at++] = ' ';
    }
    text[at++] = '\n';
    out[8] = (uint8_t)((at - 10) & 0xFF);
    out[9] = (uint8_t)((at - 10) >> 8);
    *length = at;
    return NPU_OK;
}

/* ---- elements ---- */

static uint64_t bits_of(const npu_array *array, uint64_t place)
{
    size_t bytes = npu_element_bytes(array->element);
    const uint8_t *from = array->data + place * bytes;
    uint64_t bits = 0;
    for (size_t byte = 0; byte < bytes; byte++) {
        bits |= (uint64_t)from[byte] << (8 * byte);
    }
    return bits;
}

/* Integer value of the low `width` bits in two's complement. */
static int64_t signed_of(uint64_t bits, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    bits &= sign | (sign - 1);
    /* Computed from both halves, to avoid overflow. */
    return (int64_t)(bits & (sign - 1)) - (int64_t)((bits & sign) >> 1) - (int64_t)((bits & sign) >> 1);
}

int npu_array_is_raw(const npu_array *array)
{
    return array->element != NPU_FLOAT32 && array->element != NPU_FLOAT64;
}

npu_code npu_array_raw(const npu_array *array, uint64_t place, int32_t *raw, npu_error *error)
{
    uint64_t bits = bits_of(array, place);
    int64_t value = 0;
    switch (array->element) {
    case NPU_INT8: value = signed_of(bits, 8); break;
    case NPU_INT16: value = signed_of(bits, 16); break;
    case NPU_INT32: value = signed_of(bits, 32); break;
    case NPU_INT64: value = signed_of(bits, 64); break;
    case NPU_UINT8: value = (int64_t)bits; break;
    default: return npu_fail(error, NPU_ARGUMENT, "the array has real values", "npy", place, 0, 0);
    }
    if (value < INT32_MIN || value > INT32_MAX) {
        return npu_fail(error, NPU_RANGE, "an element does not fit 32 bits", "npy", place, 0, bits);
    }
    *raw = (int32_t)value;
    return NPU_OK;
}

float npu_array_real(const npu_array *array, uint64_t place)
{
    uint64_t bits = bits_of(array, place);
    if (array->element == NPU_FLOAT32) {
        uint32_t word = (uint32_t)bits;
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    if (array->element == NPU_FLOAT64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return (float)value;
    }
    return (float)signed_of(bits, (unsigned)(8 * npu_element_bytes(array->element)));
}
