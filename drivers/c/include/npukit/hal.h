/* The hardware as the drivers see it: npu_hal, a table of functions. A back end fills it: bare_metal.h, linux.h and
 * socket.h have one each, and one of your own is a page of code.
 *
 * Addresses are those of the bus: the ones that DMA engines and accelerators use. A back end translates them to the
 * processor's. Functions return false when the access failed; the driver then stops with NPU_BUS and the address. */
#ifndef NPUKIT_HAL_H
#define NPUKIT_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npukit/error.h"

typedef struct npu_hal {
    void *context;
    /* A register of 32 bits, one access each. */
    bool (*read32)(void *context, uint64_t address, uint32_t *value);
    bool (*write32)(void *context, uint64_t address, uint32_t value);
    /* A register of 64 bits, in one access; NULL on a bus that has none. Only pccx needs them. */
    bool (*read64)(void *context, uint64_t address, uint64_t *value);
    bool (*write64)(void *context, uint64_t address, uint64_t value);
    /* Memory that processor and accelerator share. */
    bool (*read_memory)(void *context, uint64_t address, void *to, size_t bytes);
    bool (*write_memory)(void *context, uint64_t address, const void *from, size_t bytes);
    /* Caches: `flush` makes what the processor wrote visible to the bus, `invalidate` makes what the bus wrote visible to
     * the processor. NULL where memory is coherent or mapped without a cache. */
    bool (*flush)(void *context, uint64_t address, uint64_t bytes);
    bool (*invalidate)(void *context, uint64_t address, uint64_t bytes);
    /* Microseconds since any moment; must not stand still while a driver waits. */
    uint64_t (*now_us)(void *context);
    /* Called between two looks at a register that a driver waits for; NULL for none. */
    void (*wait_us)(void *context, uint32_t microseconds);
} npu_hal;

/* A range of bus addresses. */
typedef struct npu_region {
    uint64_t address;
    uint64_t bytes;
} npu_region;

/* Whether the table has what every driver needs. */
npu_code npu_hal_check(const npu_hal *hal, npu_error *error);

/* The functions of the table, with errors. `name` is the register or memory, for errors. */
npu_code npu_read32(const npu_hal *hal, const char *name, uint64_t address, uint32_t *value, npu_error *error);
npu_code npu_write32(const npu_hal *hal, const char *name, uint64_t address, uint32_t value, npu_error *error);
npu_code npu_read64(const npu_hal *hal, const char *name, uint64_t address, uint64_t *value, npu_error *error);
npu_code npu_write64(const npu_hal *hal, const char *name, uint64_t address, uint64_t value, npu_error *error);
/* Reads what the bus wrote: invalidates first. */
npu_code npu_read_memory(const npu_hal *hal, const char *name, uint64_t address, void *to, size_t bytes,
                         npu_error *error);
/* Writes for the bus: flushes afterwards. */
npu_code npu_write_memory(const npu_hal *hal, const char *name, uint64_t address, const void *from, size_t bytes,
                          npu_error *error);
/* Fills memory with one byte. */
npu_code npu_fill_memory(const npu_hal *hal, const char *name, uint64_t address, uint8_t value, uint64_t bytes,
                         npu_error *error);

/* Whether `bytes` bytes from `offset` on lie in `region`. */
bool npu_region_holds(const npu_region *region, uint64_t offset, uint64_t bytes);
/* Whether two regions share an address. */
bool npu_regions_overlap(const npu_region *a, const npu_region *b);

/* A wait with a limit. Begin it, then ask after each look at the hardware; the wait between two looks grows to 64
 * microseconds. A clock that stands still is noticed after as many looks as there are microseconds in the limit. */
typedef struct npu_deadline {
    const npu_hal *hal;
    uint64_t start_us;
    uint64_t looks;
    uint32_t limit_us;
} npu_deadline;

npu_deadline npu_deadline_begin(const npu_hal *hal, uint32_t limit_us);
/* Whether the limit has passed; waits a little where it has not. */
bool npu_deadline_passed(npu_deadline *deadline);

#endif
