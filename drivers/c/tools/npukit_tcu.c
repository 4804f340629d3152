/* npukit-tcu: runs an artifact of the TCU on a board from the command line. See drivers/README.md.
 *
 *     npukit-tcu BOARD.json MODEL.tmodel [OPTION]...
 *
 * The board file lists regions and devices; `read_board` defines its keys. Exit code: 0, or the npu_code. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "files.h"
#include "npukit/hal/linux.h"
#include "npukit/hal/socket.h"
#include "npukit/tcu.h"

enum { MOST_TENSORS = 16, PATH = 4096, USAGE = 64 };

typedef struct tensor {
    const char *name;
    const char *path;
    const char *raw_path;
} tensor;

typedef struct request {
    const char *board;
    const char *model;
    const char *arch;
    const char *samples;
    uint32_t interval;
    uint32_t runs;
    tensor inputs[MOST_TENSORS];
    size_t input_count;
    tensor outputs[MOST_TENSORS];
    size_t output_count;
    const char *fault;
    uint64_t fault_after;
    bool status;
} request;

static const char HELP[] =
    "npukit-tcu BOARD.json MODEL.tmodel [OPTION]...\n"
    "  --input NAME=FILE.npy    an input: real values, or raw integers\n"
    "  --output NAME=FILE.npy   an output as real values, in the model's shape if NAME.npukit.json has it\n"
    "  --raw NAME=FILE.npy      an output as the machine's integers\n"
    "  --arch FILE.tarch        the board's instance (default: the model's); refuses programs for another one\n"
    "  --runs N                 run N times\n"
    "  --samples FILE --interval CYCLES   write performance samples of the last run, for `npu time --from-samples`\n"
    "  --status                 print the known registers\n"
    "  --fault NAME@N           simulated board only: its N-th event of this kind fails\n";

/* ---- arguments ---- */

static bool take_tensor(char *argument, tensor *list, size_t *count, bool raw)
{
    char *equals = strrchr(argument, '=');
    if (equals == NULL || *count == MOST_TENSORS) {
        return false;
    }
    *equals = '\0';
    tensor *entry = &list[(*count)++];
    entry->name = argument;
    entry->path = raw ? NULL : equals + 1;
    entry->raw_path = raw ? equals + 1 : NULL;
    return true;
}

static bool take_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') {
        return false;
    }
    *number = strtoull(text, &end, 0);
    return *end == '\0' && *number <= most;
}

static bool take_small(const char *text, uint32_t *number)
{
    uint64_t wide = 0;
    bool taken = take_number(text, UINT32_MAX, &wide);
    *number = (uint32_t)wide;
    return taken;
}

static bool take_fault(char *text, request *wanted)
{
    char *at = strchr(text, '@');
    if (at == NULL) {
        return false;
    }
    *at = '\0';
    wanted->fault = text;
    return take_number(at + 1, UINT64_MAX, &wanted->fault_after);
}

static bool take_option(const char *option, char *value, request *wanted)
{
    if (strcmp(option, "--input") == 0) {
        return take_tensor(value, wanted->inputs, &wanted->input_count, false);
    }
    if (strcmp(option, "--output") == 0) {
        return take_tensor(value, wanted->outputs, &wanted->output_count, false);
    }
    if (strcmp(option, "--raw") == 0) {
        return take_tensor(value, wanted->outputs, &wanted->output_count, true);
    }
    if (strcmp(option, "--interval") == 0) {
        return take_small(value, &wanted->interval);
    }
    if (strcmp(option, "--runs") == 0) {
        return take_small(value, &wanted->runs);
    }
    if (strcmp(option, "--fault") == 0) {
        return take_fault(value, wanted);
    }
    if (strcmp(option, "--arch") == 0) {
        wanted->arch = value;
        return true;
    }
    if (strcmp(option, "--samples") == 0) {
        wanted->samples = value;
        return true;
    }
    return false;
}

static bool take_arguments(int count, char **arguments, request *wanted)
{
    memset(wanted, 0, sizeof *wanted);
    wanted->runs = 1;
    if (count < 3) {
        return false;
    }
    wanted->board = arguments[1];
    wanted->model = arguments[2];
    for (int at = 3; at < count; at++) {
        if (strcmp(arguments[at], "--status") == 0) {
            wanted->status = true;
        } else if (at + 1 >= count || !take_option(arguments[at], arguments[at + 1], wanted)) {
            return false;
        } else {
            at++;
        }
    }
    return (wanted->samples == NULL) == (wanted->interval == 0);
}

/* ---- the board's file ---- */

typedef struct platform {
    npu_hal hal;
    npu_linux os;
    npu_socket socket;
    bool is_socket;
} platform;

static npu_code number(const npu_json *object, const char *key, uint64_t most, uint64_t *value, npu_error *error)
{
    return npu_json_address(object, key, most, value, error);
}

static npu_code small(const npu_json *object, const char *key, uint32_t *value, npu_error *error)
{
    uint64_t wide = *value;
    npu_code code = npu_json_has(object, key) ? number(object, key, UINT32_MAX, &wide, error) : NPU_OK;
    *value = (uint32_t)wide;
    return code;
}

static npu_code region(const npu_json *board, const char *key, npu_region *value, npu_error *error)
{
    npu_json part;
    npu_code code = npu_json_object(board, key, &part, error);
    code = code == NPU_OK ? number(&part, "address", UINT64_MAX, &value->address, error) : code;
    return code == NPU_OK ? number(&part, "bytes", UINT64_MAX, &value->bytes, error) : code;
}

/* Maps windows on Linux, or connects to the socket of a simulated board. */
static npu_code read_platform(const npu_json *board, platform *on, npu_error *error)
{
    static char paths[NPU_LINUX_WINDOWS][PATH];
    npu_text text;
    npu_json list;
    npu_json entry;
    npu_json_cursor cursor = {0};
    on->is_socket = npu_json_has(board, "socket");
    if (on->is_socket) {
        npu_code code = npu_json_text(board, "socket", &text, error);
        if (code == NPU_OK && !npu_text_copy(text, paths[0], PATH)) {
            return npu_fail(error, NPU_MANIFEST, "is not a valid path", "socket", 0, 0, 0);
        }
        code = code == NPU_OK ? npu_socket_open(&on->socket, paths[0], error) : code;
        on->hal = npu_socket_hal(&on->socket);
        return code;
    }
    npu_linux_begin(&on->os);
    npu_code code = npu_json_array(board, "windows", &list, error);
    while (code == NPU_OK && npu_json_next(&list, &cursor, &entry)) {
        npu_region bus = {0, 0};
        uint64_t offset = 0;
        char *path = paths[on->os.count % NPU_LINUX_WINDOWS];
        code = npu_json_text(&entry, "file", &text, error);
        code = code == NPU_OK ? number(&entry, "offset", INT64_MAX, &offset, error) : code;
        code = code == NPU_OK ? number(&entry, "address", UINT64_MAX, &bus.address, error) : code;
        code = code == NPU_OK ? number(&entry, "bytes", SIZE_MAX, &bus.bytes, error) : code;
        if (code == NPU_OK && !npu_text_copy(text, path, PATH)) {
            return npu_fail(error, NPU_MANIFEST, "is not a valid path", "windows: file", 0, 0, 0);
        }
        code = code == NPU_OK ? npu_linux_map(&on->os, path, offset, bus, error) : code;
    }
    on->hal = npu_linux_hal(&on->os);
    return code;
}

static npu_code read_samples_port(const npu_json *root, npu_tcu_board *board, npu_error *error)
{
    npu_code code = number(root, "sample_dma", UINT64_MAX, &board->sample_dma, error);
    code = code == NPU_OK ? region(root, "samples", &board->samples, error) : code;
    board->has_samples = code == NPU_OK;
    return code;
}

static npu_code read_board(const char *path, npu_tcu_board *board, platform *on, npu_error *error)
{
    tool_file file;
    npu_json root;
    memset(board, 0, sizeof *board);
    board->max_transfer = (1U << 14) - 1U; /* default of the engine: a length register of 14 bits */
    board->sample_block = 64;
    board->timeout_us = 5000000;
    board->decoder_timeout = 100;
    npu_code code = tool_open(path, &file, error);
    code = code == NPU_OK ? npu_json_parse(file.bytes, file.length, &root, error) : code;
    code = code == NPU_OK ? number(&root, "instruction_dma", UINT64_MAX, &board->instruction_dma, error) : code;
    code = code == NPU_OK ? region(&root, "dram0", &board->dram0, error) : code;
    code = code == NPU_OK ? region(&root, "dram1", &board->dram1, error) : code;
    code = code == NPU_OK ? region(&root, "staging", &board->staging, error) : code;
    if (code == NPU_OK && npu_json_has(&root, "sample_dma")) {
        code = read_samples_port(&root, board, error);
    }
    code = code == NPU_OK ? small(&root, "stream_bytes", &board->stream_bytes, error) : code;
    code = code == NPU_OK ? small(&root, "max_transfer", &board->max_transfer, error) : code;
    code = code == NPU_OK ? small(&root, "sample_block", &board->sample_block, error) : code;
    code = code == NPU_OK ? small(&root, "timeout_us", &board->timeout_us, error) : code;
    code = code == NPU_OK ? small(&root, "decoder_timeout", &board->decoder_timeout, error) : code;
    code = code == NPU_OK ? small(&root, "cache0", &board->cache0, error) : code;
    code = code == NPU_OK ? small(&root, "cache1", &board->cache1, error) : code;
    return code == NPU_OK ? read_platform(&root, on, error) : code;
}

/* ---- tensors ---- */

/* Files of an artifact, and its layouts if it has them. */
typedef struct artifact {
    npu_tcu_model model;
    tool_file program;
    tool_file constants;
    bool has_layouts;
    npu_json layouts;
} artifact;

static npu_code open_beside(const char *path, npu_text name, tool_file *file, npu_error *error)
{
    static char other[PATH];
    if (!tool_beside(path, name, other, sizeof other)) {
        return npu_fail(error, NPU_MANIFEST, "must be the plain name of a file next to the manifest", "file_name", 0, 0, 0);
    }
    npu_code code = tool_open(other, file, error);
    if (code != NPU_OK) {
        fprintf(stderr, "%s:\n", other);
    }
    return code;
}

static npu_code open_artifact(const char *path, artifact *of, npu_error *error)
{
    tool_file manifest;
    tool_file sidecar;
    static char other[PATH];
    npu_code code = tool_open(path, &manifest, error);
    code = code == NPU_OK ? npu_tcu_model_parse(manifest.bytes, manifest.length, &of->model, error) : code;
    code = code == NPU_OK ? open_beside(path, of->model.program_file, &of->program, error) : code;
    code = code == NPU_OK ? open_beside(path, of->model.constants_file, &of->constants, error) : code;
    of->has_layouts = false;
    if (code == NPU_OK && tool_with_ending(path, ".tmodel", ".npukit.json", other, sizeof other) &&
        tool_open(other, &sidecar, NULL) == NPU_OK) {
        code = npu_json_parse(sidecar.bytes, sidecar.length, &of->layouts, error);
        of->has_layouts = code == NPU_OK;
    }
    return code;
}

/* Layout of a tensor: the model's, or whole vectors. */
static npu_code layout_of(const artifact *of, const char *list, const npu_tcu_pieces *pieces, const char *name,
                          npu_layout *layout, npu_error *error)
{
    if (of->has_layouts) {
        return npu_tcu_layout(&of->layouts, list, name, layout, error);
    }
    uint64_t lanes = of->model.arch.array_size;
    npu_layout vectors = {2, {npu_tcu_vectors(pieces, name), lanes}, {0, 1}, lanes, 0};
    *layout = vectors;
    return NPU_OK;
}

static npu_code write_input(npu_tcu *tcu, const artifact *of, const tensor *input, npu_error *error)
{
    tool_file file;
    npu_array array;
    npu_layout layout;
    uint64_t saturated = 0;
    npu_code code = tool_open(input->path, &file, error);
    code = code == NPU_OK ? npu_npy_read(file.bytes, file.length, &array, error) : code;
    code = code == NPU_OK ? layout_of(of, "inputs", &of->model.inputs, input->name, &layout, error) : code;
    code = code == NPU_OK ? npu_tcu_write_array(tcu, input->name, &array, &layout, &saturated, error) : code;
    if (code == NPU_OK && saturated > 0) {
        fprintf(stderr, "warning: %s: %llu values did not fit the number format\n", input->name, (unsigned long long)saturated);
    }
    return code;
}

static npu_code read_output(npu_tcu *tcu, const artifact *of, const tensor *output, npu_error *error)
{
    npu_layout layout;
    uint64_t vectors = 0;
    npu_array array = {output->raw_path != NULL ? NPU_INT32 : NPU_FLOAT32, 0, {0}, 0, NULL};
    npu_code code = layout_of(of, "outputs", &of->model.outputs, output->name, &layout, error);
    code = code == NPU_OK ? npu_layout_check(&layout, of->model.arch.array_size, &array.scalars, &vectors, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    array.rank = layout.rank;
    memcpy(array.shape, layout.shape, sizeof array.shape);
    if (vectors != npu_tcu_vectors(&of->model.outputs, output->name) || vectors == 0) {
        return npu_fail(error, NPU_ARGUMENT, "the program has no output with this name and layout", output->name, 0, 0, vectors);
    }
    /* A host can allocate memory; the library only needs a place for the result. */
    void *data = mmap(NULL, (size_t)array.scalars * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        return npu_fail(error, NPU_SYSTEM, "not enough memory for an output", output->name, 0, array.scalars * 4, 0);
    }
    if (output->raw_path != NULL) {
        code = npu_tcu_read_raw(tcu, output->name, data, array.scalars, &layout, error);
    } else {
        code = npu_tcu_read_reals(tcu, output->name, data, array.scalars, &layout, error);
    }
    const char *path = output->raw_path != NULL ? output->raw_path : output->path;
    code = code == NPU_OK ? tool_write_array(path, &array, data, error) : code;
    munmap(data, (size_t)array.scalars * 4);
    return code;
}

/* ---- samples and registers ---- */

static npu_code write_samples(npu_tcu *tcu, const char *path, npu_error *error)
{
    bool lost = false;
    uint64_t count = npu_tcu_samples(tcu, &lost);
    FILE *file = fopen(path, "wb");
    bool written = file != NULL;
    npu_code code = NPU_OK;
    for (uint64_t i = 0; code == NPU_OK && written && i < count; i++) {
        uint64_t word = 0;
        uint8_t bytes[8];
        code = npu_tcu_read_samples(tcu, i, &word, 1, error);
        for (unsigned byte = 0; byte < 8; byte++) {
            bytes[byte] = (uint8_t)(word >> (8U * byte) & 0xFFU);
        }
        written = fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes;
    }
    written = written && fclose(file) == 0;
    if (code == NPU_OK && !written) {
        code = npu_fail(error, NPU_SYSTEM, "the samples could not be written", path, 0, count, 0);
    }
    if (lost) {
        fprintf(stderr, "warning: the buffer was too small for all samples\n");
    }
    return code;
}

static npu_code print_status(npu_tcu *tcu, npu_error *error)
{
    npu_tcu_status status;
    npu_code code = npu_tcu_status_read(tcu, &status, error);
    if (code == NPU_OK) {
        printf("instruction DMA status %#010x, sample DMA status %#010x\n", status.instruction_dma, status.sample_dma);
        for (unsigned number_ = 0; number_ < NPU_TCU_REGISTERS; number_++) {
            printf("register %u: written %u\n", number_, status.written[number_]);
        }
    }
    return code;
}

/* ---- the whole ---- */

static npu_code run_all(npu_tcu *tcu, const artifact *of, const request *wanted, npu_error *error)
{
    npu_code code = NPU_OK;
    for (uint32_t run = 0; code == NPU_OK && run < wanted->runs; run++) {
        for (size_t i = 0; code == NPU_OK && i < wanted->input_count; i++) {
            code = write_input(tcu, of, &wanted->inputs[i], error);
        }
        if (code == NPU_OK && run + 1 == wanted->runs) {
            code = npu_tcu_sample(tcu, wanted->interval, error);
        }
        code = code == NPU_OK ? npu_tcu_run(tcu, error) : code;
    }
    for (size_t i = 0; code == NPU_OK && i < wanted->output_count; i++) {
        code = read_output(tcu, of, &wanted->outputs[i], error);
    }
    if (code == NPU_OK && wanted->samples != NULL) {
        code = write_samples(tcu, wanted->samples, error);
    }
    return code == NPU_OK && wanted->status ? print_status(tcu, error) : code;
}

static npu_code read_arch(const char *path, npu_tcu_arch *arch, npu_error *error)
{
    tool_file file;
    npu_code code = tool_open(path, &file, error);
    return code == NPU_OK ? npu_tcu_arch_parse(file.bytes, file.length, arch, error) : code;
}

static npu_code carry_out(const request *wanted, npu_error *error)
{
    static npu_tcu tcu;
    static artifact of;
    static platform on;
    npu_tcu_board board;
    npu_tcu_arch arch;
    npu_code code = open_artifact(wanted->model, &of, error);
    arch = of.model.arch;
    code = code == NPU_OK && wanted->arch != NULL ? read_arch(wanted->arch, &arch, error) : code;
    code = code == NPU_OK ? read_board(wanted->board, &board, &on, error) : code;
    if (code == NPU_OK && wanted->fault != NULL &&
        (!on.is_socket || !npu_socket_inject(&on.socket, wanted->fault, wanted->fault_after))) {
        return npu_fail(error, NPU_ARGUMENT, "the board does not know this fault", "--fault", 0, 0, 0);
    }
    code = code == NPU_OK ? npu_tcu_open(&tcu, &on.hal, &arch, &board, error) : code;
    if (code == NPU_OK) {
        code = npu_tcu_load(&tcu, &of.model, of.program.bytes, of.program.length, of.constants.bytes, of.constants.length,
                            error);
    }
    return code == NPU_OK ? run_all(&tcu, &of, wanted, error) : code;
}

int main(int count, char **arguments)
{
    static request wanted;
    npu_error error;
    char text[512];
    if (!take_arguments(count, arguments, &wanted)) {
        fputs(HELP, stderr);
        return USAGE;
    }
    npu_code code = carry_out(&wanted, &error);
    if (code != NPU_OK) {
        fprintf(stderr, "error: %s\n", npu_error_text(&error, text, sizeof text));
    }
    return (int)code;
}
