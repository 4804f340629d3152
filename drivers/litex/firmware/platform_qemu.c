/* QEMU's machine `virt` with npukit-board-sim: requests to the board go through the UART, whose other end is the board's socket.
 * The console is QEMU's semihosting. */
#include <string.h>

#include "image.h"
#include "npukit/hal/remote.h"
#include "platform.h"

enum {
    MEMORY = (int)0x80000000,
    UART = 0x10000000,
    UART_FIFO = 2,
    UART_STATUS = 5,
    HAS_BYTE = 1,
    HAS_ROOM = 0x20,
    TIMER = 0x0200BFF8,
    WRITE_CHARACTER = 0x03,
    EXIT_EXTENDED = 0x20,
    APPLICATION_EXIT = 0x20026,
    TIMEOUT_US = 5000000,
};

static npu_remote remote;

static volatile uint8_t *uart(uint32_t offset)
{
    return (volatile uint8_t *)(uintptr_t)(UART + offset);
}

/* A request to QEMU. The three instructions must be in one page. */
static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

void platform_put(char one)
{
    (void)semihosting(WRITE_CHARACTER, &one);
}

static bool send(void *context, const void *bytes, size_t count)
{
    (void)context;
    const uint8_t *next = bytes;
    for (size_t i = 0; i < count; i++) {
        while ((*uart(UART_STATUS) & HAS_ROOM) == 0) {
        }
        *uart(0) = next[i];
    }
    return true;
}

static bool receive(void *context, void *bytes, size_t count)
{
    (void)context;
    uint8_t *next = bytes;
    for (size_t i = 0; i < count; i++) {
        while ((*uart(UART_STATUS) & HAS_BYTE) == 0) {
        }
        next[i] = *uart(0);
    }
    return true;
}

npu_hal platform_start(npu_tcu_board *board)
{
    *uart(UART_FIFO) = 1;
    remote.send = send;
    remote.receive = receive;
    memset(board, 0, sizeof *board);
    board->instruction_dma = 0x40400000;
    board->dram0.address = 0x10000000;
    board->dram0.bytes = 1 << 28;
    board->dram1.address = 0x20000000;
    board->dram1.bytes = 1 << 28;
    board->staging.address = 0x30000000;
    board->staging.bytes = 1 << 20;
    board->stream_bytes = 8;
    board->max_transfer = (1U << 23) - 1U;
    board->timeout_us = TIMEOUT_US;
    board->decoder_timeout = 100;
    return npu_remote_hal(&remote);
}

const uint8_t *platform_image(void)
{
    return (const uint8_t *)((uintptr_t)MEMORY + IMAGE_PLACE);
}

uint64_t platform_cycles(void)
{
    const volatile uint32_t *words = (const volatile uint32_t *)TIMER;
    uint32_t high = words[1];
    uint32_t low = words[0];
    return (uint64_t)(words[1] == high ? high : words[1]) << 32 | low;
}

void platform_restart_counters(void)
{
}

void platform_print_counters(void)
{
}

void platform_end(int status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
    (void)semihosting(EXIT_EXTENDED, block);
}
