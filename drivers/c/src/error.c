#include "npukit/error.h"

static const char *const NAMES[] = {
    "NPU_OK",          "NPU_ARGUMENT", "NPU_SYNTAX", "NPU_MANIFEST", "NPU_ARCHITECTURE", "NPU_LENGTH",
    "NPU_RANGE",       "NPU_CAPACITY", "NPU_UNSUPPORTED", "NPU_BUS", "NPU_TIMEOUT",      "NPU_DMA",
    "NPU_PROGRAM",     "NPU_DATA",     "NPU_SYSTEM", "NPU_STATE",
};

const char *npu_code_name(npu_code code)
{
    size_t index = (size_t)code;
    return index < sizeof NAMES / sizeof NAMES[0] ? NAMES[index] : "unknown code";
}

npu_code npu_fail(npu_error *error, npu_code code, const char *what, const char *where, uint64_t address,
                  uint64_t expected, uint64_t actual)
{
    if (error != NULL) {
        error->code = code;
        error->what = what;
        error->where = where;
        error->address = address;
        error->expected = expected;
        error->actual = actual;
    }
    return code;
}

/* A growing text of limited size; its last byte stays zero. */
typedef struct text {
    char *at;
    size_t left;
} text;

static void put(text *out, const char *words)
{
    while (*words != '\0' && out->left > 1) {
        *out->at++ = *words++;
        out->left--;
    }
    if (out->left > 0) {
        *out->at = '\0';
    }
}

static void put_hexadecimal(text *out, uint64_t value)
{
    char digits[19];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[value % 16];
        value /= 16;
    } while (value != 0);
    digits[--at] = 'x';
    digits[--at] = '0';
    put(out, digits + at);
}

static void put_decimal(text *out, uint64_t value)
{
    char digits[21];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put(out, digits + at);
}

char *npu_error_text(const npu_error *error, char *buffer, size_t size)
{
    text out = {buffer, size};
    if (size > 0) {
        buffer[0] = '\0';
    }
    if (error == NULL) {
        return buffer;
    }
    put(&out, npu_code_name(error->code));
    put(&out, ": ");
    if (error->where != NULL) {
        put(&out, error->where);
        put(&out, ": ");
    }
    put(&out, error->what != NULL ? error->what : "no reason");
    put(&out, " (at ");
    put_hexadecimal(&out, error->address);
    put(&out, ", expected ");
    put_decimal(&out, error->expected);
    put(&out, ", actual ");
    put_decimal(&out, error->actual);
    put(&out, " = ");
    put_hexadecimal(&out, error->actual);
    put(&out, ")");
    return buffer;
}
