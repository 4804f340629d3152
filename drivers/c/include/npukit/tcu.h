/* The TCU: Tensil's tensor compute unit with an AXI DMA engine.
 *
 * A board has a DMA engine that streams instructions to the unit, two banks of memory that both access, and optionally
 * a DMA engine for performance samples. The unit has no bus registers. Its registers are written by Configure
 * instructions in the stream, and cannot be read. Source: the TCU specification, 6.4, 9.7 and 9.8.
 *
 *     npu_tcu_model_parse   parses the .tmodel; the caller holds the other files as bytes
 *     npu_tcu_open          resets the DMA engines, configures the unit, checks that it answers
 *     npu_tcu_load          checks the program, writes the constants
 *     npu_tcu_write_*       writes inputs
 *     npu_tcu_run           streams the program and waits until it has ended
 *     npu_tcu_read_*        reads outputs
 *
 * Nothing is allocated: a model points into its text, and the program is streamed from where it is. */
#ifndef NPUKIT_TCU_H
#define NPUKIT_TCU_H

#include "npukit/axi_dma.h"
#include "npukit/error.h"
#include "npukit/hal.h"
#include "npukit/json.h"
#include "npukit/layout.h"
#include "npukit/npy.h"
#include "npukit/number.h"

/* ---- the instance ---- */

typedef enum npu_tcu_type {
    NPU_TCU_FP8BP4,
    NPU_TCU_FP16BP8,
    NPU_TCU_FP18BP10,
    NPU_TCU_FP32BP16
} npu_tcu_type;

/* Keys of a `.tarch`. Depths are in vectors of array_size scalars. */
typedef struct npu_tcu_arch {
    npu_tcu_type type;
    uint32_t array_size;
    uint64_t dram0_depth;
    uint64_t dram1_depth;
    uint64_t local_depth;
    uint64_t accumulator_depth;
    uint32_t simd_registers_depth;
    uint32_t stride0_depth;
    uint32_t stride1_depth;
    uint32_t lookup_tables; /* 0 on every published instance */
} npu_tcu_arch;

/* Parses the instance in a `.tarch`. Returns NPU_UNSUPPORTED for FLOAT32 and two threads, which no circuit supports. */
npu_code npu_tcu_arch_parse(const void *text, size_t length, npu_tcu_arch *arch, npu_error *error);
/* Compares two instances. Returns NPU_ARCHITECTURE with the first different key. */
npu_code npu_tcu_arch_same(const npu_tcu_arch *model, const npu_tcu_arch *board, npu_error *error);
/* Number format of the instance's scalars. */
npu_fixed npu_tcu_format(const npu_tcu_arch *arch);
/* Size of a vector in DRAM, in bytes. */
uint64_t npu_tcu_vector_bytes(const npu_tcu_arch *arch);

/* ---- instructions ---- */

/* Positions and widths of the fields of an instruction, in bits. Source: specification, 3.1 and 3.2. */
typedef struct npu_tcu_fields {
    uint32_t address0, stride0; /* of operand 0, starting at bit 0 */
    uint32_t operand1, address1, stride1;
    uint32_t operand2, value2;
    uint32_t header; /* first bit: 4 bits of flags, then 4 bits of opcode */
    uint32_t bytes;  /* size of an instruction, at most 27 */
} npu_tcu_fields;

enum { NPU_TCU_MOST_INSTRUCTION_BYTES = 32 };

npu_tcu_fields npu_tcu_fields_of(const npu_tcu_arch *arch);

/* Kinds of DataMove that a host needs; the values are the instruction's flags. */
typedef enum npu_tcu_move {
    NPU_TCU_DRAM0_TO_LOCAL = 0x0,
    NPU_TCU_LOCAL_TO_DRAM0 = 0x1,
    NPU_TCU_DRAM1_TO_LOCAL = 0x2,
    NPU_TCU_LOCAL_TO_DRAM1 = 0x3
} npu_tcu_move;

/* Encodes a DataMove of `size` vectors without strides into NPU_TCU_MOST_INSTRUCTION_BYTES bytes. Returns NPU_RANGE
 * outside the memories. */
npu_code npu_tcu_encode_move(const npu_tcu_arch *arch, npu_tcu_move kind, uint64_t local, uint64_t dram,
                             uint64_t size, uint8_t *bytes, npu_error *error);

typedef enum npu_tcu_register {
    NPU_TCU_DRAM0_OFFSET = 0x0, /* in units of 64 KiB; reserved for the driver */
    NPU_TCU_DRAM0_CACHE = 0x1,
    NPU_TCU_DRAM1_OFFSET = 0x4, /* in units of 64 KiB; reserved for the driver */
    NPU_TCU_DRAM1_CACHE = 0x5,
    NPU_TCU_TIMEOUT = 0x8,
    NPU_TCU_TRACEPOINT = 0x9,
    NPU_TCU_PROGRAM_COUNTER = 0xA,
    NPU_TCU_SAMPLE_INTERVAL = 0xB
} npu_tcu_register;

/* Encodes a Configure. Returns NPU_RANGE for a value that does not fit the register. */
npu_code npu_tcu_encode_configure(const npu_tcu_arch *arch, npu_tcu_register number, uint32_t value,
                                  uint8_t *bytes, npu_error *error);

/* Checks that every instruction is valid, stays within its DRAM, and does not use what the driver needs: the last two
 * vectors of DRAM0, and the offset registers. Returns NPU_PROGRAM with the index and the opcode and flags, or the
 * vector. */
npu_code npu_tcu_check_program(const npu_tcu_arch *arch, const void *program, size_t bytes, npu_error *error);

/* ---- the manifest ---- */

enum { NPU_TCU_MOST_PIECES = 16 };

/* A run of vectors of DRAM0 that belongs to an input or output; pieces of one name are adjacent. */
typedef struct npu_tcu_piece {
    npu_text name;
    uint64_t base;
    uint64_t size;
} npu_tcu_piece;

typedef struct npu_tcu_pieces {
    size_t count;
    npu_tcu_piece pieces[NPU_TCU_MOST_PIECES];
} npu_tcu_pieces;

/* Content of a `.tmodel`. */
typedef struct npu_tcu_model {
    npu_text name;
    npu_tcu_arch arch;
    npu_text program_file; /* file next to the manifest */
    uint64_t program_bytes; /* 0 disables the check */
    npu_text constants_file;
    uint64_t constants_size; /* in vectors, starting at vector 0 of DRAM1 */
    bool constants_to_local;
    npu_tcu_pieces inputs;
    npu_tcu_pieces outputs;
} npu_tcu_model;

npu_code npu_tcu_model_parse(const void *text, size_t length, npu_tcu_model *model, npu_error *error);
/* Number of vectors of all pieces of a name; 0 if it does not exist. */
uint64_t npu_tcu_vectors(const npu_tcu_pieces *pieces, const char *name);
/* Reads the layout of an input ("inputs") or output ("outputs") from `NAME.npukit.json`. Returns NPU_MANIFEST if it has
 * none. */
npu_code npu_tcu_layout(const npu_json *sidecar, const char *list, const char *name, npu_layout *layout,
                        npu_error *error);

/* ---- the board ---- */

typedef struct npu_tcu_board {
    uint64_t instruction_dma; /* registers of the DMA engine of instructions */
    bool has_samples;
    uint64_t sample_dma;
    /* Whole banks, at multiples of 64 KiB below 2^32, at least as large as the instance's depths. */
    npu_region dram0;
    npu_region dram1;
    /* Buffer of instructions for the DMA engine, of at least one beat. A larger one needs fewer transfers. */
    npu_region staging;
    npu_region samples; /* buffer of samples */
    uint32_t stream_bytes; /* width of the instruction stream, a power of two; addresses and lengths must be multiples of it */
    uint32_t max_transfer; /* maximum length of a transfer: 2^n - 1 for a length register of n bits */
    uint32_t sample_block; /* number of samples between two TLAST */
    uint32_t timeout_us;   /* for each transfer, the end of a program, and a block of samples */
    uint32_t decoder_timeout; /* register 8, in cycles; 100 after a reset */
    uint32_t cache0, cache1;  /* AxCACHE of the banks; 0 after a reset */
} npu_tcu_board;

enum { NPU_TCU_SCRATCH = 1024, NPU_TCU_REGISTERS = 16 };

/* A board in use. All fields are internal to the driver. */
typedef struct npu_tcu {
    const npu_hal *hal;
    npu_tcu_board board;
    npu_tcu_arch arch;
    npu_tcu_fields fields;
    npu_dma instructions;
    npu_dma samples;
    uint32_t staged;
    uint32_t capacity;
    const npu_tcu_model *model;
    const uint8_t *program;
    size_t program_bytes;
    bool open;
    bool constants_are_local;
    bool sampling;
    uint32_t interval;
    uint64_t sample_bytes;
    uint32_t sample_transfer;
    bool samples_lost;
    uint32_t written[NPU_TCU_REGISTERS];
    uint8_t scratch[NPU_TCU_SCRATCH];
} npu_tcu;

/* Opens the board: resets the DMA engines, configures the unit and checks that it moves a vector. After an error of a
 * later function that accesses the board (NPU_BUS, NPU_DMA, NPU_TIMEOUT), the unit may hold part of an instruction.
 * Reset the unit, which only the platform can, and open it again; until then functions return NPU_STATE. */
npu_code npu_tcu_open(npu_tcu *tcu, const npu_hal *hal, const npu_tcu_arch *arch, const npu_tcu_board *board,
                      npu_error *error);

/* Checks model, program and constants, and writes the constants to DRAM1. `model` and `program` must remain at their
 * addresses. */
npu_code npu_tcu_load(npu_tcu *tcu, const npu_tcu_model *model, const void *program, size_t program_bytes,
                      const void *constants, size_t constants_bytes, npu_error *error);

/* Writes an input. With a layout, the scalars are the model's, in its order. With NULL, they are whole vectors, lane by
 * lane, as in memory. `count` is checked. Real values are divided by two to the power of the layout's exponent when
 * written, and multiplied when read; raw ones are stored unchanged. `saturated` receives the number of values that did
 * not fit, and may be NULL. */
npu_code npu_tcu_write_reals(npu_tcu *tcu, const char *name, const float *values, uint64_t count,
                             const npu_layout *layout, uint64_t *saturated, npu_error *error);
npu_code npu_tcu_write_raw(npu_tcu *tcu, const char *name, const int32_t *values, uint64_t count,
                           const npu_layout *layout, npu_error *error);
/* Writes an array of real values, which are converted, or of integers, which are stored unchanged. */
npu_code npu_tcu_write_array(npu_tcu *tcu, const char *name, const npu_array *array, const npu_layout *layout,
                             uint64_t *saturated, npu_error *error);

/* Runs the loaded program to its end. */
npu_code npu_tcu_run(npu_tcu *tcu, npu_error *error);

/* Reads an output; arguments as in npu_tcu_write_reals. */
npu_code npu_tcu_read_reals(npu_tcu *tcu, const char *name, float *values, uint64_t count,
                            const npu_layout *layout, npu_error *error);
npu_code npu_tcu_read_raw(npu_tcu *tcu, const char *name, int32_t *values, uint64_t count,
                          const npu_layout *layout, npu_error *error);
/* Read or write whole vectors of a bank (0 or 1) as they are in memory. */
npu_code npu_tcu_read_bank(npu_tcu *tcu, unsigned bank, uint64_t vector, void *bytes, size_t count,
                           npu_error *error);

/* Writes a configuration register and waits until it is written. Returns NPU_ARGUMENT for the offsets, which the driver
 * sets. */
npu_code npu_tcu_configure(npu_tcu *tcu, npu_tcu_register number, uint32_t value, npu_error *error);

/* Returns the known state of the registers: the values written to the unit's, which cannot be read, and the status of
 * the DMA engines. */
typedef struct npu_tcu_status {
    uint32_t written[NPU_TCU_REGISTERS];
    uint32_t instruction_dma;
    uint32_t sample_dma; /* 0 on a board without samples */
} npu_tcu_status;
npu_code npu_tcu_status_read(npu_tcu *tcu, npu_tcu_status *status, npu_error *error);

/* Takes a sample every `interval` cycles during the next runs; 0 disables samples. */
npu_code npu_tcu_sample(npu_tcu *tcu, uint32_t interval, npu_error *error);
/* Number of samples of the last run, and whether the buffer was too small for all samples. */
uint64_t npu_tcu_samples(const npu_tcu *tcu, bool *lost);
/* Copies samples. Returns NPU_DATA with the index for an invalid word. As consecutive little-endian words they form a
 * file that `npu time --from-samples` reads. */
npu_code npu_tcu_read_samples(npu_tcu *tcu, uint64_t first, uint64_t *words, size_t count, npu_error *error);

#endif
