/* The OPU: an accelerator that executes words from a memory of 2^32 bytes, which it shares with the processor.
 *
 * Its document defines the memory content, and that execution begins at a word at a multiple of 64. It does not define
 * how a host starts execution and detects its end: the caller provides the two functions of npu_opu_start. The rest is
 * here: the manifest (`.opu.toml`), the program, the segments of the image, and tensors in feature maps. Source: the
 * OPU specification, 3.4, 3.5, 4.2 and 7.6. */
#ifndef NPUKIT_OPU_H
#define NPUKIT_OPU_H

#include "npukit/error.h"
#include "npukit/hal.h"
#include "npukit/json.h"
#include "npukit/layout.h"
#include "npukit/npy.h"
#include "npukit/number.h"

enum { NPU_OPU_SEGMENTS = 64, NPU_OPU_MAPS = 8, NPU_OPU_GROUPS = 2048, NPU_OPU_SLOT = 64 };

/* Bytes of the image file, and their address. */
typedef struct npu_opu_segment {
    uint32_t offset;
    uint32_t bytes;
    uint32_t address;
} npu_opu_segment;

/* Up to 64 channels of a map. */
typedef struct npu_opu_group {
    uint32_t address;
    uint32_t channels;
    uint32_t lanes; /* elements of a slot that a driver writes; zeros follow the channels */
} npu_opu_group;

/* An input or output: a tensor of the model, and its feature map in memory. */
typedef struct npu_opu_map {
    npu_text name;
    npu_layout layout; /* shape and perm: rows, columns, channels */
    int32_t fraction;  /* the real value of an element v is v * 2^-fraction */
    bool patches;      /* whether the map holds patches of the tensor */
    uint32_t kernel[2], stride[2], padding[2];
    uint32_t height, width, pitch;
    uint32_t top, left, bottom, right;
    uint32_t first_group, groups;
} npu_opu_map;

typedef struct npu_opu_model {
    npu_text name;
    npu_text program_file;
    uint32_t program_address;
    uint32_t program_words;
    npu_text image_file; /* file of all segments */
    npu_fixed element;   /* element type of maps; width 0 for a floating-point type, which only supports raw bits */
    uint32_t element_bytes;
    size_t segments, inputs, outputs, groups;
    npu_opu_segment segment[NPU_OPU_SEGMENTS];
    npu_opu_map input[NPU_OPU_MAPS];
    npu_opu_map output[NPU_OPU_MAPS];
    npu_opu_group group[NPU_OPU_GROUPS];
} npu_opu_model;

npu_code npu_opu_model_parse(const void *text, size_t length, npu_opu_model *model, npu_error *error);

/* Functions that start the machine, which are not documented and thus provided by the caller. */
typedef struct npu_opu_start {
    void *context;
    /* Makes the machine execute words starting at this address of its memory. */
    npu_code (*begin)(void *context, uint32_t address, npu_error *error);
    /* Whether the machine has reached `end`. Returns an error if the machine reports one. */
    npu_code (*ended)(void *context, bool *ended, npu_error *error);
} npu_opu_start;

typedef struct npu_opu {
    const npu_hal *hal;
    npu_region memory; /* bus addresses of the machine's memory, starting at its address 0 */
    npu_opu_start start;
    uint32_t timeout_us;
    const npu_opu_model *model;
    bool open;
} npu_opu;

npu_code npu_opu_open(npu_opu *opu, const npu_hal *hal, npu_region memory, npu_opu_start start,
                      uint32_t timeout_us, npu_error *error);
/* Writes program and image. Returns NPU_RANGE if a part is outside the memory, or if parts overlap. */
npu_code npu_opu_load(npu_opu *opu, const npu_opu_model *model, const void *words, size_t word_bytes,
                      const void *image, size_t image_bytes, npu_error *error);
/* Writes an input: real values, converted by floor(x * 2^fraction + 1/2) and saturated, or raw elements. */
npu_code npu_opu_write(npu_opu *opu, const char *name, const npu_array *array, uint64_t *saturated, npu_error *error);
/* Runs the program to its end. */
npu_code npu_opu_run(npu_opu *opu, npu_error *error);
/* Reads the raw elements of an output, in the model's order. */
npu_code npu_opu_read_raw(npu_opu *opu, const char *name, int32_t *values, uint64_t count, npu_error *error);

#endif
