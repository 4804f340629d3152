/* Hardware access of the drivers: npu_hal, a table of functions. bare_metal.h, linux.h and socket.h each provide a back
 * end; a new one is about a page of code.
 *
 * Addresses are bus addresses, as used by DMA engines and accelerators. A back end translates them to the processor's.
 * Functions return false if the access failed; the driver then returns NPU_BUS with the address. */
#ifndef NPUKIT_HAL_H
#define NPUKIT_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npukit/error.h"

typedef struct npu_hal {
    void *context;
    /* 32-bit registers, with one access each. */
    bool (*read32)(void *context, uint64_t address, uint32_t *value);
    bool (*write32)(void *context, uint64_t address, uint32_t value);
    /* 64-bit registers, with one access each; NULL if the bus does not support them. Only pccx needs them. */
    bool (*read64)(void *context, uint64_t address, uint64_t *value);
    bool (*write64)(void *context, uint64_t address, uint64_t value);
    /* Memory shared by processor and accelerator. */
    bool (*read_memory)(void *context, uint64_t address, void *to, size_t bytes);
    bool (*write_memory)(void *context, uint64_t address, const void *from, size_t bytes);
    /* Caches: `flush` makes writes of the processor visible to the bus, `invalidate` makes writes of the bus visible to
     * the processor. NULL if memory is coherent or not cached. */
    bool (*flush)(void *context, uint64_t address, uint64_t bytes);
    bool (*invalidate)(void *context, uint64_t address, uint64_t bytes);
    /* Time in microseconds from an arbitrary start. It must advance while a driver waits. */
    uint64_t (*now_us)(void *context);
    /* Called between two polls of a register while a driver waits; may be NULL. */
    void (*wait_us)(void *context, uint32_t microseconds);
} npu_hal;

/* A range of bus addresses. */
typedef struct npu_region {
    uint64_t address;
    uint64_t bytes;
} npu_region;

/* Whether the table has all functions that every driver needs. */
npu_code npu_hal_check(const npu_hal *hal, npu_error *error);

/* Functions of the table, with errors. `name` is the register or memory, for errors. */
npu_code npu_read32(const npu_hal *hal, const char *name, uint64_t address, uint32_t *value, npu_error *error);
npu_code npu_write32(const npu_hal *hal, const char *name, uint64_t address, uint32_t value, npu_error *error);
npu_code npu_read64(const npu_hal *hal, const char *name, uint64_t address, uint64_t *value, npu_error *error);
npu_code npu_write64(const npu_hal *hal, const char *name, uint64_t address, uint64_t value, npu_error *error);
/* Reads memory written by the bus: invalidates caches first. */
npu_code npu_read_memory(const npu_hal *hal, const char *name, uint64_t address, void *to, size_t bytes,
                         npu_error *error);
/* Writes memory for the bus: flushes caches afterwards. */
npu_code npu_write_memory(const npu_hal *hal, const char *name, uint64_t address, const void *from, size_t bytes,
                          npu_error *error);
/* Fills memory with one byte value. */
npu_code npu_fill_memory(const npu_hal *hal, const char *name, uint64_t address, uint8_t value, uint64_t bytes,
                         npu_error *error);

/* Whether `bytes` bytes at `offset` are within `region`. */
bool npu_region_holds(const npu_region *region, uint64_t offset, uint64_t bytes);
/* Whether two regions overlap. */
bool npu_regions_overlap(const npu_region *a, const npu_region *b);

/* A wait with a limit. Begin it, then check it after each poll of the hardware. The pause between two polls grows to 64
 * microseconds. If the clock stands still, the wait ends after as many polls as the limit has microseconds. */
typedef struct npu_deadline {
    const npu_hal *hal;
    uint64_t start_us;
    uint64_t looks;
    uint32_t limit_us;
} npu_deadline;

npu_deadline npu_deadline_begin(const npu_hal *hal, uint32_t limit_us);
/* Whether the limit has passed; otherwise pauses briefly. */
bool npu_deadline_passed(npu_deadline *deadline);

#endif
