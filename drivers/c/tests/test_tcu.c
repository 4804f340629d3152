/* Instructions, manifests and errors of the TCU. Words are the worked encodings of the specification, 3.5; layouts are
 * its table 3.4. */
#include <string.h>

#include "check.h"
#include "npukit/hal/bare_metal.h"
#include "npukit/tcu.h"

static npu_tcu_arch instance(uint32_t array, uint64_t dram0, uint64_t dram1, uint64_t local, uint64_t accumulators)
{
    npu_tcu_arch arch = {NPU_TCU_FP16BP8, array, dram0, dram1, local, accumulators, 1, 8, 8, 0};
    return arch;
}

static void encodes_move(const npu_tcu_arch *arch, npu_tcu_move kind, uint64_t local, uint64_t dram, uint64_t size,
                         const char *word, size_t length)
{
    uint8_t bytes[NPU_TCU_MOST_INSTRUCTION_BYTES];
    CHECK(npu_tcu_fields_of(arch).bytes == length);
    CHECK(npu_tcu_encode_move(arch, kind, local, dram, size, bytes, NULL) == NPU_OK);
    CHECK(memcmp(bytes, word, length) == 0);
}

static void moves(void)
{
    npu_tcu_arch pynqz1 = instance(8, 1048576, 1048576, 8192, 2048);
    npu_tcu_arch ultra96v2 = instance(16, 2097152, 2097152, 20480, 4096);
    encodes_move(&pynqz1, NPU_TCU_DRAM0_TO_LOCAL, 0x10, 0x200, 8, "\x10\x00\x00\x02\x00\x07\x00\x20", 8);
    encodes_move(&pynqz1, NPU_TCU_LOCAL_TO_DRAM0, 0x10, 0x200, 8, "\x10\x00\x00\x02\x00\x07\x00\x21", 8);
    encodes_move(&pynqz1, NPU_TCU_DRAM1_TO_LOCAL, 0x10, 0x200, 8, "\x10\x00\x00\x02\x00\x07\x00\x22", 8);
    encodes_move(&pynqz1, NPU_TCU_LOCAL_TO_DRAM1, 0x10, 0x200, 8, "\x10\x00\x00\x02\x00\x07\x00\x23", 8);
    encodes_move(&pynqz1, NPU_TCU_DRAM0_TO_LOCAL, 8191, 1048575, 1, "\xff\x1f\xff\xff\x0f\x00\x00\x20", 8);
    encodes_move(&pynqz1, NPU_TCU_LOCAL_TO_DRAM0, 8191, 1048574, 1, "\xff\x1f\xfe\xff\x0f\x00\x00\x21", 8);
    encodes_move(&ultra96v2, NPU_TCU_DRAM1_TO_LOCAL, 16384, 2093056, 4096, "\x00\x40\x00\x00\xf0\x1f\xff\x0f\x22", 9);
    uint8_t bytes[NPU_TCU_MOST_INSTRUCTION_BYTES];
    CHECK(npu_tcu_encode_move(&pynqz1, NPU_TCU_DRAM0_TO_LOCAL, 8191, 0, 2, bytes, NULL) == NPU_RANGE);
    CHECK(npu_tcu_encode_move(&pynqz1, NPU_TCU_DRAM0_TO_LOCAL, 0, 0, 0, bytes, NULL) == NPU_RANGE);
    CHECK(npu_tcu_encode_move(&pynqz1, NPU_TCU_DRAM0_TO_LOCAL, 0, 1048576, 1, bytes, NULL) == NPU_RANGE);
}

static void configures(void)
{
    npu_tcu_arch pynqz1 = instance(8, 1048576, 1048576, 8192, 2048);
    uint8_t bytes[NPU_TCU_MOST_INSTRUCTION_BYTES];
    CHECK(npu_tcu_encode_configure(&pynqz1, NPU_TCU_DRAM0_OFFSET, 0x1234, bytes, NULL) == NPU_OK);
    CHECK(memcmp(bytes, "\x40\x23\x01\x00\x00\x00\x00\xf0", 8) == 0);
    CHECK(npu_tcu_encode_configure(&pynqz1, NPU_TCU_TIMEOUT, 100, bytes, NULL) == NPU_OK);
    CHECK(memcmp(bytes, "\x48\x06\x00\x00\x00\x00\x00\xf0", 8) == 0);
    CHECK(npu_tcu_encode_configure(&pynqz1, NPU_TCU_PROGRAM_COUNTER, 1, bytes, NULL) == NPU_OK);
    CHECK(memcmp(bytes, "\x1a\x00\x00\x00\x00\x00\x00\xf0", 8) == 0);
    CHECK(npu_tcu_encode_configure(&pynqz1, NPU_TCU_DRAM0_OFFSET, 0x10000, bytes, NULL) == NPU_RANGE);
    CHECK(npu_tcu_encode_configure(&pynqz1, NPU_TCU_DRAM1_CACHE, 16, bytes, NULL) == NPU_RANGE);
    CHECK(npu_tcu_encode_configure(&pynqz1, (npu_tcu_register)7, 1, bytes, NULL) == NPU_RANGE);
}

/* Table 3.4: positions of the fields on shipped instances. */
static void layouts(void)
{
    npu_tcu_arch zcu104 = instance(32, 2097152, 2097152, 16384, 4096);
    npu_tcu_fields fields = npu_tcu_fields_of(&zcu104);
    CHECK(fields.address0 == 14 && fields.stride0 == 3 && fields.operand1 == 24 && fields.address1 == 21);
    CHECK(fields.stride1 == 3 && fields.operand2 == 48 && fields.value2 == 14 && fields.header == 64 && fields.bytes == 9);
    npu_tcu_arch cmoda7 = instance(4, 4096, 32768, 4096, 4096);
    fields = npu_tcu_fields_of(&cmoda7);
    CHECK(fields.address0 == 12 && fields.operand1 == 16 && fields.address1 == 15 && fields.operand2 == 40);
    CHECK(fields.value2 == 12 && fields.header == 56);
    npu_tcu_arch speech_robot = instance(8, 131072, 131072, 8192, 2048);
    fields = npu_tcu_fields_of(&speech_robot);
    CHECK(fields.address0 == 13 && fields.operand1 == 16 && fields.address1 == 17 && fields.operand2 == 40 && fields.value2 == 13);
}

static void programs(void)
{
    npu_tcu_arch pynqz1 = instance(8, 1048576, 1048576, 8192, 2048);
    npu_error error;
    /* Legal: MatMul accumulate, Accumulator to local, LoadWeights zeroes, SIMD. */
    static const char legal[] = "\x23\x21\x45\x00\x20\x3f\x00\x11\x10\x00\x00\x02\x00\x07\x00\x2c"
                                "\x00\x00\x00\x00\x00\x00\x00\x31\x21\x00\x20\x00\x00\x7a\x00\x43";
    CHECK(npu_tcu_check_program(&pynqz1, legal, 32, &error) == NPU_OK);
    CHECK(npu_tcu_check_program(&pynqz1, legal, 31, &error) == NPU_PROGRAM && error.actual == 7);
    /* 1,024 vectors at 0xDEF with stride 2^4 end within the bank; those at 1,032,192 end beyond it. */
    static const char strided[] = "\xbc\x6a\xef\x0d\x40\xff\x01\x20";
    CHECK(npu_tcu_check_program(&pynqz1, strided, 8, &error) == NPU_OK);
    static const char beyond[] = "\xbc\x6a\x00\xe0\x4f\xff\x01\x20";
    CHECK(npu_tcu_check_program(&pynqz1, beyond, 8, &error) == NPU_OK); /* 0xFE000 + 511 * 16 */
    static const char farther[] = "\xbc\x6a\x00\xe0\x5f\xff\x01\x20";
    CHECK(npu_tcu_check_program(&pynqz1, farther, 8, &error) == NPU_PROGRAM && error.actual == 0xFE000 + 511 * 32);
    static const char lut[] = "\0\0\0\0\0\0\0\x50";
    CHECK(npu_tcu_check_program(&pynqz1, lut, 8, &error) == NPU_PROGRAM && error.actual == 5);
    static const char kind[] = "\0\0\0\0\0\0\0\x2e";
    CHECK(npu_tcu_check_program(&pynqz1, kind, 8, &error) == NPU_PROGRAM && error.actual == 0xE);
}

static const char MODEL[] =
    "{\"name\":\"m\",\"prog\":{\"file_name\":\"m.tprog\",\"size\":16},\"consts\":[{\"file_name\":\"m.tdata\",\"base\":0,"
    "\"size\":3}],\"inputs\":[{\"name\":\"x\",\"base\":0,\"size\":4},{\"name\":\"y\",\"base\":4,\"size\":1},"
    "{\"name\":\"x\",\"base\":9,\"size\":2}],\"outputs\":[{\"name\":\"z\",\"base\":8,\"size\":1}],\"arch\":{\"data_type\":"
    "\"FP16BP8\",\"array_size\":8,\"dram0_depth\":1048576,\"dram1_depth\":1048576,\"local_depth\":8192,"
    "\"accumulator_depth\":2048,\"simd_registers_depth\":1,\"stride0_depth\":8,\"stride1_depth\":8},"
    "\"load_consts_to_local\":true}";

static void manifests(void)
{
    npu_tcu_model model;
    npu_error error;
    CHECK(npu_tcu_model_parse(MODEL, sizeof MODEL - 1, &model, &error) == NPU_OK);
    CHECK(npu_text_is(model.program_file, "m.tprog") && model.program_bytes == 16 && model.constants_size == 3);
    CHECK(model.constants_to_local && model.inputs.count == 3 && model.outputs.pieces[0].base == 8);
    CHECK(npu_tcu_vectors(&model.inputs, "x") == 6 && npu_tcu_vectors(&model.inputs, "none") == 0);
    npu_tcu_arch pynqz1 = instance(8, 1048576, 1048576, 8192, 2048);
    CHECK(npu_tcu_arch_same(&model.arch, &pynqz1, &error) == NPU_OK);
    pynqz1.stride1_depth = 4;
    CHECK(npu_tcu_arch_same(&model.arch, &pynqz1, &error) == NPU_ARCHITECTURE && strcmp(error.where, "stride1_depth") == 0);
    /* Every truncated text is refused. */
    for (size_t length = 0; length < sizeof MODEL - 1; length++) {
        CHECK(npu_tcu_model_parse(MODEL, length, &model, &error) == NPU_SYNTAX);
    }
}

static void instances_without_a_circuit(void)
{
    static const char *const more[] = {"\"number_of_threads\":2", "\"reading\":\"seed\"", "\"number_of_threads\":1", "\"reading\":\"released\""};
    static const npu_code codes[] = {NPU_UNSUPPORTED, NPU_UNSUPPORTED, NPU_OK, NPU_OK};
    for (size_t i = 0; i < 4; i++) {
        char text[512];
        npu_tcu_arch arch;
        int length = snprintf(text, sizeof text,
                              "{\"data_type\":\"FP16BP8\",\"array_size\":8,\"dram0_depth\":1024,\"dram1_depth\":1024,"
                              "\"local_depth\":8192,\"accumulator_depth\":2048,\"simd_registers_depth\":1,\"stride0_depth\":8,"
                              "\"stride1_depth\":8,%s}",
                              more[i]);
        CHECK(length > 0 && npu_tcu_arch_parse(text, (size_t)length, &arch, NULL) == codes[i]);
    }
}

static void a_side_car(void)
{
    static const char text[] = "{\"inputs\":[{\"name\":\"x\",\"model_shape\":[1,3,2,2],\"perm\":[0,2,3,1],\"channels\":3}]}";
    npu_json root;
    npu_layout layout;
    npu_error error;
    CHECK(npu_json_parse(text, sizeof text - 1, &root, &error) == NPU_OK);
    CHECK(npu_tcu_layout(&root, "inputs", "x", &layout, &error) == NPU_OK);
    CHECK(layout.rank == 4 && layout.shape[1] == 3 && layout.perm[3] == 1 && layout.channels == 3);
    CHECK(layout.exponent == 0);
    CHECK(npu_tcu_layout(&root, "inputs", "y", &layout, &error) == NPU_MANIFEST);
    CHECK(npu_tcu_layout(&root, "outputs", "x", &layout, &error) == NPU_MANIFEST);
    static const char *const exponents[] = {"2", "-6", "65", "-65", "0.5", "-", "\"2\""};
    static const npu_code codes[] = {NPU_OK, NPU_OK, NPU_MANIFEST, NPU_MANIFEST, NPU_MANIFEST, NPU_SYNTAX, NPU_MANIFEST};
    for (size_t i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
        char scaled[256];
        int length = snprintf(scaled, sizeof scaled,
                              "{\"outputs\":[{\"name\":\"y\",\"model_shape\":[3],\"perm\":[0],\"channels\":3,\"exponent\":%s}]}",
                              exponents[i]);
        npu_code code = npu_json_parse(scaled, (size_t)length, &root, &error);
        code = code == NPU_OK ? npu_tcu_layout(&root, "outputs", "y", &layout, &error) : code;
        CHECK(code == codes[i]);
        CHECK(code != NPU_OK || layout.exponent == (i == 0 ? 2 : -6));
    }
}

/* A bus without a board: its clock stands still, its registers read as ones. */
static bool read_ones(void *context, uint64_t address, uint32_t *value)
{
    (void)context;
    (void)address;
    *value = 0xFFFFFFFB; /* without the bit of a reset in progress */
    return true;
}

static bool write_nothing(void *context, uint64_t address, uint32_t value)
{
    (void)context;
    (void)address;
    (void)value;
    return true;
}

static bool read_nowhere(void *context, uint64_t address, void *to, size_t bytes)
{
    (void)context;
    (void)address;
    memset(to, 0xFF, bytes);
    return true;
}

static bool write_nowhere(void *context, uint64_t address, const void *from, size_t bytes)
{
    (void)context;
    (void)address;
    (void)from;
    (void)bytes;
    return true;
}

static bool read_reset(void *context, uint64_t address, uint32_t *value)
{
    (void)context;
    (void)address;
    *value = 4;
    return true;
}

static bool read_idle(void *context, uint64_t address, uint32_t *value)
{
    (void)context;
    (void)address;
    *value = 2;
    return true;
}

static uint64_t stand_still(void *context)
{
    (void)context;
    return 0;
}

static void boards_that_are_not_there(void)
{
    static npu_tcu tcu;
    npu_error error;
    npu_tcu_arch pynqz1 = instance(8, 1048576, 1048576, 8192, 2048);
    npu_tcu_board board = {
        .instruction_dma = 0x40400000,
        .dram0 = {0x10000000, 1U << 24},
        .dram1 = {0x20000000, 1U << 24},
        .staging = {0x30000000, 4096},
        .stream_bytes = 8,
        .max_transfer = 4096,
        .timeout_us = 1000,
    };
    npu_hal hal = {NULL, read_ones, write_nothing, NULL, NULL, read_nowhere, write_nowhere, NULL, NULL, stand_still, NULL};
    CHECK(npu_tcu_open(&tcu, &hal, &pynqz1, &board, &error) == NPU_DMA && error.actual == 0xFFFFFFFB);
    CHECK(npu_tcu_run(&tcu, &error) == NPU_STATE);
    hal.read32 = read_reset;
    CHECK(npu_tcu_open(&tcu, &hal, &pynqz1, &board, &error) == NPU_TIMEOUT && error.address == 0x40400000);
    hal.read32 = read_idle;
    CHECK(npu_tcu_open(&tcu, &hal, &pynqz1, &board, &error) == NPU_TIMEOUT && error.address == 0x10000000 + 1048574 * 16);
    char text[64];
    CHECK(strncmp(npu_error_text(&error, text, sizeof text), "NPU_TIMEOUT: DRAM0: all instructions", 36) == 0);
    CHECK(strlen(text) == sizeof text - 1);
    hal.now_us = NULL;
    CHECK(npu_tcu_open(&tcu, &hal, &pynqz1, &board, &error) == NPU_ARGUMENT);
}

static uint64_t one_later(void)
{
    static uint64_t now;
    return now++;
}

/* Bare metal uses pointers, here of an array. A range that wraps around is refused. */
static void bare_metal(void)
{
    static uint64_t memory[4];
    npu_bare_metal platform = {one_later, NULL, NULL, 0};
    npu_hal hal = npu_bare_metal_hal(&platform);
    uint64_t address = (uint64_t)(uintptr_t)memory;
    uint32_t word = 0;
    CHECK(npu_hal_check(&hal, NULL) == NPU_OK);
    CHECK(npu_write32(&hal, "m", address + 4, 0x12345678, NULL) == NPU_OK);
    CHECK(npu_read32(&hal, "m", address + 4, &word, NULL) == NPU_OK && word == 0x12345678);
    CHECK(npu_read32(&hal, "m", address + 2, &word, NULL) == NPU_BUS);
    CHECK(npu_write_memory(&hal, "m", address + 8, "abcdefgh", 8, NULL) == NPU_OK && memcmp(&memory[1], "abcdefgh", 8) == 0);
    CHECK(npu_fill_memory(&hal, "m", address, 7, 32, NULL) == NPU_OK && ((uint8_t *)memory)[31] == 7);
    CHECK(npu_read_memory(&hal, "m", UINT64_MAX, &word, 4, NULL) == NPU_BUS);
    platform.offset = 0x1000;
    CHECK(npu_read32(&hal, "m", 0xFFC, &word, NULL) == NPU_BUS);
}

int main(void)
{
    moves();
    configures();
    layouts();
    programs();
    manifests();
    instances_without_a_circuit();
    a_side_car();
    boards_that_are_not_there();
    bare_metal();
    FINISH();
}
