/* The AXI DMA engine in direct register mode, both channels. Source: its vendor's product guide PG021.
 *
 * The engine is polled; no interrupt is enabled. */
#ifndef NPUKIT_AXI_DMA_H
#define NPUKIT_AXI_DMA_H

#include "npukit/error.h"
#include "npukit/hal.h"

typedef enum npu_dma_channel {
    NPU_DMA_TO_DEVICE = 0x00,  /* MM2S: from memory to a stream */
    NPU_DMA_TO_MEMORY = 0x30   /* S2MM: from a stream to memory */
} npu_dma_channel;

typedef struct npu_dma {
    const npu_hal *hal;
    uint64_t base;       /* of its registers */
    const char *name;    /* for errors */
    uint32_t max_bytes;  /* of a transfer: 2^n - 1 with a length register of n bits */
    uint32_t beat_bytes; /* of its memory side: addresses and lengths must be multiples of it */
    uint32_t timeout_us;
} npu_dma;

/* Resets the whole engine and waits until it is done. */
npu_code npu_dma_reset(const npu_dma *dma, npu_error *error);
/* Begins a transfer; the one before it on the channel must have ended. */
npu_code npu_dma_start(const npu_dma *dma, npu_dma_channel channel, uint64_t address, uint32_t bytes,
                       npu_error *error);
/* Whether the transfer has ended. NPU_DMA with the status register when it failed. */
npu_code npu_dma_ended(const npu_dma *dma, npu_dma_channel channel, bool *ended, npu_error *error);
/* Waits until it has ended; NPU_TIMEOUT with the status register as `actual`. */
npu_code npu_dma_wait(const npu_dma *dma, npu_dma_channel channel, npu_error *error);
/* Bytes that an ended transfer to memory has written. */
npu_code npu_dma_received(const npu_dma *dma, uint32_t *bytes, npu_error *error);
/* The status register of a channel. */
npu_code npu_dma_status(const npu_dma *dma, npu_dma_channel channel, uint32_t *status, npu_error *error);

#endif
