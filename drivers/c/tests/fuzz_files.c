/* Damages files in many ways and passes them to every reader, which must neither crash nor, under sanitizers, have
 * undefined behavior: fuzz_files CASES FILE... The number of the case determines the damage. */
#include <string.h>

#include "check.h"
#include "npukit/drra.h"
#include "npukit/npy.h"
#include "npukit/opu.h"
#include "npukit/pccx.h"
#include "npukit/tcu.h"

enum { MOST = 1 << 20 };

static uint64_t state;

static uint64_t next(void)
{
    /* SplitMix64 */
    uint64_t mixed = state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

/* Random number below `most`. */
static size_t below(size_t most)
{
    return (size_t)(next() % most);
}

/* Bytes with a meaning for the readers. */
static uint8_t telling(void)
{
    static const char bytes[] = "\"\\{}[]:,0919eE+-.tfnu()' <|#=\n\xFF\x00\x80";
    return (uint8_t)bytes[below(sizeof bytes - 1)];
}

/* Changes a few bytes, truncates, or repeats a part; returns the new length. */
static size_t damage(uint8_t *bytes, size_t length)
{
    size_t changes = 1 + below(4);
    for (size_t change = 0; change < changes && length > 0; change++) {
        size_t at = below(length);
        size_t part = 1 + below(16);
        switch (below(5)) {
        case 0: bytes[at] = (uint8_t)next(); break;
        case 1: bytes[at] = telling(); break;
        case 2: length = at; break;
        case 3:
            part = part < length - at ? part : length - at;
            memmove(bytes + at, bytes + at + part, length - at - part);
            length -= part;
            break;
        default:
            part = part < length - at ? part : length - at;
            if (length + part <= MOST) {
                memmove(bytes + at + part, bytes + at, length - at);
                length += part;
            }
        }
    }
    return length;
}

static void read_layouts(const npu_json *root, const npu_tcu_model *model)
{
    static const char *const lists[] = {"inputs", "outputs"};
    npu_error error;
    npu_layout layout;
    uint64_t scalars = 0;
    uint64_t vectors = 0;
    char name[64];
    for (size_t i = 0; i < 2; i++) {
        const npu_tcu_pieces *pieces = i == 0 ? &model->inputs : &model->outputs;
        const char *wanted = pieces->count > 0 && npu_text_copy(pieces->pieces[0].name, name, sizeof name) ? name : "x";
        if (npu_tcu_layout(root, lists[i], wanted, &layout, &error) == NPU_OK &&
            npu_layout_check(&layout, 8, &scalars, &vectors, &error) == NPU_OK && vectors < 4096) {
            npu_layout_walk walk = npu_layout_begin(&layout, 8);
            for (uint64_t lane = 0; lane < vectors * 8; lane++) {
                uint64_t place = 0;
                CHECK(!npu_layout_lane(&walk, &place) || place < scalars);
            }
        }
    }
}

static void read_array(const npu_array *array)
{
    int32_t raw = 0;
    npu_error error;
    if (array->scalars > 0) {
        uint64_t last = array->scalars - 1;
        if (npu_array_is_raw(array)) {
            (void)npu_array_raw(array, last, &raw, &error);
        } else {
            bool saturated = false;
            npu_fixed format = {16, 8, 2};
            raw = npu_fixed_from_real(format, npu_array_real(array, last), &saturated);
            CHECK(raw >= -32768 && raw <= 32767);
        }
    }
}

/* A fabric that accepts everything within its bounds. */
static npu_code take_word(void *context, uint32_t row, uint32_t hops, uint32_t address, uint32_t word, npu_error *error)
{
    (void)context;
    (void)word;
    (void)error;
    CHECK(row < 3 && hops < 2 && address < 64);
    return NPU_OK;
}

static npu_code call(void *context, npu_error *error)
{
    (void)context;
    (void)error;
    return NPU_OK;
}

static npu_code returned(void *context, uint32_t row, bool *is_back, npu_error *error)
{
    (void)context;
    (void)row;
    (void)error;
    *is_back = true;
    return NPU_OK;
}

static npu_code take_row(void *context, uint32_t row, const uint8_t *bytes, npu_error *error)
{
    (void)context;
    (void)bytes;
    (void)error;
    CHECK(row < 1024);
    return NPU_OK;
}

static npu_code give_row(void *context, uint32_t row, uint8_t *bytes, npu_error *error)
{
    (void)error;
    return take_row(context, row, bytes, error);
}

static uint64_t now_us(void *context)
{
    (void)context;
    return 0;
}

static void read_drra(const uint8_t *bytes, size_t length)
{
    npu_drra drra;
    npu_error error;
    npu_hal hal = {.now_us = now_us};
    npu_drra_port port = {NULL, take_word, call, returned, take_row, give_row};
    npu_drra_fabric fabric = {3, 2, 64, 1024, 1024};
    CHECK(npu_drra_open(&drra, &hal, port, fabric, 1000, &error) == NPU_OK);
    (void)npu_drra_load(&drra, bytes, length, &error);
    (void)npu_drra_write_image(&drra, bytes, length, NULL, &error);
}

/* The OPU's memory accepts every write within the bounds that the driver checks. */
static bool write_nothing(void *context, uint64_t address, uint32_t value)
{
    (void)context;
    (void)address;
    (void)value;
    return true;
}

static bool read_nothing(void *context, uint64_t address, uint32_t *value)
{
    (void)context;
    (void)address;
    *value = 0;
    return true;
}

static bool put_memory(void *context, uint64_t address, const void *from, size_t bytes)
{
    (void)context;
    (void)from;
    CHECK(address <= UINT64_C(1) << 32 && bytes <= (UINT64_C(1) << 32) - address);
    return true;
}

static bool get_memory(void *context, uint64_t address, void *to, size_t bytes)
{
    memset(to, 0x5A, bytes);
    return put_memory(context, address, to, bytes);
}

static npu_code opu_begin(void *context, uint32_t address, npu_error *error)
{
    (void)address;
    return call(context, error);
}

static npu_code opu_ended(void *context, bool *ended, npu_error *error)
{
    return returned(context, 0, ended, error);
}

static void read_opu(const uint8_t *bytes, size_t length)
{
    static npu_opu_model model;
    static npu_opu opu;
    static uint8_t data[4096];
    npu_error error;
    npu_hal hal = {.read32 = read_nothing, .write32 = write_nothing, .read_memory = get_memory, .write_memory = put_memory,
                   .now_us = now_us};
    npu_opu_start start = {NULL, opu_begin, opu_ended};
    npu_region memory = {0, UINT64_C(1) << 32};
    char name[64];
    if (npu_opu_model_parse(bytes, length, &model, &error) != NPU_OK) {
        return;
    }
    CHECK(npu_opu_open(&opu, &hal, memory, start, 1000, &error) == NPU_OK);
    /* Without segments, whose file is not available. */
    model.segments = 0;
    if (npu_opu_load(&opu, &model, data, (size_t)model.program_words * 4 > sizeof data ? 0 : (size_t)model.program_words * 4, data, 0,
                     &error) != NPU_OK) {
        return;
    }
    npu_array array = {NPU_UINT8, 1, {0}, 0, data};
    uint64_t vectors = 0;
    if (model.inputs > 0 && npu_text_copy(model.input[0].name, name, sizeof name) &&
        npu_layout_check(&model.input[0].layout, 1, &array.scalars, &vectors, &error) == NPU_OK && array.scalars <= sizeof data &&
        (uint64_t)model.input[0].height * model.input[0].width < 4096) {
        (void)npu_opu_write(&opu, name, &array, NULL, &error);
    }
}

static void read_all(const uint8_t *bytes, size_t length)
{
    npu_pccx_program program;
    npu_tcu_model model;
    npu_tcu_arch arch;
    npu_array array;
    npu_json root;
    npu_error error;
    (void)npu_pccx_parse(bytes, length, &program, &error);
    read_drra(bytes, length);
    read_opu(bytes, length);
    memset(&model, 0, sizeof model);
    if (npu_tcu_model_parse(bytes, length, &model, &error) != NPU_OK) {
        model.inputs.count = model.outputs.count = 0;
    }
    if (npu_tcu_arch_parse(bytes, length, &arch, &error) == NPU_OK) {
        CHECK(npu_tcu_fields_of(&arch).bytes <= NPU_TCU_MOST_INSTRUCTION_BYTES);
        (void)npu_tcu_check_program(&arch, bytes, length, &error);
    }
    npu_tcu_arch pynqz1 = {NPU_TCU_FP16BP8, 8, 1048576, 1048576, 8192, 2048, 1, 8, 8, 0};
    (void)npu_tcu_check_program(&pynqz1, bytes, length - length % 8, &error);
    if (npu_json_parse(bytes, length, &root, &error) == NPU_OK) {
        read_layouts(&root, &model);
    }
    if (npu_npy_read(bytes, length, &array, &error) == NPU_OK) {
        read_array(&array);
    }
}

int main(int count, char **arguments)
{
    static uint8_t original[MOST];
    static uint8_t bytes[MOST];
    unsigned long cases = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    if (cases == 0 || count < 3) {
        fputs("usage: fuzz_files CASES FILE...\n", stderr);
        return EXIT_FAILURE;
    }
    for (int i = 2; i < count; i++) {
        FILE *file = fopen(arguments[i], "rb");
        size_t length = file != NULL ? fread(original, 1, MOST / 2, file) : 0;
        CHECK(file != NULL && fclose(file) == 0);
        for (unsigned long one = 0; one < cases; one++) {
            memcpy(bytes, original, length);
            state = one * 1000003 + (uint64_t)i;
            size_t left = one == 0 ? length : damage(bytes, length);
            /* A separate allocation, so that a sanitizer detects every access beyond it. */
            uint8_t *exact = malloc(left > 0 ? left : 1);
            CHECK(exact != NULL);
            memcpy(exact, bytes, left);
            read_all(exact, left);
            free(exact);
        }
    }
    FINISH();
}
