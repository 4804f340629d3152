/* Loader in ROM: starts the SDRAM, copies the image from the SPI flash to main memory, and starts the firmware in it. */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/sdram_phy.h>
#include <generated/soc.h>

#include <string.h>

#include "console.h"
#include "image.h"

enum { DFII_HARDWARE = 1 };

void cdelay(int cycles)
{
    for (int i = 0; i < cycles; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

void trapped(void)
{
    print("error exception of the processor\n");
    for (;;) {
    }
}

/* Starts the memory. Returns what is wrong, or NULL. */
static const char *start_sdram(void)
{
#ifdef SDRAM_PHY_READ_LEVELING_CAPABLE
    return "this loader does not train the memory of the board";
#else
    sdram_dfii_control_write(DFII_CONTROL_CKE | DFII_CONTROL_ODT | DFII_CONTROL_RESET_N);
    init_sequence();
    sdram_dfii_control_write(DFII_HARDWARE);
    return NULL;
#endif
}

static const char *load(image_file *firmware)
{
    image files;
    uint8_t *to = (uint8_t *)(uintptr_t)(MAIN_RAM_BASE + IMAGE_PLACE);
    const uint8_t *flash = (const uint8_t *)(uintptr_t)(SPIFLASH_BASE + IMAGE_OFFSET);
    const char *wrong = image_load(&files, flash, to, MAIN_RAM_SIZE - IMAGE_PLACE);
    if (wrong != NULL) {
        return wrong;
    }
    if (!image_find(&files, IMAGE_FIRMWARE, sizeof IMAGE_FIRMWARE - 1, firmware) || firmware->length > IMAGE_PLACE) {
        return "the image has no firmware, or one of more than 1 MiB";
    }
    return NULL;
}

int main(void)
{
    image_file firmware;
    const char *wrong = start_sdram();
    wrong = wrong == NULL ? load(&firmware) : wrong;
    if (wrong != NULL) {
        print("error ");
        print(wrong);
        print("\n");
        return 1;
    }
    memcpy((void *)(uintptr_t)MAIN_RAM_BASE, firmware.bytes, firmware.length);
    /* FENCE.I: the instruction cache may hold what was there before. */
    __asm__ volatile(".word 0x100F" ::: "memory");
    ((void (*)(void))(uintptr_t)MAIN_RAM_BASE)();
    return 0;
}
