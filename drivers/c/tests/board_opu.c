/* Runs the OPU's driver on a simulated board, started as in drivers/sim/src/opu.rs:
 *
 *     board_opu SOCKET MANIFEST WORDS IMAGE INPUT=FILE.npy OUTPUT=FILE.npy [FAULT@N]
 *
 * Exits with the npu_code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/files.h"
#include "npukit/hal/socket.h"
#include "npukit/opu.h"

enum { TIMEOUT_US = 20000 };
static const uint64_t BEGIN = UINT64_C(1) << 32;

static npu_code begin(void *context, uint32_t address, npu_error *error)
{
    return npu_write32(context, "begin", BEGIN, address, error);
}

static npu_code has_ended(void *context, bool *ended, npu_error *error)
{
    uint32_t status = 0;
    npu_code code = npu_read32(context, "status", BEGIN + 4, &status, error);
    *ended = status == 1;
    return code == NPU_OK && status > 1 ? npu_fail(error, NPU_DATA, "the machine reports a fault", "status", BEGIN + 4, 1, status)
                                        : code;
}

static npu_code read_output(npu_opu *opu, const char *name, const char *path, npu_error *error)
{
    const npu_opu_map *map = &opu->model->output[0];
    npu_array array = {NPU_INT32, map->layout.rank, {0}, 1, NULL};
    for (uint32_t axis = 0; axis < map->layout.rank; axis++) {
        array.shape[axis] = map->layout.shape[axis];
        array.scalars *= map->layout.shape[axis];
    }
    int32_t *values = calloc((size_t)array.scalars, sizeof *values);
    if (values == NULL) {
        return npu_fail(error, NPU_SYSTEM, "not enough memory for an output", name, 0, array.scalars, 0);
    }
    npu_code code = npu_opu_read_raw(opu, name, values, array.scalars, error);
    code = code == NPU_OK ? tool_write_array(path, &array, values, error) : code;
    free(values);
    return code;
}

static npu_code run(char **arguments, npu_hal *hal, char *input, char *output, npu_error *error)
{
    static npu_opu_model model;
    static npu_opu opu;
    tool_file files[3];
    tool_file values;
    npu_array array;
    npu_region memory = {0, BEGIN};
    npu_opu_start start = {hal, begin, has_ended};
    char *from = strchr(input, '=');
    char *to = strchr(output, '=');
    npu_code code = from != NULL && to != NULL ? NPU_OK : NPU_ARGUMENT;
    for (size_t i = 0; code == NPU_OK && i < 3; i++) {
        code = tool_open(arguments[2 + i], &files[i], error);
    }
    if (code == NPU_OK) {
        *from = *to = '\0';
        code = tool_open(from + 1, &values, error);
    }
    code = code == NPU_OK ? npu_npy_read(values.bytes, values.length, &array, error) : code;
    code = code == NPU_OK ? npu_opu_model_parse(files[0].bytes, files[0].length, &model, error) : code;
    code = code == NPU_OK ? npu_opu_open(&opu, hal, memory, start, TIMEOUT_US, error) : code;
    if (code == NPU_OK) {
        code = npu_opu_load(&opu, &model, files[1].bytes, files[1].length, files[2].bytes, files[2].length, error);
    }
    /* Twice, as on a board. */
    for (int i = 0; code == NPU_OK && i < 2; i++) {
        code = npu_opu_write(&opu, input, &array, NULL, error);
        code = code == NPU_OK ? npu_opu_run(&opu, error) : code;
    }
    return code == NPU_OK ? read_output(&opu, output, to + 1, error) : code;
}

int main(int count, char **arguments)
{
    npu_socket connection;
    npu_error error = {NPU_ARGUMENT, "expected seven or eight arguments", NULL, 0, 0, 0};
    char text[512];
    npu_code code = count >= 7 ? npu_socket_open(&connection, arguments[1], &error) : NPU_ARGUMENT;
    if (code == NPU_OK) {
        npu_hal hal = npu_socket_hal(&connection);
        char *at = count > 7 ? strchr(arguments[7], '@') : NULL;
        if (at != NULL) {
            *at = '\0';
            code = npu_socket_inject(&connection, arguments[7], strtoull(at + 1, NULL, 10)) ? NPU_OK : NPU_ARGUMENT;
        }
        code = code == NPU_OK ? run(arguments, &hal, arguments[5], arguments[6], &error) : code;
        npu_socket_close(&connection);
    }
    if (code != NPU_OK) {
        fprintf(stderr, "error: %s\n", npu_error_text(&error, text, sizeof text));
    }
    return (int)code;
}
