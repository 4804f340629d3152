/* LiteX SoC with npukit_litex, which has chosen the places of the board's parts. */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>

#include <string.h>

#include "console.h"
#include "image.h"
#include "npukit/hal/litex.h"
#include "platform.h"

enum { TIMEOUT_US = 1000000 };

static npu_litex platform;

npu_hal platform_start(npu_tcu_board *board)
{
    platform.uptime_latch = CSR_TIMER0_UPTIME_LATCH_ADDR;
    platform.uptime_cycles = CSR_TIMER0_UPTIME_CYCLES_ADDR;
    platform.clock_hz = CONFIG_CLOCK_FREQUENCY;
    memset(board, 0, sizeof *board);
    board->instruction_dma = TCU_DMA_BASE;
    board->dram0.address = TCU_DRAM0_BASE;
    board->dram0.bytes = TCU_DRAM0_BYTES;
    board->dram1.address = TCU_DRAM1_BASE;
    board->dram1.bytes = TCU_DRAM1_BYTES;
    board->staging.address = TCU_STAGING_BASE;
    board->staging.bytes = TCU_STAGING_BYTES;
    board->stream_bytes = TCU_STREAM_BYTES;
    board->max_transfer = TCU_MAX_TRANSFER;
    board->timeout_us = TIMEOUT_US;
    board->decoder_timeout = 100;
    return npu_litex_hal(&platform);
}

const uint8_t *platform_image(void)
{
    return (const uint8_t *)(uintptr_t)(MAIN_RAM_BASE + IMAGE_PLACE);
}

uint64_t platform_cycles(void)
{
    return npu_litex_cycles(&platform);
}

/* Cycles in which memory was slower than SteadyMemory promises; 0 in a SoC without it. */
static int64_t late(void)
{
#ifdef CSR_TCU_MEMORY0_LATE_ADDR
    return (int64_t)tcu_memory0_late_read() + tcu_memory1_late_read();
#else
    return 0;
#endif
}

void platform_restart_counters(void)
{
    tcu_counter_restart_write(1);
    tcu_latency0_restart_write(1);
#ifdef CSR_TCU_MEMORY0_LATE_ADDR
    tcu_memory0_restart_write(1);
    tcu_memory1_restart_write(1);
#endif
}

void platform_print_counters(void)
{
    print_field(" cycles", tcu_counter_cycles_read());
    print_field(" total", tcu_counter_total_read());
    print_field(" read", tcu_latency0_read_read());
    print_field(" write", tcu_latency0_write_read());
    print_field(" late", late());
}

void platform_end(int status)
{
    (void)status;
}
