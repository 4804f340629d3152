/* NumPy's `.npy`: reading and writing of an array's header. Supports little-endian, row-major arrays of int8, int16,
 * int32, int64, uint8, float32 and float64. */
#ifndef NPUKIT_NPY_H
#define NPUKIT_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "npukit/error.h"
#include "npukit/layout.h"

typedef enum npu_element {
    NPU_INT8,
    NPU_INT16,
    NPU_INT32,
    NPU_INT64,
    NPU_UINT8,
    NPU_FLOAT32,
    NPU_FLOAT64
} npu_element;

enum { NPU_NPY_HEAD = 320 };

typedef struct npu_array {
    npu_element element;
    uint32_t rank;
    uint64_t shape[NPU_MOST_AXES];
    uint64_t scalars;
    const uint8_t *data; /* data of an array that was read */
} npu_array;

size_t npu_element_bytes(npu_element element);

/* Reads the array of a whole file. Returns NPU_SYNTAX with the offset, or NPU_LENGTH if the data does not match the
 * shape. */
npu_code npu_npy_read(const void *bytes, size_t length, npu_array *array, npu_error *error);

/* Writes the header of a file into `head` of NPU_NPY_HEAD bytes; `length` receives its length. The data follows it. */
npu_code npu_npy_head(const npu_array *array, uint8_t *head, size_t *length, npu_error *error);

/* Whether the elements are integers. */
int npu_array_is_raw(const npu_array *array);
/* Returns an element of an array as the machine's integer; NPU_RANGE if it does not fit 32 bits. */
npu_code npu_array_raw(const npu_array *array, uint64_t place, int32_t *raw, npu_error *error);
/* Returns an element of an array as a real value. */
float npu_array_real(const npu_array *array, uint64_t place);

#endif
