/* Runs DRRA's driver on a simulated board, with the registers in drivers/sim/src/drra.rs:
 *
 *     board_drra SOCKET ROWS COLUMNS PROGRAM IMAGE FIRST COUNT OUTPUT.npy [FAULT@N]
 *
 * Runs the program twice and writes COUNT rows of the output buffer starting at FIRST. Exits with the npu_code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/files.h"
#include "npukit/drra.h"
#include "npukit/hal/socket.h"

enum { TIMEOUT_US = 20000, PLACE = 0x0, WORD = 0x4, CALL = 0x8, STATUS = 0x10, INPUT = 0x100000, OUTPUT = 0x400000 };

static npu_code load(void *context, uint32_t row, uint32_t hops, uint32_t address, uint32_t word, npu_error *error)
{
    npu_code code = npu_write32(context, "place", PLACE, row << 24 | hops << 16 | address, error);
    return code == NPU_OK ? npu_write32(context, "word", WORD, word, error) : code;
}

static npu_code call(void *context, npu_error *error)
{
    return npu_write32(context, "call", CALL, 1, error);
}

static npu_code returned(void *context, uint32_t row, bool *is_back, npu_error *error)
{
    uint32_t status = 0;
    npu_code code = npu_read32(context, "status", STATUS + 4 * (uint64_t)row, &status, error);
    *is_back = status == 1;
    return code == NPU_OK && status > 1 ? npu_fail(error, NPU_DATA, "the fabric reports a fault", "status", row, 1, status) : code;
}

static npu_code write_input(void *context, uint32_t row, const uint8_t *bytes, npu_error *error)
{
    return npu_write_memory(context, "input", INPUT + 32 * (uint64_t)row, bytes, 32, error);
}

static npu_code read_output(void *context, uint32_t row, uint8_t *bytes, npu_error *error)
{
    return npu_read_memory(context, "output", OUTPUT + 32 * (uint64_t)row, bytes, 32, error);
}

static npu_code run(char **arguments, npu_hal *hal, npu_error *error)
{
    static int32_t values[64 * 16];
    npu_drra drra;
    npu_drra_port port = {hal, load, call, returned, write_input, read_output};
    npu_drra_fabric fabric = {(uint32_t)strtoul(arguments[2], NULL, 10), (uint32_t)strtoul(arguments[3], NULL, 10), 64, 1024, 1024};
    tool_file program;
    tool_file image;
    uint32_t first = (uint32_t)strtoul(arguments[6], NULL, 10);
    uint32_t count = (uint32_t)strtoul(arguments[7], NULL, 10);
    npu_code code = count > 64 ? NPU_ARGUMENT : tool_open(arguments[4], &program, error);
    code = code == NPU_OK ? tool_open(arguments[5], &image, error) : code;
    code = code == NPU_OK ? npu_drra_open(&drra, hal, port, fabric, TIMEOUT_US, error) : code;
    code = code == NPU_OK ? npu_drra_load(&drra, program.bytes, program.length, error) : code;
    code = code == NPU_OK ? npu_drra_write_image(&drra, image.bytes, image.length, NULL, error) : code;
    code = code == NPU_OK ? npu_drra_run(&drra, error) : code;
    for (uint32_t row = 0; code == NPU_OK && row < count; row++) {
        int16_t elements[16];
        code = npu_drra_read_row(&drra, first + row, elements, error);
        for (size_t i = 0; code == NPU_OK && i < 16; i++) {
            values[row * 16 + i] = elements[i];
        }
    }
    npu_array array = {NPU_INT32, 2, {count, 16}, (uint64_t)count * 16, NULL};
    return code == NPU_OK ? tool_write_array(arguments[8], &array, values, error) : code;
}

int main(int count, char **arguments)
{
    npu_socket connection;
    npu_error error = {NPU_ARGUMENT, "expected eight or nine arguments", NULL, 0, 0, 0};
    char text[512];
    npu_code code = count >= 9 ? npu_socket_open(&connection, arguments[1], &error) : NPU_ARGUMENT;
    if (code == NPU_OK) {
        npu_hal hal = npu_socket_hal(&connection);
        char *at = count > 9 ? strchr(arguments[9], '@') : NULL;
        if (at != NULL) {
            *at = '\0';
            code = npu_socket_inject(&connection, arguments[9], strtoull(at + 1, NULL, 10)) ? NPU_OK : NPU_ARGUMENT;
        }
        code = code == NPU_OK ? run(arguments, &hal, &error) : code;
        npu_socket_close(&connection);
    }
    if (code != NPU_OK) {
        fprintf(stderr, "error: %s\n", npu_error_text(&error, text, sizeof text));
    }
    return (int)code;
}
