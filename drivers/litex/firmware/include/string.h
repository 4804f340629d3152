/* Functions of memory.c, which the driver expects from a C library. */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);
size_t strlen(const char *text);
char *strchr(const char *text, int wanted);

#endif
