#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "npukit/hal/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- windows ---- */

void npu_linux_begin(npu_linux *os)
{
    memset(os, 0, sizeof *os);
}

npu_code npu_linux_map(npu_linux *os, const char *path, uint64_t offset, npu_region region, npu_error *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t before = offset % page;
    if (os->count == NPU_LINUX_WINDOWS) {
        return npu_fail(error, NPU_CAPACITY, "too many windows for this back end", path, region.address,
                        NPU_LINUX_WINDOWS, os->count);
    }
    if (region.bytes == 0 || region.bytes > SIZE_MAX - before || region.address > UINT64_MAX - region.bytes ||
        offset > INT64_MAX) {
        return npu_fail(error, NPU_ARGUMENT, "the window is empty or ends beyond the address space", path, region.address, 0,
                        region.bytes);
    }
    int file = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0) {
        return npu_fail(error, NPU_SYSTEM, "the file cannot be opened", path, region.address, 0, (uint64_t)errno);
    }
    size_t bytes = (size_t)(before + region.bytes);
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(offset - before));
    int why = errno;
    close(file);
    if (mapped == MAP_FAILED) {
        return npu_fail(error, NPU_SYSTEM, "the window cannot be mapped", path, region.address, region.bytes, (uint64_t)why);
    }
    npu_linux_window *window = &os->windows[os->count++];
    window->region = region;
    window->mapped = mapped;
    window->mapped_bytes = bytes;
    window->at = (volatile uint8_t *)mapped + before;
    return NPU_OK;
}

void npu_linux_end(npu_linux *os)
{
    for (size_t i = 0; i < os->count; i++) {
        munmap(os->windows[i].mapped, os->windows[i].mapped_bytes);
    }
    os->count = 0;
}

static volatile uint8_t *find(const npu_linux *os, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < os->count; i++) {
        const npu_linux_window *window = &os->windows[i];
        if (address >= window->region.address && npu_region_holds(&window->region, address - window->region.address, bytes)) {
            return window->at + (address - window->region.address);
        }
    }
    return NULL;
}

/* ---- accesses, with SIGBUS caught ---- */

static sigjmp_buf escape;

static void caught(int number)
{
    siglongjmp(escape, number);
}

typedef struct guard {
    struct sigaction before;
} guard;

static bool begin_guard(guard *held)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = caught;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &held->before) == 0;
}

static void end_guard(guard *held)
{
    sigaction(SIGBUS, &held->before, NULL);
}

typedef enum way { TO_DEVICE, FROM_DEVICE } way;

/* One access of 1, 4 or 8 bytes. Uncached memory does not support other sizes. */
static void move_word(volatile uint8_t *device, uint8_t *host, size_t size, way direction)
{
    uint32_t word32;
    uint64_t word64;
    switch (size) {
    case 8:
        memcpy(&word64, host, 8);
        if (direction == TO_DEVICE) {
            *(volatile uint64_t *)(volatile void *)device = word64;
        } else {
            word64 = *(volatile uint64_t *)(volatile void *)device;
            memcpy(host, &word64, 8);
        }
        break;
    case 4:
        memcpy(&word32, host, 4);
        if (direction == TO_DEVICE) {
            *(volatile uint32_t *)(volatile void *)device = word32;
        } else {
            word32 = *(volatile uint32_t *)(volatile void *)device;
            memcpy(host, &word32, 4);
        }
        break;
    default:
        if (direction == TO_DEVICE) {
            *device = *host;
        } else {
            *host = *device;
        }
    }
}

/* A copy between a window and the host's memory. `single` means one access for all its bytes. */
typedef struct copy {
    volatile uint8_t *device;
    uint8_t *host;
    size_t bytes;
    way direction;
    bool single;
} copy;

static void carry_out(copy left)
{
    if (left.single) {
        move_word(left.device, left.host, left.bytes, left.direction);
        return;
    }
    while (left.bytes > 0) {
        size_t size = (uintptr_t)left.device % 4 == 0 && left.bytes >= 4 ? 4 : 1;
        move_word(left.device, left.host, size, left.direction);
        left.device += size;
        left.host += size;
        left.bytes -= size;
    }
}

/* Copies, and returns whether the bus accepted it. Variables used after the jump are volatile. */
static bool reach(const copy *volatile wanted)
{
    static guard held;
    if (!begin_guard(&held)) {
        return false;
    }
    volatile bool reached = false;
    if (sigsetjmp(escape, 1) == 0) {
        carry_out(*wanted);
        reached = true;
    }
    end_guard(&held);
    return reached;
}

static bool access_window(const npu_linux *os, uint64_t address, uint8_t *host, size_t bytes, way direction, bool single)
{
    copy wanted = {find(os, address, bytes), host, bytes, direction, single};
    if (wanted.device == NULL || (single && (uintptr_t)wanted.device % bytes != 0)) {
        return false;
    }
    return reach(&wanted);
}

static bool read32(void *context, uint64_t address, uint32_t *value)
{
    return access_window(context, address, (uint8_t *)value, 4, FROM_DEVICE, true);
}

static bool write32(void *context, uint64_t address, uint32_t value)
{
    return access_window(context, address, (uint8_t *)&value, 4, TO_DEVICE, true);
}

static bool read64(void *context, uint64_t address, uint64_t *value)
{
    return access_window(context, address, (uint8_t *)value, 8, FROM_DEVICE, true);
}

static bool write64(void *context, uint64_t address, uint64_t value)
{
    return access_window(context, address, (uint8_t *)&value, 8, TO_DEVICE, true);
}

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
    return bytes == 0 || access_window(context, address, to, bytes, FROM_DEVICE, false);
}

static bool write_memory(void *context, uint64_t address, const void *from, size_t bytes)
{
    uint8_t block[512];
    const uint8_t *next = from;
    while (bytes > 0) {
        size_t part = bytes < sizeof block ? bytes : sizeof block;
        memcpy(block, next, part);
        if (!access_window(context, address, block, part, TO_DEVICE, false)) {
            return false;
        }
        address += part;
        next += part;
        bytes -= part;
    }
    return true;
}

/* Orders earlier memory writes before a register write. */
static bool order(void *context, uint64_t address, uint64_t bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
    __sync_synchronize();
    return true;
}

static uint64_t now_us(void *context)
{
    struct timespec now;
    (void)context;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

static void wait_us(void *context, uint32_t microseconds)
{
    struct timespec time = {0, (long)(microseconds % 1000000U) * 1000L};
    (void)context;
    nanosleep(&time, NULL);
}

npu_hal npu_linux_hal(npu_linux *os)
{
    npu_hal hal = {
        .context = os,
        .read32 = read32,
        .write32 = write32,
        .read64 = sizeof(uintptr_t) >= 8 ? read64 : NULL,
        .write64 = sizeof(uintptr_t) >= 8 ? write64 : NULL,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .flush = order,
        .invalidate = order,
        .now_us = now_us,
        .wait_us = wait_us,
    };
    return hal;
}
