/* Files of the TCU: instances, manifests and layouts. */
#include <string.h>

#include "npukit/tcu.h"

/* ---- instances ---- */

static const struct {
    const char *name;
    npu_fixed format;
} TYPES[] = {
    {"FP8BP4", {8, 4, 1}},
    {"FP16BP8", {16, 8, 2}},
    {"FP18BP10", {18, 10, 4}},
    {"FP32BP16", {32, 16, 4}},
};

npu_fixed npu_tcu_format(const npu_tcu_arch *arch)
{
    return TYPES[arch->type].format;
}

uint64_t npu_tcu_vector_bytes(const npu_tcu_arch *arch)
{
    return (uint64_t)arch->array_size * npu_tcu_format(arch).bytes;
}

static npu_code parse_type(const npu_json *object, npu_tcu_type *type, npu_error *error)
{
    npu_text text;
    npu_code code = npu_json_text(object, "data_type", &text, error);
    if (code != NPU_OK) {
        return code;
    }
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (npu_text_is(text, TYPES[i].name)) {
            *type = (npu_tcu_type)i;
            return NPU_OK;
        }
    }
    if (npu_text_is(text, "FLOAT32")) {
        return npu_fail(error, NPU_UNSUPPORTED, "no circuit supports FLOAT32", "data_type",
                        0, 0, 0);
    }
    return npu_fail(error, NPU_MANIFEST, "must be FP8BP4, FP16BP8, FP18BP10 or FP32BP16", "data_type", 0, 0, 0);
}

/* Reads a number from `least` to `most`. */
static npu_code parse_depth(const npu_json *object, const char *key, uint64_t least, uint64_t most, uint64_t *depth,
                            npu_error *error)
{
    npu_code code = npu_json_number(object, key, most, depth, error);
    if (code == NPU_OK && *depth < least) {
        return npu_fail(error, NPU_MANIFEST, "is too small", key, 0, least, *depth);
    }
    return code;
}

static npu_code parse_small(const npu_json *object, const char *key, uint64_t least, uint64_t most, uint32_t *depth,
                            npu_error *error)
{
    uint64_t value = 0;
    npu_code code = parse_depth(object, key, least, most, &value, error);
    *depth = (uint32_t)value;
    return code;
}

/* Refuses features that no circuit supports: two threads, and other readings of the instruction set. */
static npu_code parse_reading(const npu_json *object, npu_error *error)
{
    npu_text reading;
    uint32_t threads = 1;
    npu_code code = NPU_OK;
    /* Older files have neither key. */
    if (npu_json_has(object, "number_of_threads")) {
        code = parse_small(object, "number_of_threads", 1, 2, &threads, error);
    }
    if (code == NPU_OK && threads != 1) {
        return npu_fail(error, NPU_UNSUPPORTED, "no circuit supports two threads",
                        "number_of_threads", 0, 1, threads);
    }
    if (code == NPU_OK && npu_json_has(object, "reading")) {
        code = npu_json_text(object, "reading", &reading, error);
        if (code == NPU_OK && !npu_text_is(reading, "released")) {
            return npu_fail(error, NPU_UNSUPPORTED, "no circuit supports this reading of the instruction set", "reading", 0, 0, 0);
        }
    }
    return code;
}

static npu_code parse_arch(const npu_json *object, npu_tcu_arch *arch, npu_error *error)
{
    const uint64_t most = UINT64_C(1) << 32;
    memset(arch, 0, sizeof *arch);
    npu_code code = parse_type(object, &arch->type, error);
    code = code == NPU_OK ? parse_small(object, "array_size", 1, 1024, &arch->array_size, error) : code;
    code = code == NPU_OK ? parse_depth(object, "dram0_depth", 4, most, &arch->dram0_depth, error) : code;
    code = code == NPU_OK ? parse_depth(object, "dram1_depth", 1, most, &arch->dram1_depth, error) : code;
    code = code == NPU_OK ? parse_depth(object, "local_depth", 1, most, &arch->local_depth, error) : code;
    code = code == NPU_OK ? parse_depth(object, "accumulator_depth", 1, most, &arch->accumulator_depth, error) : code;
    code = code == NPU_OK ? parse_small(object, "simd_registers_depth", 0, 16, &arch->simd_registers_depth, error) : code;
    code = code == NPU_OK ? parse_small(object, "stride0_depth", 1, 32, &arch->stride0_depth, error) : code;
    code = code == NPU_OK ? parse_small(object, "stride1_depth", 1, 32, &arch->stride1_depth, error) : code;
    if (code == NPU_OK && npu_json_has(object, "lookup_tables")) {
        code = parse_small(object, "lookup_tables", 0, 16, &arch->lookup_tables, error);
    }
    return code == NPU_OK ? parse_reading(object, error) : code;
}

npu_code npu_tcu_arch_parse(const void *text, size_t length, npu_tcu_arch *arch, npu_error *error)
{
    npu_json root;
    npu_code code = npu_json_parse(text, length, &root, error);
    return code == NPU_OK ? parse_arch(&root, arch, error) : code;
}

npu_code npu_tcu_arch_same(const npu_tcu_arch *model, const npu_tcu_arch *board, npu_error *error)
{
    const struct {
        const char *key;
        uint64_t model, board;
    } keys[] = {
        {"data_type", model->type, board->type},
        {"array_size", model->array_size, board->array_size},
        {"dram0_depth", model->dram0_depth, board->dram0_depth},
        {"dram1_depth", model->dram1_depth, board->dram1_depth},
        {"local_depth", model->local_depth, board->local_depth},
        {"accumulator_depth", model->accumulator_depth, board->accumulator_depth},
        {"simd_registers_depth", model->simd_registers_depth, board->simd_registers_depth},
        {"stride0_depth", model->stride0_depth, board->stride0_depth},
        {"stride1_depth", model->stride1_depth, board->stride1_depth},
        {"lookup_tables", model->lookup_tables, board->lookup_tables},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i].model != keys[i].board) {
            return npu_fail(error, NPU_ARCHITECTURE, "the program was compiled for an instance other than the board's",
                            keys[i].key, 0, keys[i].board, keys[i].model);
        }
    }
    return NPU_OK;
}

/* ---- manifests ---- */

static npu_code check_range(const char *key, uint64_t index, uint64_t base, uint64_t size, uint64_t depth,
                            npu_error *error)
{
    if (base <= depth && size <= depth - base) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_RANGE, "the vectors end beyond the memory; the last two of DRAM0 are reserved for the driver", key, index, depth,
                    base > UINT64_MAX - size ? UINT64_MAX : base + size);
}

static npu_code parse_pieces(const npu_json *root, const char *key, uint64_t depth, npu_tcu_pieces *pieces,
                             npu_error *error)
{
    npu_json list;
    npu_json entry;
    npu_json_cursor cursor = {0};
    npu_code code = npu_json_array(root, key, &list, error);
    pieces->count = 0;
    while (code == NPU_OK && npu_json_next(&list, &cursor, &entry)) {
        if (pieces->count == NPU_TCU_MOST_PIECES) {
            return npu_fail(error, NPU_CAPACITY, "too many entries for this driver", key, 0, NPU_TCU_MOST_PIECES,
                            npu_json_count(&list));
        }
        npu_tcu_piece *piece = &pieces->pieces[pieces->count];
        code = npu_json_text(&entry, "name", &piece->name, error);
        code = code == NPU_OK ? npu_json_number(&entry, "base", UINT32_MAX, &piece->base, error) : code;
        code = code == NPU_OK ? parse_depth(&entry, "size", 1, UINT32_MAX, &piece->size, error) : code;
        code = code == NPU_OK ? check_range(key, pieces->count, piece->base, piece->size, depth, error) : code;
        pieces->count++;
    }
    return code;
}

static npu_code parse_constants(const npu_json *root, npu_tcu_model *model, npu_error *error)
{
    npu_json list;
    npu_json entry;
    npu_json_cursor cursor = {0};
    uint64_t base = 0;
    npu_code code = npu_json_array(root, "consts", &list, error);
    if (code == NPU_OK && (npu_json_count(&list) != 1 || !npu_json_next(&list, &cursor, &entry))) {
        return npu_fail(error, NPU_MANIFEST, "must have exactly one entry", "consts", 0, 1, npu_json_count(&list));
    }
    code = code == NPU_OK ? npu_json_text(&entry, "file_name", &model->constants_file, error) : code;
    code = code == NPU_OK ? npu_json_number(&entry, "base", 0, &base, error) : code;
    code = code == NPU_OK ? npu_json_number(&entry, "size", UINT32_MAX, &model->constants_size, error) : code;
    code = code == NPU_OK ? check_range("consts", 0, base, model->constants_size, model->arch.dram1_depth, error) : code;
    if (code == NPU_OK && model->constants_to_local) {
        code = check_range("consts (load_consts_to_local)", 0, base, model->constants_size, model->arch.local_depth, error);
    }
    return code;
}

npu_code npu_tcu_model_parse(const void *text, size_t length, npu_tcu_model *model, npu_error *error)
{
    npu_json root;
    npu_json part;
    npu_code code = npu_json_parse(text, length, &root, error);
    if (code != NPU_OK) {
        return code;
    }
    memset(model, 0, sizeof *model);
    code = npu_json_text(&root, "name", &model->name, error);
    code = code == NPU_OK ? npu_json_object(&root, "arch", &part, error) : code;
    code = code == NPU_OK ? parse_arch(&part, &model->arch, error) : code;
    code = code == NPU_OK ? npu_json_object(&root, "prog", &part, error) : code;
    code = code == NPU_OK ? npu_json_text(&part, "file_name", &model->program_file, error) : code;
    code = code == NPU_OK ? npu_json_number(&part, "size", UINT32_MAX, &model->program_bytes, error) : code;
    /* Older files do not have this key. */
    if (code == NPU_OK && npu_json_has(&root, "load_consts_to_local")) {
        code = npu_json_flag(&root, "load_consts_to_local", &model->constants_to_local, error);
    }
    code = code == NPU_OK ? parse_constants(&root, model, error) : code;
    uint64_t depth = model->arch.dram0_depth - 2;
    code = code == NPU_OK ? parse_pieces(&root, "inputs", depth, &model->inputs, error) : code;
    return code == NPU_OK ? parse_pieces(&root, "outputs", depth, &model->outputs, error) : code;
}

uint64_t npu_tcu_vectors(const npu_tcu_pieces *pieces, const char *name)
{
    uint64_t vectors = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        if (npu_text_is(pieces->pieces[i].name, name)) {
            vectors += pieces->pieces[i].size;
        }
    }
    return vectors;
}

/* ---- layouts ---- */

static npu_code parse_axes(const npu_json *entry, const char *key, uint64_t *axes, uint32_t *rank, npu_error *error)
{
    npu_json list;
    npu_json size;
    npu_json_cursor cursor = {0};
    npu_code code = npu_json_array(entry, key, &list, error);
    *rank = 0;
    while (code == NPU_OK && npu_json_next(&list, &cursor, &size)) {
        if (*rank == NPU_MOST_AXES) {
            return npu_fail(error, NPU_CAPACITY, "a tensor has at most 8 axes", key, 0, NPU_MOST_AXES, npu_json_count(&list));
        }
        code = npu_json_to_number(&size, key, UINT32_MAX, &axes[(*rank)++], error);
    }
    return code;
}

/* The only number in the files that may be negative. */
static npu_code parse_exponent(const npu_json *entry, npu_layout *layout, npu_error *error)
{
    npu_json value;
    npu_code code = npu_json_member(entry, "exponent", &value, error);
    bool is_negative = code == NPU_OK && value.kind == NPU_JSON_NUMBER && value.length > 1 && value.text[0] == '-';
    uint64_t number = 0;
    if (is_negative) {
        value.text++;
        value.length--;
    }
    code = code == NPU_OK ? npu_json_to_number(&value, "exponent", NPU_MOST_EXPONENT, &number, error) : code;
    layout->exponent = is_negative ? -(int32_t)number : (int32_t)number;
    return code;
}

static npu_code parse_layout(const npu_json *entry, npu_layout *layout, npu_error *error)
{
    uint64_t perm[NPU_MOST_AXES] = {0};
    uint32_t axes = 0;
    npu_code code = parse_axes(entry, "model_shape", layout->shape, &layout->rank, error);
    code = code == NPU_OK ? parse_axes(entry, "perm", perm, &axes, error) : code;
    code = code == NPU_OK ? npu_json_number(entry, "channels", UINT32_MAX, &layout->channels, error) : code;
    code = code == NPU_OK && npu_json_has(entry, "exponent") ? parse_exponent(entry, layout, error) : code;
    if (code == NPU_OK && axes != layout->rank) {
        return npu_fail(error, NPU_MANIFEST, "must have as many axes as model_shape", "perm", 0, layout->rank, axes);
    }
    for (uint32_t axis = 0; axis < axes; axis++) {
        layout->perm[axis] = (uint32_t)perm[axis];
    }
    return code;
}

npu_code npu_tcu_layout(const npu_json *sidecar, const char *list, const char *name, npu_layout *layout,
                        npu_error *error)
{
    npu_json entries;
    npu_json entry;
    npu_json_cursor cursor = {0};
    npu_code code = npu_json_array(sidecar, list, &entries, error);
    memset(layout, 0, sizeof *layout);
    while (code == NPU_OK && npu_json_next(&entries, &cursor, &entry)) {
        npu_text text;
        code = npu_json_text(&entry, "name", &text, error);
        if (code == NPU_OK && npu_text_is(text, name)) {
            return parse_layout(&entry, layout, error);
        }
    }
    return code == NPU_OK ? npu_fail(error, NPU_MANIFEST, "has no layout with this name", list, 0, 0, 0) : code;
}
