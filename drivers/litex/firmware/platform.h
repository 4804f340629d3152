/* What the firmware needs from the place where it runs: a SoC (platform_litex.c), or QEMU with a simulated board
 * (platform_qemu.c). */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stdint.h>

#include "npukit/hal.h"
#include "npukit/tcu.h"

/* Prints a character. */
void platform_put(char one);
/* Returns access to the hardware, and where the parts of the board are. Called once. */
npu_hal platform_start(npu_tcu_board *board);
/* First byte of the image (image.h), which was checked when it was loaded. */
const uint8_t *platform_image(void);
/* Cycles of the processor's clock, from an arbitrary start. */
uint64_t platform_cycles(void);
/* Restarts the counters of the unit, before a program. */
void platform_restart_counters(void);
/* Prints the counters as words and numbers, each after a space; nothing without counters. */
void platform_print_counters(void);
/* Ends the firmware; returns on a board. */
void platform_end(int status);

#endif
