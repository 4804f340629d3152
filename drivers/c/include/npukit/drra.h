/* DRRA: a fabric of cells. Programs are loaded into each row from the west, and then called.
 *
 * The documented protocol: a word travels east with an instruction memory address and a number of hops; the cell that
 * uses up the hops stores it. A call starts each row at its first column. A row returns when all of its cells have
 * halted. Input and output buffers are rows of 256 bits. Bus registers are not documented: the caller provides the
 * functions of npu_drra_port. Source: the DRRA specification, 3.1, 3.2, 6.4.
 *
 * Files are `instr.bin` and memory images, in binary or hexadecimal digits. Manifests (`.drra`) are not supported. */
#ifndef NPUKIT_DRRA_H
#define NPUKIT_DRRA_H

#include "npukit/error.h"
#include "npukit/hal.h"

enum { NPU_DRRA_ROW_BYTES = 32, NPU_DRRA_MOST_CELLS = 256 };

/* Signals of a fabric, implemented by the caller. */
typedef struct npu_drra_port {
    void *context;
    /* Sends a word into a row from the west: `hops` cells far, to `address` of that cell's instruction memory. */
    npu_code (*load)(void *context, uint32_t row, uint32_t hops, uint32_t address, uint32_t word, npu_error *error);
    /* Starts all rows at the same time. */
    npu_code (*call)(void *context, npu_error *error);
    /* Whether a row has returned since the call. Returns an error if the fabric reports one. */
    npu_code (*returned)(void *context, uint32_t row, bool *returned, npu_error *error);
    /* Access to rows of the buffers: 16 elements of 16 bits, element 0 first, little-endian. */
    npu_code (*write_input)(void *context, uint32_t row, const uint8_t *bytes, npu_error *error);
    npu_code (*read_output)(void *context, uint32_t row, uint8_t *bytes, npu_error *error);
} npu_drra_port;

/* Sizes of a fabric, from `npu targets` or its file. */
typedef struct npu_drra_fabric {
    uint32_t rows, columns;
    uint32_t words; /* loadable words of a cell's instruction memory: 64 on the released fabric */
    uint32_t input_rows, output_rows;
} npu_drra_fabric;

typedef struct npu_drra {
    const npu_hal *hal; /* only its clock is used; other functions may be NULL */
    npu_drra_port port;
    npu_drra_fabric fabric;
    uint32_t timeout_us;
    bool loaded;
} npu_drra;

npu_code npu_drra_open(npu_drra *drra, const npu_hal *hal, npu_drra_port port, npu_drra_fabric fabric,
                       uint32_t timeout_us, npu_error *error);
/* Loads `instr.bin`. Unlisted cells get the word 0, a halt. Returns NPU_SYNTAX with the line; nothing is sent before
 * the whole text was read. */
npu_code npu_drra_load(npu_drra *drra, const void *text, size_t length, npu_error *error);
/* Writes the rows of an image (`sram_image_in.bin`) to the input buffer. `count` receives their number and may be
 * NULL. */
npu_code npu_drra_write_image(npu_drra *drra, const void *text, size_t length, uint32_t *count, npu_error *error);
/* Write and read a row of 16 elements. */
npu_code npu_drra_write_row(npu_drra *drra, uint32_t row, const int16_t *elements, npu_error *error);
npu_code npu_drra_read_row(npu_drra *drra, uint32_t row, int16_t *elements, npu_error *error);
/* Calls the program and waits until every row has returned. */
npu_code npu_drra_run(npu_drra *drra, npu_error *error);

#endif
