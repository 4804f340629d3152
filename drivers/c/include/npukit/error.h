/* Errors: npu_code, and npu_error with the place and the values.
 *
 * Every function that can fail returns an npu_code and fills an npu_error, which may be NULL. The library does not
 * print or abort. On NPU_OK, the npu_error is not changed. */
#ifndef NPUKIT_ERROR_H
#define NPUKIT_ERROR_H

#include <stddef.h>
#include <stdint.h>

typedef enum npu_code {
    NPU_OK = 0,
    /* Invalid argument of the caller: a null pointer, a size, an alignment. */
    NPU_ARGUMENT = 1,
    /* Bytes of a file that do not follow its format; `address` is the offset in the file. */
    NPU_SYNTAX = 2,
    /* Missing or illegal key of a manifest; `where` is the key. */
    NPU_MANIFEST = 3,
    /* A program for an instance other than the board's. */
    NPU_ARCHITECTURE = 4,
    /* A file or tensor of the wrong length. */
    NPU_LENGTH = 5,
    /* A range beyond a memory, a file or a field. */
    NPU_RANGE = 6,
    /* More entries than the fixed tables of this driver hold. */
    NPU_CAPACITY = 7,
    /* Legal, but not supported by this driver or the documented hardware. */
    NPU_UNSUPPORTED = 8,
    /* A failed access to a register or to memory; `address` is the bus address. */
    NPU_BUS = 9,
    /* The hardware did not answer in time; `expected` is the limit in microseconds. */
    NPU_TIMEOUT = 10,
    /* A DMA engine reports an error; `actual` is its status register. */
    NPU_DMA = 11,
    /* An invalid instruction, or one that the driver's protocol forbids; `address` is its index. */
    NPU_PROGRAM = 12,
    /* Impossible data from the hardware: damaged samples, a status word with an error. */
    NPU_DATA = 13,
    /* A failed call to the operating system; `actual` is its errno. */
    NPU_SYSTEM = 14,
    /* A function was called in the wrong order. */
    NPU_STATE = 15
} npu_code;

/* Place and cause of an error. `what` explains the numbers; unused numbers are 0. */
typedef struct npu_error {
    npu_code code;
    const char *what;  /* message; static */
    const char *where; /* key, register or memory; static, may be NULL */
    uint64_t address;  /* bus address, offset in a file, or index */
    uint64_t expected;
    uint64_t actual;
} npu_error;

/* Name of a code, for example "NPU_TIMEOUT". */
const char *npu_code_name(npu_code code);

/* Writes the error as one line into `text`, terminated by a zero if `size` is not 0. Returns `text`. */
char *npu_error_text(const npu_error *error, char *text, size_t size);

/* Fills `error` and returns `code`; used by all functions of this library. */
npu_code npu_fail(npu_error *error, npu_code code, const char *what, const char *where, uint64_t address,
                  uint64_t expected, uint64_t actual);

#endif
