/* Runs an artifact on the unit: finds it in the image that the loader has copied from the SPI flash, runs its samples one
 * after the other, and prints the results.
 *
 * Lines of the output, each a word and numbers:
 *
 *     model NAME
 *     sample I cycles C total T read L write W late X input A run B output D host H class K
 *     raw I V V V ..     raw values of the output, in the model's order
 *     done N
 *     error TEXT
 *
 * C are the unit's cycles from the first instruction to the last word that the program writes, T with the driver's move. L and
 * W are the latencies of DRAM0 in this run, X the cycles in which memory was slower than promised, if it was. A, B and D
 * are the processor's cycles for the input, the program and the output, H those of all three. C to X are left out where
 * the hardware has no counters. */
#include <string.h>

#include "console.h"
#include "image.h"
#include "platform.h"

enum {
    MOST_SCALARS = 4096, /* of an output */
    NAME_BYTES = 64,
};

/* What the image contains. */
typedef struct artifact {
    npu_tcu_model model;
    npu_json layouts;
    image_file program;
    image_file constants;
    npu_array samples;
    char input[NAME_BYTES];
    char output[NAME_BYTES];
    npu_layout input_layout;
    npu_layout output_layout;
    uint64_t input_scalars;
    uint64_t output_scalars;
} artifact;

static npu_hal hal;
static npu_tcu tcu;
static artifact of;

static npu_code missing(const char *what, npu_error *error)
{
    return npu_fail(error, NPU_MANIFEST, "the image does not contain this file", what, 0, 0, 0);
}

static npu_code read_layout(const char *list, const npu_tcu_pieces *pieces, char *name, npu_layout *layout,
                            uint64_t *scalars, npu_error *error)
{
    uint64_t vectors = 0;
    if (pieces->count == 0 || !npu_text_copy(pieces->pieces[0].name, name, NAME_BYTES)) {
        return npu_fail(error, NPU_CAPACITY, "must have a name of less than 64 bytes", list, 0, NAME_BYTES, 0);
    }
    npu_code code = npu_tcu_layout(&of.layouts, list, name, layout, error);
    return code == NPU_OK ? npu_layout_check(layout, of.model.arch.array_size, scalars, &vectors, error) : code;
}

static npu_code read_artifact(const image *files, npu_error *error)
{
    image_file manifest;
    image_file sidecar;
    image_file samples;
    if (!image_find_ending(files, ".tmodel", &manifest)) {
        return missing("*.tmodel", error);
    }
    npu_code code = npu_tcu_model_parse(manifest.bytes, manifest.length, &of.model, error);
    if (code != NPU_OK) {
        return code;
    }
    npu_text program = of.model.program_file;
    npu_text constants = of.model.constants_file;
    if (!image_find(files, program.text, (uint32_t)program.length, &of.program)) {
        return missing("program", error);
    }
    if (!image_find(files, constants.text, (uint32_t)constants.length, &of.constants)) {
        return missing("constants", error);
    }
    if (!image_find_ending(files, ".npukit.json", &sidecar)) {
        return missing("*.npukit.json", error);
    }
    if (!image_find_ending(files, ".npy", &samples)) {
        return missing("*.npy", error);
    }
    code = npu_json_parse(sidecar.bytes, sidecar.length, &of.layouts, error);
    code = code == NPU_OK ? read_layout("inputs", &of.model.inputs, of.input, &of.input_layout, &of.input_scalars, error) : code;
    code = code == NPU_OK ? read_layout("outputs", &of.model.outputs, of.output, &of.output_layout, &of.output_scalars, error)
                          : code;
    code = code == NPU_OK ? npu_npy_read(samples.bytes, samples.length, &of.samples, error) : code;
    if (code == NPU_OK && (of.samples.element != NPU_FLOAT32 || of.samples.scalars % of.input_scalars != 0)) {
        code = npu_fail(error, NPU_LENGTH, "must be float32, a whole number of samples", of.input, 0, of.input_scalars,
                        of.samples.scalars);
    }
    if (code == NPU_OK && of.output_scalars > MOST_SCALARS) {
        code = npu_fail(error, NPU_CAPACITY, "the output is too large", of.output, 0, MOST_SCALARS, of.output_scalars);
    }
    return code;
}

static void print_raw(uint64_t sample, const int32_t *raw)
{
    print("raw");
    print_number((int64_t)sample);
    for (uint64_t i = 0; i < of.output_scalars; i++) {
        print_number(raw[i]);
    }
    print("\n");
}

static uint32_t greatest(const int32_t *raw)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < of.output_scalars; i++) {
        best = raw[i] > raw[best] ? i : best;
    }
    return best;
}

static npu_code run_sample(uint64_t sample, npu_error *error)
{
    static int32_t raw[MOST_SCALARS];
    const float *values = (const float *)(const void *)(of.samples.data + sample * of.input_scalars * sizeof(float));
    uint64_t start = platform_cycles();
    npu_code code = npu_tcu_write_reals(&tcu, of.input, values, of.input_scalars, &of.input_layout, NULL, error);
    uint64_t written = platform_cycles();
    platform_restart_counters();
    code = code == NPU_OK ? npu_tcu_run(&tcu, error) : code;
    uint64_t ended = platform_cycles();
    code = code == NPU_OK ? npu_tcu_read_raw(&tcu, of.output, raw, of.output_scalars, &of.output_layout, error) : code;
    if (code == NPU_OK) {
        uint64_t read = platform_cycles();
        print_field("sample", (int64_t)sample);
        platform_print_counters();
        print_field(" input", (int64_t)(written - start));
        print_field(" run", (int64_t)(ended - written));
        print_field(" output", (int64_t)(read - ended));
        print_field(" host", (int64_t)(read - start));
        print_field(" class", greatest(raw));
        print("\n");
        print_raw(sample, raw);
    }
    return code;
}

static npu_code run(npu_error *error)
{
    npu_tcu_board board;
    image files = image_at(platform_image());
    hal = platform_start(&board);
    npu_code code = read_artifact(&files, error);
    if (code != NPU_OK) {
        return code;
    }
    print("model ");
    print_part(of.model.name.text, (uint32_t)of.model.name.length);
    print("\n");
    code = npu_tcu_open(&tcu, &hal, &of.model.arch, &board, error);
    code = code == NPU_OK ? npu_tcu_load(&tcu, &of.model, of.program.bytes, of.program.length, of.constants.bytes,
                                         of.constants.length, error)
                          : code;
    uint64_t count = of.samples.scalars / of.input_scalars;
    for (uint64_t i = 0; code == NPU_OK && i < count; i++) {
        code = run_sample(i, error);
    }
    if (code == NPU_OK) {
        print_field("done", (int64_t)count);
        print("\n");
    }
    return code;
}

int main(void)
{
    static char text[256];
    npu_error error;
    npu_code code = run(&error);
    if (code != NPU_OK) {
        print("error ");
        print(npu_error_text(&error, text, sizeof text));
        print("\n");
    }
    platform_end((int)code);
    return 0;
}
