/* What went wrong: npu_code, and npu_error with the place and the numbers.
 *
 * Every function that can fail returns an npu_code and fills an npu_error, which may be NULL. Nothing is printed and
 * nothing aborts. On NPU_OK the npu_error is left alone. */
#ifndef NPUKIT_ERROR_H
#define NPUKIT_ERROR_H

#include <stddef.h>
#include <stdint.h>

typedef enum npu_code {
    NPU_OK = 0,
    /* An argument that the caller controls: a null pointer, a size, an alignment. */
    NPU_ARGUMENT = 1,
    /* Bytes of a file that are not of its format; `address` is the offset in the file. */
    NPU_SYNTAX = 2,
    /* A key of a manifest that is missing or not legal; `where` is the key. */
    NPU_MANIFEST = 3,
    /* A program for another instance than the board has. */
    NPU_ARCHITECTURE = 4,
    /* A file or tensor of another length than it must have. */
    NPU_LENGTH = 5,
    /* A range beyond a memory, a file or a field. */
    NPU_RANGE = 6,
    /* More entries than the fixed tables of this driver hold. */
    NPU_CAPACITY = 7,
    /* Legal, and not something that this driver or the described hardware can do. */
    NPU_UNSUPPORTED = 8,
    /* An access to a register or to memory that failed; `address` is the bus address. */
    NPU_BUS = 9,
    /* The hardware did not answer in time; `expected` is the limit in microseconds. */
    NPU_TIMEOUT = 10,
    /* A DMA engine reports an error; `actual` is its status register. */
    NPU_DMA = 11,
    /* An instruction without meaning, or one that the driver's protocol forbids; `address` is its index. */
    NPU_PROGRAM = 12,
    /* Data from the hardware that cannot be: damaged samples, a status word with an error. */
    NPU_DATA = 13,
    /* A call to the operating system that failed; `actual` is its errno. */
    NPU_SYSTEM = 14,
    /* A function called in the wrong order. */
    NPU_STATE = 15
} npu_code;

/* Where and why. What a number means is said by `what`; numbers that mean nothing are 0. */
typedef struct npu_error {
    npu_code code;
    const char *what;  /* a sentence; static */
    const char *where; /* the key, register or memory; static, may be NULL */
    uint64_t address;  /* bus address, offset in a file, or index */
    uint64_t expected;
    uint64_t actual;
} npu_error;

/* The name of a code, as "NPU_TIMEOUT". */
const char *npu_code_name(npu_code code);

/* Writes the error as one line into `text`, which always ends in a zero when `size` is not 0. Returns `text`. */
char *npu_error_text(const npu_error *error, char *text, size_t size);

/* Fills `error` and returns `code`: how every function of this library fails. */
npu_code npu_fail(npu_error *error, npu_code code, const char *what, const char *where, uint64_t address,
                  uint64_t expected, uint64_t actual);

#endif
