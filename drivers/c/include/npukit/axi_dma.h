/* Driver of the AXI DMA engine in direct register mode, both channels. Source: the vendor's product guide PG021.
 *
 * The engine is polled; interrupts are not enabled. */
#ifndef NPUKIT_AXI_DMA_H
#define NPUKIT_AXI_DMA_H

#include "npukit/error.h"
#include "npukit/hal.h"

typedef enum npu_dma_channel {
    NPU_DMA_TO_DEVICE = 0x00,  /* MM2S: memory to device */
    NPU_DMA_TO_MEMORY = 0x30   /* S2MM: device to memory */
} npu_dma_channel;

typedef struct npu_dma {
    const npu_hal *hal;
    uint64_t base;       /* address of the registers */
    const char *name;    /* for error messages */
    uint32_t max_bytes;  /* maximum transfer length: 2^n - 1 for a length register of n bits */
    uint32_t beat_bytes; /* width of the memory side: addresses and lengths must be multiples of it */
    uint32_t timeout_us;
} npu_dma;

/* Resets the whole engine and waits until the reset is complete. */
npu_code npu_dma_reset(const npu_dma *dma, npu_error *error);
/* Starts a transfer. The previous transfer of the channel must have ended. */
npu_code npu_dma_start(const npu_dma *dma, npu_dma_channel channel, uint64_t address, uint32_t bytes,
                       npu_error *error);
/* Whether the transfer has ended. Returns NPU_DMA with the status register if it failed. */
npu_code npu_dma_ended(const npu_dma *dma, npu_dma_channel channel, bool *ended, npu_error *error);
/* Waits until the transfer has ended. Returns NPU_TIMEOUT with the status register as `actual`. */
npu_code npu_dma_wait(const npu_dma *dma, npu_dma_channel channel, npu_error *error);
/* Number of bytes that a finished transfer has written to memory. */
npu_code npu_dma_received(const npu_dma *dma, uint32_t *bytes, npu_error *error);
/* Status register of a channel. */
npu_code npu_dma_status(const npu_dma *dma, npu_dma_channel channel, uint32_t *status, npu_error *error);

#endif
