/* Runs pccx's driver on a simulated board: runs a container with a file for its window `in`, and writes the window
 * `out`.
 *
 *     board_pccx SOCKET PROGRAM.pcp INPUT OUTPUT [FAULT@N]
 *
 * Exits with the npu_code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/files.h"
#include "npukit/hal/socket.h"
#include "npukit/pccx.h"

enum { TIMEOUT_US = 20000, MOST = 4096 };

static npu_code run(char **arguments, npu_hal *hal, npu_error *error)
{
    static npu_pccx_program program;
    static npu_pccx pccx;
    static uint8_t result[MOST];
    npu_pccx_board board = {.base = 0xA0000000, .timeout_us = TIMEOUT_US};
    tool_file container;
    tool_file input;
    size_t in = 0;
    size_t out = 0;
    for (size_t i = 0; i < NPU_PCCX_WINDOWS; i++) {
        board.windows[i].address = 0x10000000 + (uint64_t)i * 0x200000;
        board.windows[i].bytes = 0x200000;
    }
    npu_code code = tool_open(arguments[2], &container, error);
    code = code == NPU_OK ? tool_open(arguments[3], &input, error) : code;
    code = code == NPU_OK ? npu_pccx_parse(container.bytes, container.length, &program, error) : code;
    code = code == NPU_OK ? npu_pccx_open(&pccx, hal, &program, &board, error) : code;
    code = code == NPU_OK ? npu_pccx_find(&program, "in", &in, error) : code;
    code = code == NPU_OK ? npu_pccx_find(&program, "out", &out, error) : code;
    for (int i = 0; code == NPU_OK && i < 2; i++) {
        code = npu_pccx_write(&pccx, in, 0, input.bytes, input.length, error);
        code = code == NPU_OK ? npu_pccx_run(&pccx, error) : code;
    }
    size_t count = program.window[out].bytes < MOST ? (size_t)program.window[out].bytes : MOST;
    code = code == NPU_OK ? npu_pccx_read(&pccx, out, 0, result, count, error) : code;
    return code == NPU_OK ? tool_write(arguments[4], "", 0, result, count, error) : code;
}

int main(int count, char **arguments)
{
    npu_socket connection;
    npu_error error = {NPU_ARGUMENT, "expected four or five arguments", NULL, 0, 0, 0};
    char text[512];
    npu_code code = count >= 5 ? npu_socket_open(&connection, arguments[1], &error) : NPU_ARGUMENT;
    if (code == NPU_OK) {
        npu_hal hal = npu_socket_hal(&connection);
        char *at = count > 5 ? strchr(arguments[5], '@') : NULL;
        if (at != NULL) {
            *at = '\0';
            code = npu_socket_inject(&connection, arguments[5], strtoull(at + 1, NULL, 10)) ? NPU_OK : NPU_ARGUMENT;
        }
        code = code == NPU_OK ? run(arguments, &hal, &error) : code;
        npu_socket_close(&connection);
    }
    if (code != NPU_OK) {
        fprintf(stderr, "error: %s\n", npu_error_text(&error, text, sizeof text));
    }
    return (int)code;
}
