#include "npukit/hal/litex.h"

enum { HZ_PER_MHZ = 1000000 };

uint64_t npu_litex_cycles(const npu_litex *platform)
{
    const volatile uint32_t *words = (const volatile uint32_t *)platform->uptime_cycles;
    *(volatile uint32_t *)platform->uptime_latch = 1;
    uint64_t high = words[0];
    return high << 32 | words[1];
}

static uint64_t now_us(void *context)
{
    const npu_litex *platform = context;
    return npu_litex_cycles(platform) / (platform->clock_hz / HZ_PER_MHZ);
}

/* Writes go through the cache, in order with the later access that starts a transfer. */
static bool flush(void *context, uint64_t address, uint64_t bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
    __asm__ volatile("" ::: "memory");
    return true;
}

/* Invalidates the whole data cache: VexRiscv has no instruction for a range. */
static bool invalidate(void *context, uint64_t address, uint64_t bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
#ifdef __riscv
    __asm__ volatile(".word 0x500F" ::: "memory");
#endif
    return true;
}

npu_hal npu_litex_hal(npu_litex *platform)
{
    npu_bare_metal memory = {NULL, NULL, NULL, 0};
    platform->memory = memory;
    npu_hal hal = npu_bare_metal_hal(&platform->memory);
    /* `memory` is the first member, so that both back ends have the same context. */
    hal.context = platform;
    hal.flush = flush;
    hal.invalidate = invalidate;
    hal.now_us = now_us;
    return hal;
}
