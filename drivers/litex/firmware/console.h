/* Output of texts and numbers. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void print(const char *text);
/* Prints `count` characters. */
void print_part(const char *text, uint32_t count);
/* Prints a number in decimal, after a space. */
void print_number(int64_t value);
/* Prints a text and a number. */
void print_field(const char *name, int64_t value);

#endif
