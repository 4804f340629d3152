#include "console.h"

#include "platform.h"

void print(const char *text)
{
    while (*text != '\0') {
        platform_put(*text++);
    }
}

void print_part(const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        platform_put(text[i]);
    }
}

void print_number(int64_t value)
{
    char digits[21];
    uint32_t count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    platform_put(' ');
    if (value < 0) {
        platform_put('-');
    }
    while (count > 0) {
        platform_put(digits[--count]);
    }
}

void print_field(const char *name, int64_t value)
{
    print(name);
    print_number(value);
}
