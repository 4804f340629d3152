/* Back end for a LiteX SoC with VexRiscv, without an operating system: bus addresses are pointers.
 *
 * The data cache of VexRiscv writes through, so only what other masters have written must be invalidated. The SoC must
 * have the uptime counter of its timer (`timer_uptime=True`), and no L2 cache (`l2_size=0`). */
#ifndef NPUKIT_HAL_LITEX_H
#define NPUKIT_HAL_LITEX_H

#include "npukit/hal.h"
#include "npukit/hal/bare_metal.h"

typedef struct npu_litex {
    npu_bare_metal memory; /* set by npu_litex_hal */
    uintptr_t uptime_latch;  /* CSR_TIMER0_UPTIME_LATCH_ADDR of csr.h */
    uintptr_t uptime_cycles; /* CSR_TIMER0_UPTIME_CYCLES_ADDR of csr.h */
    uint32_t clock_hz;       /* CONFIG_CLOCK_FREQUENCY of soc.h: at least 1 MHz */
} npu_litex;

/* Returns a table for the SoC. `platform` must remain at its address. */
npu_hal npu_litex_hal(npu_litex *platform);
/* Cycles of the system's clock since the reset. */
uint64_t npu_litex_cycles(const npu_litex *platform);

#endif
