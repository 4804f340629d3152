#include "npukit/opu.h"

#include <string.h>

#include "npukit/toml.h"

enum { WORD_BYTES = 4, ALIGNMENT = 64 };

/* ---- the manifest ---- */

/* Position of the reader: the map to which keys belong, and the table within it. */
typedef struct place {
    npu_opu_model *model;
    npu_opu_map *map;
    char table[32];
} place;

static bool ends_with(npu_text name, const char *tail)
{
    size_t length = strlen(tail);
    return name.length >= length && memcmp(name.text + name.length - length, tail, length) == 0;
}

static bool in(const place *at, const char *table)
{
    return strcmp(at->table, table) == 0;
}

static npu_code full(const char *what, size_t room, npu_error *error)
{
    return npu_fail(error, NPU_CAPACITY, "too many entries for this driver", what, 0, room, room + 1);
}

static npu_code begin_map(place *at, npu_opu_map *list, size_t *count, npu_error *error)
{
    if (*count == NPU_OPU_MAPS) {
        return full("input or output", NPU_OPU_MAPS, error);
    }
    at->map = &list[(*count)++];
    at->map->first_group = (uint32_t)at->model->groups;
    return NPU_OK;
}

static npu_code begin_entry(place *at, npu_text name, npu_error *error)
{
    npu_opu_model *model = at->model;
    if (npu_text_is(name, "segment")) {
        return model->segments++ == NPU_OPU_SEGMENTS ? full("segment", NPU_OPU_SEGMENTS, error) : NPU_OK;
    }
    if (npu_text_is(name, "input")) {
        return begin_map(at, model->input, &model->inputs, error);
    }
    if (npu_text_is(name, "output")) {
        return begin_map(at, model->output, &model->outputs, error);
    }
    if (ends_with(name, ".planes.groups") && at->map != NULL) {
        at->map->groups++;
        return model->groups++ == NPU_OPU_GROUPS ? full("groups", NPU_OPU_GROUPS, error) : NPU_OK;
    }
    return NPU_OK;
}

/* Handles the next table. Tables within a map have relative names: `planes`, `planes.border`, `patches`. */
static npu_code enter(place *at, const npu_toml_item *item, npu_error *error)
{
    npu_text name = item->name;
    bool within = at->map != NULL && name.length > 0 && memchr(name.text, '.', name.length) != NULL;
    if (!within || ends_with(name, "config.types") || ends_with(name, "config.timing")) {
        at->map = NULL;
    }
    if (!npu_text_copy(name, at->table, sizeof at->table)) {
        at->table[0] = '\0';
    }
    return item->kind == NPU_TOML_LIST ? begin_entry(at, name, error) : NPU_OK;
}

/* Reads a key that is a 32-bit number. */
static npu_code take_number(const npu_toml *reader, const npu_toml_item *item, uint32_t *number, npu_error *error)
{
    int64_t wide = 0;
    npu_code code = npu_toml_number(reader, item, 0, UINT32_MAX, &wide, error);
    *number = (uint32_t)wide;
    return code;
}

static npu_code take_pair(const npu_toml *reader, const npu_toml_item *item, uint32_t pair[2], npu_error *error)
{
    uint64_t wide[2] = {0, 0};
    size_t count = 0;
    npu_code code = npu_toml_numbers(reader, item, wide, 2, &count, error);
    pair[0] = (uint32_t)wide[0];
    pair[1] = (uint32_t)wide[1];
    if (code == NPU_OK && count != 2) {
        return npu_fail(error, NPU_MANIFEST, "must be two numbers", "TOML line", reader->line, 2, count);
    }
    return code;
}

static npu_code take_axes(const npu_toml *reader, const npu_toml_item *item, npu_layout *layout, bool is_shape,
                          npu_error *error)
{
    uint64_t axes[NPU_MOST_AXES] = {0};
    size_t count = 0;
    npu_code code = npu_toml_numbers(reader, item, axes, NPU_MOST_AXES, &count, error);
    for (size_t axis = 0; axis < count; axis++) {
        if (is_shape) {
            layout->shape[axis] = axes[axis];
        } else {
            layout->perm[axis] = (uint32_t)axes[axis];
        }
    }
    if (code == NPU_OK && !is_shape && layout->rank != count) {
        return npu_fail(error, NPU_MANIFEST, "must have as many axes as `shape`, which must precede it", "perm",
                        reader->line, layout->rank, count);
    }
    layout->rank = (uint32_t)count;
    return code;
}

/* Reads the numbers of a table by key; unlisted keys are skipped. */
typedef struct number_key {
    const char *key;
    uint32_t *number;
} number_key;

static npu_code take_listed(const npu_toml *reader, const npu_toml_item *item, const number_key *keys, size_t count,
                            npu_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (npu_text_is(item->name, keys[i].key)) {
            return take_number(reader, item, keys[i].number, error);
        }
    }
    return NPU_OK;
}

static npu_code take_type(const npu_toml *reader, const npu_toml_item *item, npu_opu_model *model, npu_error *error)
{
    static const struct {
        const char *name;
        npu_fixed element;
        uint32_t bytes;
    } types[] = {
        {"int8", {8, 0, 1}, 1},  {"int16", {16, 0, 2}, 2}, {"int32", {32, 0, 4}, 4},
        {"fp16", {0, 0, 2}, 2}, {"bf16", {0, 0, 2}, 2},   {"fp32", {0, 0, 4}, 4},
    };
    npu_text text;
    npu_code code = npu_toml_text(reader, item, &text, error);
    for (size_t i = 0; code == NPU_OK && i < sizeof types / sizeof types[0]; i++) {
        if (npu_text_is(text, types[i].name)) {
            model->element = types[i].element;
            model->element_bytes = types[i].bytes;
            return NPU_OK;
        }
    }
    return code == NPU_OK ? npu_fail(error, NPU_UNSUPPORTED, "must be int8, int16, int32, fp16, bf16 or fp32", "itype",
                                     reader->line, 0, 0)
                          : code;
}

static npu_code take_program(const npu_toml *reader, const npu_toml_item *item, npu_opu_model *model, npu_error *error)
{
    const number_key keys[] = {{"address", &model->program_address}, {"words", &model->program_words}};
    if (npu_text_is(item->name, "file")) {
        return npu_toml_text(reader, item, &model->program_file, error);
    }
    return take_listed(reader, item, keys, 2, error);
}

static npu_code take_segment(const npu_toml *reader, const npu_toml_item *item, npu_opu_model *model, npu_error *error)
{
    npu_opu_segment *segment = &model->segment[model->segments - 1];
    const number_key keys[] = {{"offset", &segment->offset}, {"size", &segment->bytes}, {"address", &segment->address}};
    if (!npu_text_is(item->name, "file")) {
        return take_listed(reader, item, keys, 3, error);
    }
    npu_text file;
    npu_code code = npu_toml_text(reader, item, &file, error);
    if (code == NPU_OK && model->segments > 1 && !npu_text_same(file, model->image_file)) {
        return npu_fail(error, NPU_UNSUPPORTED, "segments in several files are not supported", "segment", reader->line, 1, 2);
    }
    model->image_file = file;
    return code;
}

static npu_code take_map(const npu_toml *reader, const npu_toml_item *item, npu_opu_map *map, npu_error *error)
{
    if (npu_text_is(item->name, "name")) {
        return npu_toml_text(reader, item, &map->name, error);
    }
    if (npu_text_is(item->name, "shape") || npu_text_is(item->name, "perm")) {
        return take_axes(reader, item, &map->layout, npu_text_is(item->name, "shape"), error);
    }
    if (npu_text_is(item->name, "fraction")) {
        int64_t fraction = 0;
        npu_code code = npu_toml_number(reader, item, -256, 256, &fraction, error);
        map->fraction = (int32_t)fraction;
        return code;
    }
    return NPU_OK;
}

static npu_code take_patches(const npu_toml *reader, const npu_toml_item *item, npu_opu_map *map, npu_error *error)
{
    map->patches = true;
    if (npu_text_is(item->name, "kernel")) {
        return take_pair(reader, item, map->kernel, error);
    }
    if (npu_text_is(item->name, "stride")) {
        return take_pair(reader, item, map->stride, error);
    }
    return npu_text_is(item->name, "padding") ? take_pair(reader, item, map->padding, error) : NPU_OK;
}

static npu_code take_within(const place *at, const npu_toml *reader, const npu_toml_item *item, npu_error *error)
{
    npu_opu_map *map = at->map;
    npu_text table = {at->table, strlen(at->table)};
    if (ends_with(table, ".planes.groups")) {
        npu_opu_group *group = &at->model->group[at->model->groups - 1];
        const number_key keys[] = {{"address", &group->address}, {"channels", &group->channels}, {"lanes", &group->lanes}};
        return take_listed(reader, item, keys, 3, error);
    }
    if (ends_with(table, ".planes.border")) {
        const number_key keys[] = {{"top", &map->top}, {"left", &map->left}, {"bottom", &map->bottom}, {"right", &map->right}};
        return take_listed(reader, item, keys, 4, error);
    }
    if (ends_with(table, ".planes")) {
        const number_key keys[] = {{"height", &map->height}, {"width", &map->width}, {"pitch", &map->pitch}};
        return take_listed(reader, item, keys, 3, error);
    }
    return ends_with(table, ".patches") ? take_patches(reader, item, map, error) : take_map(reader, item, map, error);
}

static npu_code take(const place *at, const npu_toml *reader, const npu_toml_item *item, npu_error *error)
{
    npu_opu_model *model = at->model;
    if (at->map != NULL) {
        return take_within(at, reader, item, error);
    }
    if (in(at, "segment")) {
        return take_segment(reader, item, model, error);
    }
    if (in(at, "program")) {
        return take_program(reader, item, model, error);
    }
    if (in(at, "config.types") && npu_text_is(item->name, "itype")) {
        return take_type(reader, item, model, error);
    }
    if (in(at, "") && npu_text_is(item->name, "name")) {
        return npu_toml_text(reader, item, &model->name, error);
    }
    return NPU_OK;
}

/* ---- whether a map agrees with itself ---- */

/* Rows, columns and channels of the tensor in the map's order of axes. */
static void map_shape(const npu_opu_map *map, uint64_t shape[3])
{
    const npu_layout *layout = &map->layout;
    shape[0] = shape[1] = shape[2] = 1;
    for (uint32_t axis = 0; axis < layout->rank; axis++) {
        uint32_t left = layout->rank - 1 - axis;
        shape[left == 0 ? 2 : left == 1 ? 1 : 0] *= layout->shape[layout->perm[axis]];
    }
}

static npu_code contradicts(const char *what, const npu_opu_map *map, uint64_t expected, uint64_t actual, npu_error *error)
{
    return npu_fail(error, NPU_MANIFEST, what, "planes", map->first_group, expected, actual);
}

static npu_code check_groups(const npu_opu_model *model, const npu_opu_map *map, uint64_t *channels, npu_error *error)
{
    uint64_t rows = (uint64_t)map->height + map->top + map->bottom;
    *channels = 0;
    /* Sizes have 32 bits, so only the last product can overflow. */
    uint64_t slots = rows > (UINT64_C(1) << 32) || map->pitch == 0 ? UINT64_MAX / 1024 : rows * map->pitch;
    uint64_t bytes = slots > UINT32_MAX ? UINT64_MAX : slots * NPU_OPU_SLOT * model->element_bytes;
    for (uint32_t i = 0; i < map->groups; i++) {
        const npu_opu_group *group = &model->group[map->first_group + i];
        bool legal = group->channels >= 1 && group->channels <= NPU_OPU_SLOT && group->lanes <= NPU_OPU_SLOT &&
                     (group->lanes == 0 || group->lanes >= group->channels);
        if (!legal) {
            return contradicts("a group must have 1 to 64 channels, and at most 64 lanes", map, NPU_OPU_SLOT, group->channels, error);
        }
        if (bytes > (UINT64_C(1) << 32) - group->address) {
            return contradicts("a plane is outside the memory of 2^32 bytes", map, group->address, bytes, error);
        }
        *channels += group->channels;
    }
    return NPU_OK;
}

static npu_code check_map(const npu_opu_model *model, npu_opu_map *map, npu_error *error)
{
    uint64_t scalars = 0;
    uint64_t vectors = 0;
    uint64_t channels = 0;
    uint64_t shape[3];
    map->layout.channels = 1;
    npu_code code = npu_layout_check(&map->layout, 1, &scalars, &vectors, error);
    code = code == NPU_OK ? check_groups(model, map, &channels, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    if (map->height == 0 || map->width == 0 || channels == 0 || map->pitch < (uint64_t)map->left + map->width + map->right) {
        return contradicts("a map must have pixels, channels, and rows that do not overlap", map, map->width, map->pitch, error);
    }
    map_shape(map, shape);
    if (map->patches) {
        for (int i = 0; i < 2; i++) {
            if (map->kernel[i] == 0 || map->kernel[i] > 0xFFFF || map->stride[i] == 0 || map->stride[i] > 0xFFFF) {
                return contradicts("sizes and strides of patches must be 1 to 65535", map, 0xFFFF, map->kernel[i], error);
            }
        }
        uint64_t area = (uint64_t)map->kernel[0] * map->kernel[1];
        bool fits = shape[2] <= UINT32_MAX && shape[2] * area == channels;
        return fits ? NPU_OK : contradicts("patches and planes must have the same number of channels", map, channels, area, error);
    }
    /* Pixels are consecutive, independent of the rows of the planes. `scalars` is their product, in 64 bits. */
    if (shape[2] != channels || shape[0] * shape[1] != (uint64_t)map->height * map->width) {
        return contradicts("tensor and planes must have the same pixels and channels", map, channels, shape[2], error);
    }
    return NPU_OK;
}

static npu_code check_model(npu_opu_model *model, npu_error *error)
{
    if (model->element_bytes == 0 || model->program_words == 0 || model->program_file.length == 0) {
        return npu_fail(error, NPU_MANIFEST, "tables [program] and [config.types] with file, words and itype are needed", "manifest",
                        0, 1, 0);
    }
    if (model->program_address % ALIGNMENT != 0) {
        return npu_fail(error, NPU_MANIFEST, "a program must begin at a multiple of 64", "program.address", 0, ALIGNMENT,
                        model->program_address);
    }
    npu_code code = NPU_OK;
    for (size_t i = 0; code == NPU_OK && i < model->inputs; i++) {
        code = check_map(model, &model->input[i], error);
    }
    for (size_t i = 0; code == NPU_OK && i < model->outputs; i++) {
        code = check_map(model, &model->output[i], error);
        if (code == NPU_OK && model->output[i].patches) {
            code = contradicts("an output must not have patches", &model->output[i], 0, 1, error);
        }
    }
    return code;
}

npu_code npu_opu_model_parse(const void *text, size_t length, npu_opu_model *model, npu_error *error)
{
    npu_toml reader = npu_toml_begin(text, length);
    npu_toml_item item;
    place at = {model, NULL, ""};
    memset(model, 0, sizeof *model);
    npu_code code = npu_toml_next(&reader, &item, error);
    while (code == NPU_OK && item.kind != NPU_TOML_END) {
        code = item.kind == NPU_TOML_PAIR ? take(&at, &reader, &item, error) : enter(&at, &item, error);
        code = code == NPU_OK ? npu_toml_next(&reader, &item, error) : code;
    }
    return code == NPU_OK ? check_model(model, error) : code;
}

/* ---- the board ---- */

npu_code npu_opu_open(npu_opu *opu, const npu_hal *hal, npu_region memory, npu_opu_start start,
                      uint32_t timeout_us, npu_error *error)
{
    npu_code code = npu_hal_check(hal, error);
    if (code == NPU_OK && (start.begin == NULL || start.ended == NULL || timeout_us == 0)) {
        code = npu_fail(error, NPU_ARGUMENT, "the functions that start the machine and detect its end, and a time limit, must be given", "opu", 0, 0, 0);
    }
    if (code == NPU_OK) {
        npu_opu fresh = {hal, memory, start, timeout_us, NULL, true};
        *opu = fresh;
    }
    return code;
}

static npu_code check_range(const npu_opu *opu, const char *name, uint32_t address, uint64_t bytes, npu_error *error)
{
    if (npu_region_holds(&opu->memory, address, bytes)) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_RANGE, "is outside the board's memory", name, address, opu->memory.bytes, bytes);
}

static npu_code write_part(const npu_opu *opu, const char *name, uint32_t address, const void *bytes, size_t count,
                           npu_error *error)
{
    npu_code code = check_range(opu, name, address, count, error);
    return code == NPU_OK ? npu_write_memory(opu->hal, name, opu->memory.address + address, bytes, count, error) : code;
}

/* Compares program and segments, each with all that follow. */
static npu_code check_apart(const npu_opu_model *model, npu_error *error)
{
    for (size_t a = 0; a <= model->segments; a++) {
        npu_region one = {model->program_address, (uint64_t)model->program_words * WORD_BYTES};
        if (a > 0) {
            one.address = model->segment[a - 1].address;
            one.bytes = model->segment[a - 1].bytes;
        }
        for (size_t b = a; b < model->segments; b++) {
            npu_region other = {model->segment[b].address, model->segment[b].bytes};
            if (npu_regions_overlap(&one, &other)) {
                return npu_fail(error, NPU_RANGE, "program and segments overlap", "segment", other.address,
                                one.address + one.bytes, b);
            }
        }
    }
    return NPU_OK;
}

npu_code npu_opu_load(npu_opu *opu, const npu_opu_model *model, const void *words, size_t word_bytes,
                      const void *image, size_t image_bytes, npu_error *error)
{
    opu->model = NULL;
    if (word_bytes != (uint64_t)model->program_words * WORD_BYTES) {
        return npu_fail(error, NPU_LENGTH, "the length of the program differs from the manifest", "program", 0,
                        (uint64_t)model->program_words * WORD_BYTES, word_bytes);
    }
    npu_code code = check_apart(model, error);
    code = code == NPU_OK ? write_part(opu, "program", model->program_address, words, word_bytes, error) : code;
    for (size_t i = 0; code == NPU_OK && i < model->segments; i++) {
        const npu_opu_segment *segment = &model->segment[i];
        if (segment->offset > image_bytes || segment->bytes > image_bytes - segment->offset) {
            return npu_fail(error, NPU_LENGTH, "a segment ends beyond the image", "segment", i, image_bytes,
                            (uint64_t)segment->offset + segment->bytes);
        }
        code = write_part(opu, "segment", segment->address, (const uint8_t *)image + segment->offset, segment->bytes, error);
    }
    opu->model = code == NPU_OK ? model : NULL;
    return code;
}

npu_code npu_opu_run(npu_opu *opu, npu_error *error)
{
    if (!opu->open || opu->model == NULL) {
        return npu_fail(error, NPU_STATE, "no program is loaded, or the machine did not end", "opu", 0, 0, 0);
    }
    npu_code code = opu->start.begin(opu->start.context, opu->model->program_address, error);
    npu_deadline deadline = npu_deadline_begin(opu->hal, opu->timeout_us);
    bool ended = false;
    while (code == NPU_OK && !ended) {
        code = opu->start.ended(opu->start.context, &ended, error);
        if (code == NPU_OK && !ended && npu_deadline_passed(&deadline)) {
            code = npu_fail(error, NPU_TIMEOUT, "the machine does not reach its end", "opu", opu->model->program_address,
                            opu->timeout_us, 0);
        }
    }
    opu->open = code == NPU_OK;
    return code;
}

/* ---- tensors ---- */

/* Index in the model's tensor of an element of the tensor in the map's order. */
static uint64_t place_of(const npu_opu_map *map, uint64_t row, uint64_t column, uint64_t channel)
{
    const npu_layout *layout = &map->layout;
    uint64_t sum = 0;
    for (uint32_t axis = layout->rank; axis-- > 0;) {
        uint64_t *index = axis + 1 == layout->rank ? &channel : axis + 2 == layout->rank ? &column : &row;
        uint64_t size = layout->shape[layout->perm[axis]];
        uint64_t stride = 1;
        for (uint32_t inner = layout->perm[axis] + 1; inner < layout->rank; inner++) {
            stride *= layout->shape[inner];
        }
        sum += *index % size * stride;
        *index /= size;
    }
    return sum;
}

/* Index of a channel of the map's pixel (y, x); false if a patch lies outside the tensor. */
static bool element_of(const npu_opu_map *map, uint64_t y, uint64_t x, uint64_t channel, uint64_t *place_)
{
    uint64_t shape[3];
    map_shape(map, shape);
    if (map->patches) {
        uint64_t tap = channel / shape[2];
        uint64_t row = y * map->stride[0] + tap / map->kernel[1];
        uint64_t column = x * map->stride[1] + tap % map->kernel[1];
        if (row < map->padding[0] || column < map->padding[1]) {
            return false;
        }
        y = row - map->padding[0];
        x = column - map->padding[1];
        channel %= shape[2];
        if (y >= shape[0] || x >= shape[1]) {
            return false;
        }
    } else {
        uint64_t pixel = y * map->width + x;
        y = pixel / shape[1];
        x = pixel % shape[1];
    }
    *place_ = place_of(map, y, x, channel);
    return true;
}

static double scaled(float value, int32_t fraction)
{
    double units = (double)value;
    for (; fraction > 0; fraction--) {
        units *= 2;
    }
    for (; fraction < 0; fraction++) {
        units /= 2;
    }
    return units;
}

static npu_code raw_of(const npu_opu_model *model, const npu_opu_map *map, const npu_array *array, uint64_t place_,
                       int32_t *raw, bool *saturated, npu_error *error)
{
    if (!npu_array_is_raw(array)) {
        if (model->element.width == 0) {
            return npu_fail(error, NPU_UNSUPPORTED, "for a floating-point type, this driver only supports raw bits", "input", place_, 0, 0);
        }
        *raw = npu_fixed_round(model->element, scaled(npu_array_real(array, place_), map->fraction), saturated);
        return NPU_OK;
    }
    npu_code code = npu_array_raw(array, place_, raw, error);
    bool fits = model->element.width == 0 ||
                (*raw >= npu_fixed_smallest(model->element) && *raw <= npu_fixed_largest(model->element));
    if (code == NPU_OK && !fits) {
        return npu_fail(error, NPU_RANGE, "a raw element does not fit the type", "input", place_,
                        (uint64_t)npu_fixed_largest(model->element), (uint64_t)(int64_t)*raw);
    }
    return code;
}

/* Converts an element to the bits in memory. */
static npu_fixed stored(const npu_opu_model *model)
{
    npu_fixed format = {(uint8_t)(8 * model->element_bytes), 0, (uint8_t)model->element_bytes};
    return format;
}

static uint32_t slot_address(const npu_opu_model *model, const npu_opu_map *map, const npu_opu_group *group, uint64_t y,
                             uint64_t x)
{
    uint64_t slot = (y + map->top) * map->pitch + x + map->left;
    return (uint32_t)(group->address + slot * NPU_OPU_SLOT * model->element_bytes);
}

static const npu_opu_map *find(const npu_opu_map *maps, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (npu_text_is(maps[i].name, name)) {
            return &maps[i];
        }
    }
    return NULL;
}

static npu_code check_tensor(const npu_opu *opu, const npu_opu_map *map, const char *name, uint64_t count,
                             npu_error *error)
{
    uint64_t scalars = 0;
    uint64_t vectors = 0;
    if (map == NULL) {
        return npu_fail(error, NPU_ARGUMENT, "the program has no tensor with this name", name, 0, opu->model->inputs,
                        opu->model->outputs);
    }
    npu_code code = npu_layout_check(&map->layout, 1, &scalars, &vectors, error);
    if (code == NPU_OK && scalars != count) {
        return npu_fail(error, NPU_LENGTH, "the number of elements differs from the tensor", name, 0, scalars, count);
    }
    return code;
}

/* Writes a slot: channels starting at `first` of pixel (y, x), followed by zeros. */
static npu_code write_slot(npu_opu *opu, const npu_opu_map *map, const npu_opu_group *group, uint64_t pixel,
                           uint64_t first, const npu_array *array, uint64_t *saturated, npu_error *error)
{
    const npu_opu_model *model = opu->model;
    uint8_t bytes[NPU_OPU_SLOT * 4] = {0};
    uint64_t y = pixel / map->width;
    uint64_t x = pixel % map->width;
    npu_code code = NPU_OK;
    for (uint32_t i = 0; code == NPU_OK && i < group->channels; i++) {
        uint64_t place_ = 0;
        int32_t raw = 0;
        bool clamped = false;
        if (element_of(map, y, x, first + i, &place_)) {
            code = raw_of(model, map, array, place_, &raw, &clamped, error);
        }
        *saturated += clamped ? 1 : 0;
        npu_fixed_store(stored(model), raw, bytes + (size_t)i * model->element_bytes);
    }
    uint32_t lanes = group->lanes > group->channels ? group->lanes : group->channels;
    uint32_t address = slot_address(model, map, group, y, x);
    return code == NPU_OK ? write_part(opu, "input", address, bytes, (size_t)lanes * model->element_bytes, error) : code;
}

npu_code npu_opu_write(npu_opu *opu, const char *name, const npu_array *array, uint64_t *saturated, npu_error *error)
{
    uint64_t unfit = 0;
    if (opu->model == NULL) {
        return npu_fail(error, NPU_STATE, "no program is loaded", "opu", 0, 0, 0);
    }
    const npu_opu_map *map = find(opu->model->input, opu->model->inputs, name);
    npu_code code = check_tensor(opu, map, name, array->scalars, error);
    uint64_t pixels = code == NPU_OK ? (uint64_t)map->height * map->width : 0;
    for (uint64_t pixel = 0; code == NPU_OK && pixel < pixels; pixel++) {
        uint64_t first = 0;
        for (uint32_t i = 0; code == NPU_OK && i < map->groups; i++) {
            const npu_opu_group *group = &opu->model->group[map->first_group + i];
            code = write_slot(opu, map, group, pixel, first, array, &unfit, error);
            first += group->channels;
        }
    }
    if (saturated != NULL) {
        *saturated = unfit;
    }
    return code;
}

static npu_code read_slot(npu_opu *opu, const npu_opu_map *map, const npu_opu_group *group, uint64_t pixel,
                          uint64_t first, int32_t *values, npu_error *error)
{
    const npu_opu_model *model = opu->model;
    uint8_t bytes[NPU_OPU_SLOT * 4];
    uint64_t y = pixel / map->width;
    uint64_t x = pixel % map->width;
    uint32_t address = slot_address(model, map, group, y, x);
    size_t count = (size_t)group->channels * model->element_bytes;
    npu_code code = check_range(opu, "output", address, count, error);
    code = code == NPU_OK ? npu_read_memory(opu->hal, "output", opu->memory.address + address, bytes, count, error) : code;
    for (uint32_t i = 0; code == NPU_OK && i < group->channels; i++) {
        uint64_t place_ = 0;
        if (element_of(map, y, x, first + i, &place_)) {
            int32_t raw = npu_fixed_load(stored(model), bytes + (size_t)i * model->element_bytes);
            /* Elements of floating-point types are bits without a sign to extend. */
            values[place_] = model->element.width == 0 && model->element_bytes == 2 ? raw & 0xFFFF : raw;
        }
    }
    return code;
}

npu_code npu_opu_read_raw(npu_opu *opu, const char *name, int32_t *values, uint64_t count, npu_error *error)
{
    if (opu->model == NULL) {
        return npu_fail(error, NPU_STATE, "no program is loaded", "opu", 0, 0, 0);
    }
    const npu_opu_map *map = find(opu->model->output, opu->model->outputs, name);
    npu_code code = check_tensor(opu, map, name, count, error);
    uint64_t pixels = code == NPU_OK ? (uint64_t)map->height * map->width : 0;
    for (uint64_t pixel = 0; code == NPU_OK && pixel < pixels; pixel++) {
        uint64_t first = 0;
        for (uint32_t i = 0; code == NPU_OK && i < map->groups; i++) {
            const npu_opu_group *group = &opu->model->group[map->first_group + i];
            code = read_slot(opu, map, group, pixel, first, values, error);
            first += group->channels;
        }
    }
    return code;
}
