#include "image.h"

#include <string.h>

enum { HEADER = 16, NAME = 48, ENTRY = NAME + 8 };

static uint32_t number(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* CRC-32 of IEEE 802.3, four bits at a time. */
static uint32_t crc32(const uint8_t *bytes, uint32_t count)
{
    static const uint32_t TABLE[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
        0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        crc = TABLE[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = TABLE[(crc ^ (uint32_t)bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static bool are_files_inside(const uint8_t *bytes, uint32_t total)
{
    uint32_t count = number(bytes + HEADER);
    if (count > (total - HEADER - 4) / ENTRY) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = bytes + HEADER + 4 + i * ENTRY;
        uint32_t offset = number(entry + NAME);
        if (entry[NAME - 1] != 0 || offset > total || number(entry + NAME + 4) > total - offset) {
            return false;
        }
    }
    return true;
}

const char *image_load(image *at, const uint8_t *flash, uint8_t *to, uint32_t room)
{
    if (memcmp(flash, "NPUKIT01", 8) != 0) {
        return "the flash contains no image";
    }
    uint32_t bytes = number(flash + 8);
    if (bytes < 4 || room < HEADER || bytes > room - HEADER) {
        return "the image does not fit the memory";
    }
    memcpy(to, flash, HEADER + bytes);
    if (crc32(to + HEADER, bytes) != number(to + 12)) {
        return "the image has a wrong checksum";
    }
    if (!are_files_inside(to, HEADER + bytes)) {
        return "a file of the image ends outside of it";
    }
    at->bytes = to;
    return NULL;
}

image image_at(const uint8_t *bytes)
{
    image at = {bytes};
    return at;
}

uint32_t image_bytes(const image *at)
{
    return HEADER + number(at->bytes + 8);
}

static const uint8_t *entry_of(const image *at, uint32_t i)
{
    return at->bytes + HEADER + 4 + i * ENTRY;
}

static void take(const image *at, const uint8_t *entry, image_file *file)
{
    file->bytes = at->bytes + number(entry + NAME);
    file->length = number(entry + NAME + 4);
}

bool image_find(const image *at, const char *name, uint32_t length, image_file *file)
{
    for (uint32_t i = 0; i < number(at->bytes + HEADER); i++) {
        const uint8_t *entry = entry_of(at, i);
        if (strlen((const char *)entry) == length && memcmp(entry, name, length) == 0) {
            take(at, entry, file);
            return true;
        }
    }
    return false;
}

bool image_find_ending(const image *at, const char *ending, image_file *file)
{
    size_t wanted = strlen(ending);
    for (uint32_t i = 0; i < number(at->bytes + HEADER); i++) {
        const uint8_t *entry = entry_of(at, i);
        size_t length = strlen((const char *)entry);
        if (length >= wanted && memcmp(entry + length - wanted, ending, wanted) == 0) {
            take(at, entry, file);
            return true;
        }
    }
    return false;
}
