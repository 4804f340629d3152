/* Instructions of the TCU: encoding for the driver, and checks of programs. */
#include <string.h>

#include "npukit/tcu.h"

enum { CONFIGURE = 0xF, DATA_MOVE = 0x2 };
enum { CONFIGURE_REGISTER_BITS = 4, CONFIGURE_VALUE_BITS = 28 };

/* Number of bits of n - 1; 0 for 1. */
static uint32_t clog2(uint64_t n)
{
    uint32_t bits = 0;
    while (bits < 63 && (UINT64_C(1) << bits) < n) {
        bits++;
    }
    return bits;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t whole_bytes(uint32_t bits)
{
    return (bits + 7U) / 8U * 8U;
}

npu_tcu_fields npu_tcu_fields_of(const npu_tcu_arch *arch)
{
    uint32_t local = clog2(arch->local_depth);
    uint32_t accumulator = clog2(arch->accumulator_depth);
    uint32_t dram0 = clog2(arch->dram0_depth);
    uint32_t dram1 = clog2(arch->dram1_depth);
    uint32_t table = arch->lookup_tables > 0 ? clog2((uint64_t)arch->lookup_tables + 1) : 0;
    uint32_t simd = (arch->lookup_tables > 0 ? 5U : 4U) + 3U * clog2((uint64_t)arch->simd_registers_depth + 1);
    npu_tcu_fields fields;
    fields.address0 = larger(local, accumulator);
    fields.stride0 = clog2(arch->stride0_depth);
    fields.operand1 = whole_bytes(fields.address0 + fields.stride0);
    fields.address1 = larger(larger(fields.address0, dram0), dram1);
    fields.stride1 = clog2(arch->stride1_depth);
    fields.operand2 = fields.operand1 + whole_bytes(larger(fields.address1 + fields.stride1, table));
    fields.value2 = larger(larger(smaller(local, accumulator), smaller(local, dram0)), larger(smaller(local, dram1), simd));
    fields.header = fields.operand2 + whole_bytes(fields.value2);
    fields.bytes = fields.header / 8U + 1U;
    return fields;
}

/* Reads bits of an instruction, at most 64. */
static uint64_t get(const uint8_t *bytes, uint32_t first, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t bit = 0; bit < width; bit++) {
        uint32_t at = first + bit;
        value |= (uint64_t)(bytes[at / 8U] >> (at % 8U) & 1U) << bit;
    }
    return value;
}

static void set(uint8_t *bytes, uint32_t first, uint32_t width, uint64_t value)
{
    for (uint32_t bit = 0; bit < width; bit++) {
        uint32_t at = first + bit;
        uint8_t mask = (uint8_t)(1U << (at % 8U));
        if ((value >> bit & 1U) != 0) {
            bytes[at / 8U] = (uint8_t)(bytes[at / 8U] | mask);
        }
    }
}

static uint64_t depth_of(const npu_tcu_arch *arch, unsigned kind)
{
    return kind <= NPU_TCU_LOCAL_TO_DRAM0 ? arch->dram0_depth : arch->dram1_depth;
}

npu_code npu_tcu_encode_move(const npu_tcu_arch *arch, npu_tcu_move kind, uint64_t local, uint64_t dram,
                             uint64_t size, uint8_t *bytes, npu_error *error)
{
    npu_tcu_fields fields = npu_tcu_fields_of(arch);
    uint64_t depth = depth_of(arch, (unsigned)kind);
    if (size == 0 || local >= arch->local_depth || size > arch->local_depth - local || dram >= depth ||
        size > depth - dram) {
        return npu_fail(error, NPU_RANGE, "the move is empty, or ends beyond a memory", "DataMove", dram, depth, size);
    }
    memset(bytes, 0, NPU_TCU_MOST_INSTRUCTION_BYTES);
    set(bytes, 0, fields.address0, local);
    set(bytes, fields.operand1, fields.address1, dram);
    set(bytes, fields.operand2, fields.value2, size - 1);
    set(bytes, fields.header, 8, (uint64_t)DATA_MOVE << 4 | (uint64_t)kind);
    return NPU_OK;
}

/* Largest value of a register; 0 if the register does not exist. */
static uint32_t largest(unsigned number)
{
    switch (number) {
    case NPU_TCU_DRAM0_CACHE:
    case NPU_TCU_DRAM1_CACHE: return 0xF;
    case NPU_TCU_DRAM0_OFFSET:
    case NPU_TCU_DRAM1_OFFSET:
    case NPU_TCU_TIMEOUT:
    case NPU_TCU_SAMPLE_INTERVAL: return 0xFFFF;
    case NPU_TCU_TRACEPOINT:
    case NPU_TCU_PROGRAM_COUNTER: return 0xFFFFFFF;
    default: return 0;
    }
}

npu_code npu_tcu_encode_configure(const npu_tcu_arch *arch, npu_tcu_register number, uint32_t value,
                                  uint8_t *bytes, npu_error *error)
{
    npu_tcu_fields fields = npu_tcu_fields_of(arch);
    uint32_t room = smaller(fields.header - CONFIGURE_REGISTER_BITS, CONFIGURE_VALUE_BITS);
    uint32_t most = smaller(largest((unsigned)number), (uint32_t)((UINT64_C(1) << room) - 1));
    if (most == 0 || value > most) {
        return npu_fail(error, NPU_RANGE, "the register does not exist, or the value is too large", "Configure", (uint64_t)number, most, value);
    }
    memset(bytes, 0, NPU_TCU_MOST_INSTRUCTION_BYTES);
    set(bytes, 0, fields.header, (uint64_t)value << CONFIGURE_REGISTER_BITS | (uint64_t)number);
    set(bytes, fields.header, 8, (uint64_t)CONFIGURE << 4);
    return NPU_OK;
}

static npu_code check_move(const npu_tcu_arch *arch, const npu_tcu_fields *fields, const uint8_t *bytes, unsigned kind,
                           uint64_t index, npu_error *error)
{
    if (kind > NPU_TCU_LOCAL_TO_DRAM1) {
        bool known = kind == 0xC || kind == 0xD || kind == 0xF;
        return known ? NPU_OK : npu_fail(error, NPU_PROGRAM, "an unknown kind of DataMove", "program", index, 0, kind);
    }
    uint64_t depth = depth_of(arch, kind) - (kind <= NPU_TCU_LOCAL_TO_DRAM0 ? 2 : 0);
    uint64_t first = get(bytes, fields->operand1, fields->address1);
    uint64_t stride = get(bytes, fields->operand1 + fields->address1, fields->stride1);
    uint64_t steps = get(bytes, fields->operand2, fields->value2);
    /* Sizes and addresses have at most 32 bits, strides are up to 2^31. */
    uint64_t last = first + (steps << stride);
    if (last >= depth) {
        return npu_fail(error, NPU_PROGRAM, "a DataMove beyond DRAM; the last two vectors of DRAM0 are reserved for the driver", "program",
                        index, depth, last);
    }
    return NPU_OK;
}

static npu_code check_configure(const uint8_t *bytes, uint64_t index, npu_error *error)
{
    uint64_t number = get(bytes, 0, CONFIGURE_REGISTER_BITS);
    if (number == NPU_TCU_DRAM0_OFFSET || number == NPU_TCU_DRAM1_OFFSET) {
        return npu_fail(error, NPU_PROGRAM, "a Configure of an offset, which is reserved for the driver", "program", index, 0, number);
    }
    return NPU_OK;
}

npu_code npu_tcu_check_program(const npu_tcu_arch *arch, const void *program, size_t bytes, npu_error *error)
{
    npu_tcu_fields fields = npu_tcu_fields_of(arch);
    const uint8_t *word = program;
    if (bytes % fields.bytes != 0) {
        return npu_fail(error, NPU_PROGRAM, "the program ends inside an instruction", "program", bytes / fields.bytes, fields.bytes,
                        bytes % fields.bytes);
    }
    npu_code code = NPU_OK;
    for (uint64_t index = 0; index < bytes / fields.bytes && code == NPU_OK; index++, word += fields.bytes) {
        unsigned header = word[fields.bytes - 1];
        unsigned opcode = header >> 4;
        if (opcode == DATA_MOVE) {
            code = check_move(arch, &fields, word, header & 0xFU, index, error);
        } else if (opcode == CONFIGURE) {
            code = check_configure(word, index, error);
        } else if (opcode > 5 || (opcode == 5 && arch->lookup_tables == 0)) {
            code = npu_fail(error, NPU_PROGRAM, "the instance does not support this opcode", "program", index, 0, opcode);
        }
    }
    return code;
}
