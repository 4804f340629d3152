/* Functions that the driver expects from a C library. Copies of aligned words are the only ones whose speed matters. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORD = sizeof(uint32_t) };

static int is_aligned(const void *a, const void *b)
{
    return (((uintptr_t)a | (uintptr_t)b) & (WORD - 1)) == 0;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if (is_aligned(out, in)) {
        for (; count >= WORD; count -= WORD, out += WORD, in += WORD) {
            *(uint32_t *)(void *)out = *(const uint32_t *)(const void *)in;
        }
    }
    while (count-- > 0) {
        *out++ = *in++;
    }
    return to;
}

void *memset(void *to, int value, size_t count)
{
    uint8_t *out = to;
    while (count-- > 0) {
        *out++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const uint8_t *left = a;
    const uint8_t *right = b;
    for (size_t i = 0; i < count; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

char *strchr(const char *text, int wanted)
{
    for (; *text != (char)wanted; text++) {
        if (*text == '\0') {
            return NULL;
        }
    }
    return (char *)(uintptr_t)text;
}
