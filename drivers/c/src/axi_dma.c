#include "npukit/axi_dma.h"

/* Registers of a channel. Source: PG021, table of registers in direct register mode. */
enum { CONTROL = 0x00, STATUS = 0x04, ADDRESS = 0x18, ADDRESS_HIGH = 0x1C, LENGTH = 0x28 };
enum { CONTROL_RUN = 1 << 0, CONTROL_RESET = 1 << 2 };
enum { STATUS_HALTED = 1 << 0, STATUS_IDLE = 1 << 1, STATUS_ERRORS = 0x770, STATUS_EVENTS = 0x7000 };

static npu_code read(const npu_dma *dma, npu_dma_channel channel, uint64_t reg, uint32_t *value, npu_error *error)
{
    return npu_read32(dma->hal, dma->name, dma->base + (uint64_t)channel + reg, value, error);
}

static npu_code write(const npu_dma *dma, npu_dma_channel channel, uint64_t reg, uint32_t value, npu_error *error)
{
    return npu_write32(dma->hal, dma->name, dma->base + (uint64_t)channel + reg, value, error);
}

npu_code npu_dma_reset(const npu_dma *dma, npu_error *error)
{
    npu_code code = write(dma, NPU_DMA_TO_DEVICE, CONTROL, CONTROL_RESET, error);
    npu_deadline deadline = npu_deadline_begin(dma->hal, dma->timeout_us);
    while (code == NPU_OK) {
        uint32_t control = 0;
        code = read(dma, NPU_DMA_TO_DEVICE, CONTROL, &control, error);
        if (code != NPU_OK || (control & CONTROL_RESET) == 0) {
            return code;
        }
        if (npu_deadline_passed(&deadline)) {
            return npu_fail(error, NPU_TIMEOUT, "the reset of the DMA engine does not end", dma->name, dma->base,
                            dma->timeout_us, control);
        }
    }
    return code;
}

npu_code npu_dma_start(const npu_dma *dma, npu_dma_channel channel, uint64_t address, uint32_t bytes,
                       npu_error *error)
{
    if (bytes == 0 || bytes > dma->max_bytes) {
        return npu_fail(error, NPU_ARGUMENT, "a transfer must have at least 1 byte, and fit its length register",
                        dma->name, address, dma->max_bytes, bytes);
    }
    if (address % dma->beat_bytes != 0 || bytes % dma->beat_bytes != 0) {
        return npu_fail(error, NPU_ARGUMENT, "address and length of a transfer must be multiples of the stream's width",
                        dma->name, address, dma->beat_bytes, bytes);
    }
    npu_code code = write(dma, channel, CONTROL, CONTROL_RUN, error);
    code = code == NPU_OK ? write(dma, channel, STATUS, STATUS_EVENTS, error) : code;
    code = code == NPU_OK ? write(dma, channel, ADDRESS, (uint32_t)(address & UINT32_MAX), error) : code;
    code = code == NPU_OK ? write(dma, channel, ADDRESS_HIGH, (uint32_t)(address >> 32), error) : code;
    return code == NPU_OK ? write(dma, channel, LENGTH, bytes, error) : code;
}

npu_code npu_dma_status(const npu_dma *dma, npu_dma_channel channel, uint32_t *status, npu_error *error)
{
    return read(dma, channel, STATUS, status, error);
}

npu_code npu_dma_ended(const npu_dma *dma, npu_dma_channel channel, bool *ended, npu_error *error)
{
    uint32_t status = 0;
    npu_code code = read(dma, channel, STATUS, &status, error);
    if (code != NPU_OK) {
        return code;
    }
    if ((status & STATUS_ERRORS) != 0) {
        return npu_fail(error, NPU_DMA, "DMA error; bit 4: internal, 5: slave, 6: decode error; 8 to 10: of a descriptor", dma->name,
                        dma->base + (uint64_t)channel + STATUS, 0, status);
    }
    if ((status & STATUS_HALTED) != 0) {
        return npu_fail(error, NPU_DMA, "the channel halted during a transfer", dma->name,
                        dma->base + (uint64_t)channel + STATUS, 0, status);
    }
    *ended = (status & STATUS_IDLE) != 0;
    return NPU_OK;
}

npu_code npu_dma_wait(const npu_dma *dma, npu_dma_channel channel, npu_error *error)
{
    npu_deadline deadline = npu_deadline_begin(dma->hal, dma->timeout_us);
    bool ended = false;
    npu_code code = npu_dma_ended(dma, channel, &ended, error);
    while (code == NPU_OK && !ended) {
        if (npu_deadline_passed(&deadline)) {
            uint32_t status = 0;
            code = npu_dma_status(dma, channel, &status, error);
            return code != NPU_OK ? code
                                  : npu_fail(error, NPU_TIMEOUT, "a transfer does not end", dma->name,
                                             dma->base + (uint64_t)channel + STATUS, dma->timeout_us, status);
        }
        code = npu_dma_ended(dma, channel, &ended, error);
    }
    return code;
}

npu_code npu_dma_received(const npu_dma *dma, uint32_t *bytes, npu_error *error)
{
    return read(dma, NPU_DMA_TO_MEMORY, LENGTH, bytes, error);
}
