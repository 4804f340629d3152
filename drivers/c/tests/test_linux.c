/* Back end for Linux, tested on a file: words, memory, and a bus error, which is an access beyond the file's end. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "npukit/hal/linux.h"

int main(void)
{
    static npu_linux os;
    npu_error error;
    char path[64];
    FILE *file = tmpfile();
    long page = sysconf(_SC_PAGESIZE);
    if (file == NULL || ftruncate(fileno(file), 2 * page) != 0) {
        perror("temporary file");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    npu_linux_begin(&os);
    npu_region first = {0x40000000, (uint64_t)page};
    npu_region behind = {0x80000000, 2 * (uint64_t)page}; /* its second page does not exist */
    CHECK(npu_linux_map(&os, path, 16, first, &error) == NPU_OK);
    CHECK(npu_linux_map(&os, path, (uint64_t)page, behind, &error) == NPU_OK);
    CHECK(npu_linux_map(&os, "/no/such/file", 0, first, &error) == NPU_SYSTEM && error.actual == 2);
    npu_hal hal = npu_linux_hal(&os);
    uint32_t word = 0;
    uint8_t bytes[1000];
    uint8_t back[1000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    CHECK(npu_write32(&hal, "r", 0x40000000, 0xCAFE0001, &error) == NPU_OK);
    CHECK(npu_read32(&hal, "r", 0x40000000, &word, &error) == NPU_OK && word == 0xCAFE0001);
    CHECK(npu_write_memory(&hal, "m", 0x40000005, bytes, sizeof bytes, &error) == NPU_OK);
    CHECK(npu_read_memory(&hal, "m", 0x40000005, back, sizeof back, &error) == NPU_OK);
    CHECK(memcmp(bytes, back, sizeof bytes) == 0);
    CHECK(npu_read32(&hal, "r", 0x50000000, &word, &error) == NPU_BUS && error.address == 0x50000000);
    CHECK(npu_read32(&hal, "r", 0x40000002, &word, &error) == NPU_BUS);
    uint64_t missing = 0x80000000 + (uint64_t)page;
    CHECK(npu_read32(&hal, "r", missing, &word, &error) == NPU_BUS && error.address == missing);
    CHECK(npu_write32(&hal, "r", missing, 1, &error) == NPU_BUS);
    CHECK(npu_write_memory(&hal, "m", missing - 8, bytes, 16, &error) == NPU_BUS);
    CHECK(npu_read32(&hal, "r", 0x80000000, &word, &error) == NPU_OK);
    uint64_t before = hal.now_us(hal.context);
    hal.wait_us(hal.context, 1000);
    CHECK(hal.now_us(hal.context) - before >= 1000);
    npu_linux_end(&os);
    fclose(file);
    FINISH();
}
