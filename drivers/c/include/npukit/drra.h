/* DRRA: a fabric of cells whose programs are loaded from the west of each row, and called.
 *
 * What is described: a word travels east with an address of the instruction memory and a number of hops; the cell at which
 * the hops are used up stores it; a call starts a row at its first column, a row returns when all of its cells have halted;
 * input and output buffers are rows of 256 bits. No register of a bus is: these are functions of yours, npu_drra_port. Source:
 * the DRRA specification, 3.1, 3.2, 6.4.
 *
 * Files are `instr.bin` and memory images, in binary or hexadecimal digits. A manifest (`.drra`) is not read here. */
#ifndef NPUKIT_DRRA_H
#define NPUKIT_DRRA_H

#include "npukit/error.h"
#include "npukit/hal.h"

enum { NPU_DRRA_ROW_BYTES = 32, NPU_DRRA_MOST_CELLS = 256 };

/* The signals of a fabric. */
typedef struct npu_drra_port {
    void *context;
    /* Sends a word into a row from the west: `hops` cells on, to `address` of its instruction memory. */
    npu_code (*load)(void *context, uint32_t row, uint32_t hops, uint32_t address, uint32_t word, npu_error *error);
    /* Starts all rows at once. */
    npu_code (*call)(void *context, npu_error *error);
    /* Whether a row has returned since the call; an error when the fabric reports one. */
    npu_code (*returned)(void *context, uint32_t row, bool *returned, npu_error *error);
    /* Rows of the buffers: 16 elements of 16 bits, element 0 first, little-endian. */
    npu_code (*write_input)(void *context, uint32_t row, const uint8_t *bytes, npu_error *error);
    npu_code (*read_output)(void *context, uint32_t row, uint8_t *bytes, npu_error *error);
} npu_drra_port;

/* A fabric, as `npu targets` and its file say it. */
typedef struct npu_drra_fabric {
    uint32_t rows, columns;
    uint32_t words; /* of a cell's instruction memory that can be loaded: 64 on the released fabric */
    uint32_t input_rows, output_rows;
} npu_drra_fabric;

typedef struct npu_drra {
    const npu_hal *hal; /* for its clock; may have no other function */
    npu_drra_port port;
    npu_drra_fabric fabric;
    uint32_t timeout_us;
    bool loaded;
} npu_drra;

npu_code npu_drra_open(npu_drra *drra, const npu_hal *hal, npu_drra_port port, npu_drra_fabric fabric,
                       uint32_t timeout_us, npu_error *error);
/* Loads `instr.bin`. Cells that it does not list get a word 0, which is a halt. NPU_SYNTAX with the line; nothing is sent
 * before the whole text was read. */
npu_code npu_drra_load(npu_drra *drra, const void *text, size_t length, npu_error *error);
/* Writes the rows of an image (`sram_image_in.bin`) to the input buffer; `count`, which may be NULL, is how many. */
npu_code npu_drra_write_image(npu_drra *drra, const void *text, size_t length, uint32_t *count, npu_error *error);
/* Writes and reads a row of 16 elements. */
npu_code npu_drra_write_row(npu_drra *drra, uint32_t row, const int16_t *elements, npu_error *error);
npu_code npu_drra_read_row(npu_drra *drra, uint32_t row, int16_t *elements, npu_error *error);
/* Calls the program and waits until every row has returned. */
npu_code npu_drra_run(npu_drra *drra, npu_error *error);

#endif
