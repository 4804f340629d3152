/* Assertions of the tests. A failure prints its place, and makes the process fail at its end. */
#ifndef NPUKIT_TESTS_CHECK_H
#define NPUKIT_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static int failures;

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
            failures++;                                                            \
        }                                                                          \
    } while (0)

#define FINISH() return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE

#endif
