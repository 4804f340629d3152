/* Files in the SPI flash: an image that `npukit_litex.image` writes. All numbers are little-endian, of 32 bits.
 *
 *     0   "NPUKIT01"
 *     8   bytes of the image from byte 16 on
 *     12  their CRC-32
 *     16  number of files, then for each: its name in 48 bytes, its offset in the image, its length
 *     ..  contents, each at a multiple of 16 */
#ifndef IMAGE_H
#define IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Name of the firmware, and offset of the image in main memory; the firmware is below it. */
#define IMAGE_FIRMWARE "firmware.bin"
enum { IMAGE_PLACE = 1 << 20 };

typedef struct image {
    const uint8_t *bytes;
} image;

typedef struct image_file {
    const uint8_t *bytes;
    uint32_t length;
} image_file;

/* Copies the image from the flash to memory of `room` bytes, and checks it. Returns NULL, or what is wrong. */
const char *image_load(image *at, const uint8_t *flash, uint8_t *to, uint32_t room);
/* An image that image_load has copied. */
image image_at(const uint8_t *bytes);
/* Bytes of the image. */
uint32_t image_bytes(const image *at);
/* Finds a file by its name of `length` characters. */
bool image_find(const image *at, const char *name, uint32_t length, image_file *file);
/* Finds the first file whose name ends in `ending`. */
bool image_find_ending(const image *at, const char *ending, image_file *file);

#endif
