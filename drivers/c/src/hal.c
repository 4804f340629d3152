#include "npukit/hal.h"

#include <string.h>

npu_code npu_hal_check(const npu_hal *hal, npu_error *error)
{
    if (hal == NULL || hal->read32 == NULL || hal->write32 == NULL || hal->read_memory == NULL ||
        hal->write_memory == NULL || hal->now_us == NULL) {
        return npu_fail(error, NPU_ARGUMENT, "read32, write32, read_memory, write_memory and now_us must be given", "hal", 0,
                        0, 0);
    }
    return NPU_OK;
}

npu_code npu_read32(const npu_hal *hal, const char *name, uint64_t address, uint32_t *value, npu_error *error)
{
    if (hal->read32(hal->context, address, value)) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_BUS, "a 32-bit read failed", name, address, 0, 0);
}

npu_code npu_write32(const npu_hal *hal, const char *name, uint64_t address, uint32_t value, npu_error *error)
{
    if (hal->write32(hal->context, address, value)) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_BUS, "a 32-bit write failed", name, address, 0, value);
}

npu_code npu_read64(const npu_hal *hal, const char *name, uint64_t address, uint64_t *value, npu_error *error)
{
    if (hal->read64 == NULL) {
        return npu_fail(error, NPU_UNSUPPORTED, "this bus does not support 64-bit accesses", name, address, 0, 0);
    }
    if (hal->read64(hal->context, address, value)) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_BUS, "a 64-bit read failed", name, address, 0, 0);
}

npu_code npu_write64(const npu_hal *hal, const char *name, uint64_t address, uint64_t value, npu_error *error)
{
    if (hal->write64 == NULL) {
        return npu_fail(error, NPU_UNSUPPORTED, "this bus does not support 64-bit accesses", name, address, 0, value);
    }
    if (hal->write64(hal->context, address, value)) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_BUS, "a 64-bit write failed", name, address, 0, value);
}

npu_code npu_read_memory(const npu_hal *hal, const char *name, uint64_t address, void *to, size_t bytes,
                         npu_error *error)
{
    if (hal->invalidate != NULL && !hal->invalidate(hal->context, address, bytes)) {
        return npu_fail(error, NPU_BUS, "caches could not be invalidated", name, address, bytes, 0);
    }
    if (!hal->read_memory(hal->context, address, to, bytes)) {
        return npu_fail(error, NPU_BUS, "a read of memory failed", name, address, bytes, 0);
    }
    return NPU_OK;
}

npu_code npu_write_memory(const npu_hal *hal, const char *name, uint64_t address, const void *from, size_t bytes,
                          npu_error *error)
{
    if (!hal->write_memory(hal->context, address, from, bytes)) {
        return npu_fail(error, NPU_BUS, "a write of memory failed", name, address, bytes, 0);
    }
    if (hal->flush != NULL && !hal->flush(hal->context, address, bytes)) {
        return npu_fail(error, NPU_BUS, "caches could not be flushed", name, address, bytes, 0);
    }
    return NPU_OK;
}

npu_code npu_fill_memory(const npu_hal *hal, const char *name, uint64_t address, uint8_t value, uint64_t bytes,
                         npu_error *error)
{
    uint8_t block[256];
    memset(block, value, sizeof block);
    while (bytes > 0) {
        size_t part = bytes < sizeof block ? (size_t)bytes : sizeof block;
        npu_code code = npu_write_memory(hal, name, address, block, part, error);
        if (code != NPU_OK) {
            return code;
        }
        address += part;
        bytes -= part;
    }
    return NPU_OK;
}

bool npu_region_holds(const npu_region *region, uint64_t offset, uint64_t bytes)
{
    return offset <= region->bytes && bytes <= region->bytes - offset;
}

bool npu_regions_overlap(const npu_region *a, const npu_region *b)
{
    if (a->bytes == 0 || b->bytes == 0) {
        return false;
    }
    return a->address < b->address ? b->address - a->address < a->bytes : a->address - b->address < b->bytes;
}

npu_deadline npu_deadline_begin(const npu_hal *hal, uint32_t limit_us)
{
    npu_deadline deadline = {hal, hal->now_us(hal->context), 0, limit_us};
    return deadline;
}

bool npu_deadline_passed(npu_deadline *deadline)
{
    const npu_hal *hal = deadline->hal;
    uint64_t waited = hal->now_us(hal->context) - deadline->start_us;
    deadline->looks++;
    /* With a clock that stands still, the wait would never end. */
    if (waited >= deadline->limit_us || (waited == 0 && deadline->looks > deadline->limit_us)) {
        return true;
    }
    if (hal->wait_us != NULL) {
        uint64_t growing = deadline->looks / 4;
        hal->wait_us(hal->context, growing < 64 ? (uint32_t)growing + 1 : 64);
    }
    return false;
}
