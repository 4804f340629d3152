/* Board of the TCU: streaming, running, tensors and samples. */
#include "npukit/tcu.h"

#include <string.h>

enum { WINDOW_SHIFT = 16, SAMPLE_BYTES = 8, INSTRUCTIONS_BEFORE = 1 };

/* After a failure during a stream, the content of the unit is unknown. */
static npu_code broken(npu_tcu *tcu, npu_code code)
{
    if (code == NPU_BUS || code == NPU_DMA || code == NPU_TIMEOUT) {
        tcu->open = false;
    }
    return code;
}

static npu_code check_open(const npu_tcu *tcu, npu_error *error)
{
    if (tcu->open) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_STATE, "the board is not open, or failed: reset the unit and open it again", "tcu", 0, 0, 0);
}

/* ---- samples ---- */

/* Starts the next transfer of samples, if the buffer has room for one. */
static npu_code arm_samples(npu_tcu *tcu, npu_error *error)
{
    uint64_t room = tcu->board.samples.bytes - tcu->sample_bytes;
    uint64_t block = (uint64_t)tcu->board.sample_block * SAMPLE_BYTES;
    tcu->sample_transfer = 0;
    if (room < block) {
        tcu->samples_lost = true;
        return NPU_OK;
    }
    tcu->sample_transfer = (uint32_t)block;
    return npu_dma_start(&tcu->samples, NPU_DMA_TO_MEMORY, tcu->board.samples.address + tcu->sample_bytes,
                         tcu->sample_transfer, error);
}

/* Takes a finished block of samples. `came` is set if there was one. */
static npu_code take_samples(npu_tcu *tcu, bool *came, npu_error *error)
{
    bool ended = false;
    uint32_t bytes = 0;
    if (!tcu->sampling || tcu->sample_transfer == 0) {
        return NPU_OK;
    }
    npu_code code = npu_dma_ended(&tcu->samples, NPU_DMA_TO_MEMORY, &ended, error);
    if (code != NPU_OK || !ended) {
        return code;
    }
    code = npu_dma_received(&tcu->samples, &bytes, error);
    if (code != NPU_OK) {
        return code;
    }
    if (bytes == 0 || bytes > tcu->sample_transfer || bytes % SAMPLE_BYTES != 0) {
        return npu_fail(error, NPU_DATA, "a block of samples has the wrong length", "sample DMA", tcu->sample_bytes,
                        tcu->sample_transfer, bytes);
    }
    *came = true;
    tcu->sample_bytes += bytes;
    return arm_samples(tcu, error);
}

/* Waits for the current block, which contains the end of the program. */
static npu_code last_samples(npu_tcu *tcu, npu_error *error)
{
    npu_deadline deadline = npu_deadline_begin(tcu->hal, tcu->board.timeout_us);
    bool came = tcu->sample_transfer == 0;
    npu_code code = NPU_OK;
    while (code == NPU_OK && !came) {
        code = take_samples(tcu, &came, error);
        if (code == NPU_OK && !came && npu_deadline_passed(&deadline)) {
            code = npu_fail(error, NPU_TIMEOUT, "a block of samples does not end", "sample DMA", tcu->sample_bytes,
                            tcu->board.timeout_us, tcu->sample_transfer);
        }
    }
    return code;
}

/* ---- the stream of instructions ---- */

/* Sends the staged instructions, and takes samples meanwhile. */
static npu_code send(npu_tcu *tcu, npu_error *error)
{
    if (tcu->staged == 0) {
        return NPU_OK;
    }
    npu_code code = npu_dma_start(&tcu->instructions, NPU_DMA_TO_DEVICE, tcu->board.staging.address, tcu->staged, error);
    npu_deadline deadline = npu_deadline_begin(tcu->hal, tcu->board.timeout_us);
    bool ended = false;
    while (code == NPU_OK && !ended) {
        bool came = false;
        code = npu_dma_ended(&tcu->instructions, NPU_DMA_TO_DEVICE, &ended, error);
        code = code == NPU_OK ? take_samples(tcu, &came, error) : code;
        if (code == NPU_OK && !ended && npu_deadline_passed(&deadline)) {
            code = npu_fail(error, NPU_TIMEOUT, "the unit does not accept the instructions; one of them may hang it",
                            "instruction DMA", tcu->board.instruction_dma, tcu->board.timeout_us, tcu->staged);
        }
    }
    tcu->staged = 0;
    return code;
}

static npu_code stage(npu_tcu *tcu, const uint8_t *bytes, size_t count, npu_error *error)
{
    npu_code code = NPU_OK;
    while (code == NPU_OK && count > 0) {
        size_t room = tcu->capacity - tcu->staged;
        size_t part = count < room ? count : room;
        code = npu_write_memory(tcu->hal, "staging", tcu->board.staging.address + tcu->staged, bytes, part, error);
        tcu->staged += (uint32_t)part;
        bytes += part;
        count -= part;
        if (code == NPU_OK && tcu->staged == tcu->capacity) {
            code = send(tcu, error);
        }
    }
    return code;
}

static npu_code stage_configure(npu_tcu *tcu, npu_tcu_register number, uint32_t value, npu_error *error)
{
    uint8_t word[NPU_TCU_MOST_INSTRUCTION_BYTES];
    npu_code code = npu_tcu_encode_configure(&tcu->arch, number, value, word, error);
    code = code == NPU_OK ? stage(tcu, word, tcu->fields.bytes, error) : code;
    if (code == NPU_OK) {
        tcu->written[number] = value;
    }
    return code;
}

static npu_code stage_move(npu_tcu *tcu, npu_tcu_move kind, uint64_t local, uint64_t dram, uint64_t size,
                           npu_error *error)
{
    uint8_t word[NPU_TCU_MOST_INSTRUCTION_BYTES];
    npu_code code = npu_tcu_encode_move(&tcu->arch, kind, local, dram, size, word, error);
    return code == NPU_OK ? stage(tcu, word, tcu->fields.bytes, error) : code;
}

/* Adds NoOps up to a whole beat. Otherwise the rest of an instruction would stay in the unit. */
static npu_code stage_padding(npu_tcu *tcu, npu_error *error)
{
    static const uint8_t NO_OP[NPU_TCU_MOST_INSTRUCTION_BYTES] = {0};
    npu_code code = NPU_OK;
    while (code == NPU_OK && tcu->staged % tcu->board.stream_bytes != 0) {
        code = stage(tcu, NO_OP, tcu->fields.bytes, error);
    }
    return code;
}

/* ---- the probe: a vector that is moved last shows that all previous instructions are complete ---- */

static uint64_t probe_source(const npu_tcu *tcu)
{
    return tcu->arch.dram0_depth - 1;
}

static uint64_t probe_target(const npu_tcu *tcu)
{
    return tcu->arch.dram0_depth - 2;
}

static uint64_t in_dram0(const npu_tcu *tcu, uint64_t vector)
{
    return tcu->board.dram0.address + vector * npu_tcu_vector_bytes(&tcu->arch);
}

static npu_code prepare_probe(npu_tcu *tcu, npu_error *error)
{
    uint64_t bytes = npu_tcu_vector_bytes(&tcu->arch);
    npu_code code = npu_fill_memory(tcu->hal, "DRAM0", in_dram0(tcu, probe_source(tcu)), 0x00, bytes, error);
    return code == NPU_OK ? npu_fill_memory(tcu->hal, "DRAM0", in_dram0(tcu, probe_target(tcu)), 0xFF, bytes, error) : code;
}

static npu_code stage_probe(npu_tcu *tcu, npu_error *error)
{
    uint64_t local = tcu->arch.local_depth - 1;
    npu_code code = stage_move(tcu, NPU_TCU_DRAM0_TO_LOCAL, local, probe_source(tcu), 1, error);
    return code == NPU_OK ? stage_move(tcu, NPU_TCU_LOCAL_TO_DRAM0, local, probe_target(tcu), 1, error) : code;
}

/* Whether the target vector equals the source. */
static npu_code look_at_probe(npu_tcu *tcu, bool *done, npu_error *error)
{
    uint64_t address = in_dram0(tcu, probe_target(tcu));
    uint64_t left = npu_tcu_vector_bytes(&tcu->arch);
    *done = true;
    while (left > 0) {
        size_t part = left < sizeof tcu->scratch ? (size_t)left : sizeof tcu->scratch;
        npu_code code = npu_read_memory(tcu->hal, "DRAM0", address, tcu->scratch, part, error);
        if (code != NPU_OK) {
            return code;
        }
        for (size_t i = 0; i < part; i++) {
            *done = *done && tcu->scratch[i] == 0;
        }
        address += part;
        left -= part;
    }
    return NPU_OK;
}

static npu_code wait_for_probe(npu_tcu *tcu, npu_error *error)
{
    npu_deadline deadline = npu_deadline_begin(tcu->hal, tcu->board.timeout_us);
    bool done = false;
    bool came = false;
    npu_code code = look_at_probe(tcu, &done, error);
    while (code == NPU_OK && !done) {
        if (npu_deadline_passed(&deadline)) {
            return npu_fail(error, NPU_TIMEOUT, "all instructions were accepted, but the vector moved last does not arrive", "DRAM0",
                            in_dram0(tcu, probe_target(tcu)), tcu->board.timeout_us, tcu->scratch[0]);
        }
        code = take_samples(tcu, &came, error);
        code = code == NPU_OK ? look_at_probe(tcu, &done, error) : code;
    }
    return code;
}

/* Sends the staged instructions, followed by the probe, and waits until they are complete. */
static npu_code finish(npu_tcu *tcu, npu_error *error)
{
    npu_code code = stage_probe(tcu, error);
    code = code == NPU_OK ? stage_padding(tcu, error) : code;
    code = code == NPU_OK ? send(tcu, error) : code;
    return code == NPU_OK ? wait_for_probe(tcu, error) : code;
}

/* ---- opening ---- */

static npu_code check_bank(const char *name, const npu_region *bank, uint64_t depth, const npu_tcu_arch *arch,
                           npu_error *error)
{
    uint64_t need = depth * npu_tcu_vector_bytes(arch);
    const uint64_t end = UINT64_C(1) << 32;
    if (bank->address % (UINT64_C(1) << WINDOW_SHIFT) != 0) {
        return npu_fail(error, NPU_ARGUMENT, "a bank must begin at a multiple of 64 KiB", name, bank->address, 0, 0);
    }
    if (bank->bytes < need || bank->address >= end || need > end - bank->address) {
        return npu_fail(error, NPU_ARGUMENT, "a bank must hold the whole depth below 2^32", name, bank->address, need,
                        bank->bytes);
    }
    return NPU_OK;
}

static npu_code check_apart(const npu_tcu_board *board, npu_error *error)
{
    const npu_region *regions[] = {&board->dram0, &board->dram1, &board->staging, &board->samples};
    size_t count = board->has_samples ? 4 : 3;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a + 1; b < count; b++) {
            if (npu_regions_overlap(regions[a], regions[b])) {
                return npu_fail(error, NPU_ARGUMENT, "two regions of the board overlap", "board", regions[a]->address,
                                regions[a]->address + regions[a]->bytes, regions[b]->address);
            }
        }
    }
    return NPU_OK;
}

static npu_code check_streams(const npu_tcu_board *board, npu_error *error)
{
    uint32_t beat = board->stream_bytes;
    if (beat == 0 || beat > 128 || (beat & (beat - 1)) != 0) {
        return npu_fail(error, NPU_ARGUMENT, "must be a power of two of at most 128", "stream_bytes", 0, 128, beat);
    }
    if (board->max_transfer < beat || board->staging.bytes < beat || board->staging.address % beat != 0) {
        return npu_fail(error, NPU_ARGUMENT, "must hold a beat, and begin at one", "staging", board->staging.address, beat,
                        board->staging.bytes);
    }
    if (board->timeout_us == 0) {
        return npu_fail(error, NPU_ARGUMENT, "must not be 0", "timeout_us", 0, 1, 0);
    }
    uint64_t block = (uint64_t)board->sample_block * SAMPLE_BYTES;
    if (board->has_samples && (block == 0 || block > board->max_transfer || board->samples.address % SAMPLE_BYTES != 0)) {
        return npu_fail(error, NPU_ARGUMENT, "must be at least one sample and at most one transfer", "sample_block",
                        board->samples.address, board->max_transfer, board->sample_block);
    }
    return NPU_OK;
}

static npu_code check_board(const npu_tcu_arch *arch, const npu_tcu_board *board, npu_error *error)
{
    npu_code code = check_bank("dram0", &board->dram0, arch->dram0_depth, arch, error);
    code = code == NPU_OK ? check_bank("dram1", &board->dram1, arch->dram1_depth, arch, error) : code;
    code = code == NPU_OK ? check_streams(board, error) : code;
    return code == NPU_OK ? check_apart(board, error) : code;
}

static npu_dma dma_of(const npu_tcu *tcu, uint64_t base, const char *name, uint32_t beat)
{
    npu_dma dma = {tcu->hal, base, name, tcu->board.max_transfer, beat, tcu->board.timeout_us};
    return dma;
}

static npu_code configure_all(npu_tcu *tcu, npu_error *error)
{
    const npu_tcu_board *board = &tcu->board;
    const struct {
        npu_tcu_register number;
        uint32_t value;
    } values[] = {
        {NPU_TCU_DRAM0_OFFSET, (uint32_t)(board->dram0.address >> WINDOW_SHIFT)},
        {NPU_TCU_DRAM0_CACHE, board->cache0},
        {NPU_TCU_DRAM1_OFFSET, (uint32_t)(board->dram1.address >> WINDOW_SHIFT)},
        {NPU_TCU_DRAM1_CACHE, board->cache1},
        {NPU_TCU_TIMEOUT, board->decoder_timeout},
        {NPU_TCU_SAMPLE_INTERVAL, 0},
    };
    npu_code code = NPU_OK;
    for (size_t i = 0; code == NPU_OK && i < sizeof values / sizeof values[0]; i++) {
        code = stage_configure(tcu, values[i].number, values[i].value, error);
    }
    return code;
}

npu_code npu_tcu_open(npu_tcu *tcu, const npu_hal *hal, const npu_tcu_arch *arch, const npu_tcu_board *board,
                      npu_error *error)
{
    npu_code code = npu_hal_check(hal, error);
    code = code == NPU_OK ? check_board(arch, board, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    memset(tcu, 0, sizeof *tcu);
    tcu->hal = hal;
    tcu->board = *board;
    tcu->arch = *arch;
    tcu->fields = npu_tcu_fields_of(arch);
    uint64_t most = board->staging.bytes < board->max_transfer ? board->staging.bytes : board->max_transfer;
    tcu->capacity = (uint32_t)(most - most % board->stream_bytes);
    tcu->instructions = dma_of(tcu, board->instruction_dma, "instruction DMA", board->stream_bytes);
    tcu->samples = dma_of(tcu, board->sample_dma, "sample DMA", SAMPLE_BYTES);
    code = npu_dma_reset(&tcu->instructions, error);
    if (code == NPU_OK && board->has_samples) {
        code = npu_dma_reset(&tcu->samples, error);
    }
    code = code == NPU_OK ? prepare_probe(tcu, error) : code;
    code = code == NPU_OK ? configure_all(tcu, error) : code;
    code = code == NPU_OK ? finish(tcu, error) : code;
    tcu->open = code == NPU_OK;
    return code;
}

/* ---- programs ---- */

static npu_code check_length(const char *name, uint64_t expected, uint64_t actual, npu_error *error)
{
    if (expected == actual) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_LENGTH, "the length differs from the manifest", name, 0, expected, actual);
}

npu_code npu_tcu_load(npu_tcu *tcu, const npu_tcu_model *model, const void *program, size_t program_bytes,
                      const void *constants, size_t constants_bytes, npu_error *error)
{
    npu_code code = check_open(tcu, error);
    code = code == NPU_OK ? npu_tcu_arch_same(&model->arch, &tcu->arch, error) : code;
    if (code == NPU_OK && model->program_bytes != 0) {
        code = check_length("program", model->program_bytes, program_bytes, error);
    }
    uint64_t expected = model->constants_size * npu_tcu_vector_bytes(&model->arch);
    code = code == NPU_OK ? check_length("constants", expected, constants_bytes, error) : code;
    code = code == NPU_OK ? npu_tcu_check_program(&tcu->arch, program, program_bytes, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    tcu->model = NULL;
    tcu->constants_are_local = false;
    code = npu_write_memory(tcu->hal, "DRAM1", tcu->board.dram1.address, constants, constants_bytes, error);
    if (code == NPU_OK) {
        tcu->model = model;
        tcu->program = program;
        tcu->program_bytes = program_bytes;
    }
    return broken(tcu, code);
}

static npu_code check_loaded(const npu_tcu *tcu, npu_error *error)
{
    npu_code code = check_open(tcu, error);
    if (code == NPU_OK && tcu->model == NULL) {
        code = npu_fail(error, NPU_STATE, "no program is loaded", "tcu", 0, 0, 0);
    }
    return code;
}

/* Moves the constants to local memory if the program expects them there and they are missing. */
static npu_code stage_constants(npu_tcu *tcu, npu_error *error)
{
    uint64_t size = tcu->model->constants_size;
    if (!tcu->model->constants_to_local || tcu->constants_are_local || size == 0) {
        return NPU_OK;
    }
    return stage_move(tcu, NPU_TCU_DRAM1_TO_LOCAL, 0, 0, size, error);
}

/* Samples start before the program, so that its first instruction has the number that npukit expects. */
static npu_code begin_samples(npu_tcu *tcu, npu_error *error)
{
    tcu->sample_bytes = 0;
    tcu->samples_lost = false;
    if (tcu->interval == 0) {
        return NPU_OK;
    }
    tcu->sampling = true;
    npu_code code = arm_samples(tcu, error);
    return code == NPU_OK ? stage_configure(tcu, NPU_TCU_SAMPLE_INTERVAL, tcu->interval, error) : code;
}

static npu_code end_samples(npu_tcu *tcu, npu_error *error)
{
    if (!tcu->sampling) {
        return NPU_OK;
    }
    npu_code code = last_samples(tcu, error);
    tcu->sampling = false;
    code = code == NPU_OK ? prepare_probe(tcu, error) : code;
    code = code == NPU_OK ? stage_configure(tcu, NPU_TCU_SAMPLE_INTERVAL, 0, error) : code;
    code = code == NPU_OK ? finish(tcu, error) : code;
    /* A started transfer without further samples must not write later. */
    return code == NPU_OK ? npu_dma_reset(&tcu->samples, error) : code;
}

npu_code npu_tcu_run(npu_tcu *tcu, npu_error *error)
{
    npu_code code = check_loaded(tcu, error);
    if (code != NPU_OK) {
        return code;
    }
    code = prepare_probe(tcu, error);
    code = code == NPU_OK ? stage_constants(tcu, error) : code;
    code = code == NPU_OK ? begin_samples(tcu, error) : code;
    code = code == NPU_OK ? stage_configure(tcu, NPU_TCU_PROGRAM_COUNTER, INSTRUCTIONS_BEFORE, error) : code;
    code = code == NPU_OK ? stage(tcu, tcu->program, tcu->program_bytes, error) : code;
    code = code == NPU_OK ? finish(tcu, error) : code;
    code = code == NPU_OK ? end_samples(tcu, error) : code;
    /* The probe has overwritten the last vector of local memory. */
    tcu->constants_are_local = code == NPU_OK && tcu->model->constants_size < tcu->arch.local_depth;
    return broken(tcu, code);
}

/* ---- tensors ---- */

/* Iterator over the bytes of a tensor in DRAM0, piece by piece, with a buffer. */
typedef struct cursor {
    npu_tcu *tcu;
    const npu_tcu_pieces *pieces;
    const char *name;
    size_t piece;     /* current piece */
    uint64_t address; /* address of the buffer's data */
    uint64_t left;    /* remaining bytes of the piece */
    size_t held;      /* bytes in the buffer */
    size_t used;      /* used bytes of the buffer */
} cursor;

/* Advances to the next piece of the name. It exists, as the number of vectors was checked. */
static void next_piece(cursor *at)
{
    while (!npu_text_is(at->pieces->pieces[at->piece].name, at->name)) {
        at->piece++;
    }
    const npu_tcu_piece *piece = &at->pieces->pieces[at->piece++];
    at->address = in_dram0(at->tcu, piece->base);
    at->left = piece->size * npu_tcu_vector_bytes(&at->tcu->arch);
}

static npu_code drain(cursor *at, npu_error *error)
{
    npu_tcu *tcu = at->tcu;
    npu_code code = npu_write_memory(tcu->hal, "DRAM0", at->address, tcu->scratch, at->used, error);
    at->address += at->used;
    at->left -= at->used;
    at->used = 0;
    return code;
}

/* Returns the place for the next `bytes` bytes of an input. */
static npu_code put(cursor *at, const uint8_t *bytes, size_t count, npu_error *error)
{
    npu_tcu *tcu = at->tcu;
    if (at->left == 0) {
        next_piece(at);
    }
    memcpy(tcu->scratch + at->used, bytes, count);
    at->used += count;
    bool full = at->used + count > sizeof tcu->scratch || at->used == at->left;
    return full ? drain(at, error) : NPU_OK;
}

/* Returns the next `count` bytes of an output. */
static npu_code take(cursor *at, uint8_t *bytes, size_t count, npu_error *error)
{
    npu_tcu *tcu = at->tcu;
    if (at->used == at->held) {
        if (at->left == 0) {
            next_piece(at);
        }
        size_t most = sizeof tcu->scratch - sizeof tcu->scratch % count;
        at->held = at->left < most ? (size_t)at->left : most;
        at->used = 0;
        npu_code code = npu_read_memory(tcu->hal, "DRAM0", at->address, tcu->scratch, at->held, error);
        if (code != NPU_OK) {
            return code;
        }
        at->address += at->held;
        at->left -= at->held;
    }
    memcpy(bytes, tcu->scratch + at->used, count);
    at->used += count;
    return NPU_OK;
}

/* Checks that `count` scalars of the layout, or of whole vectors, match the tensor. */
static npu_code check_tensor(const npu_tcu *tcu, const npu_tcu_pieces *pieces, const char *name, uint64_t count,
                             const npu_layout *layout, npu_error *error)
{
    uint64_t vectors = npu_tcu_vectors(pieces, name);
    uint64_t scalars = vectors * tcu->arch.array_size;
    uint64_t taken = vectors;
    if (vectors == 0) {
        return npu_fail(error, NPU_ARGUMENT, "the program has no tensor with this name", name, 0, pieces->count, 0);
    }
    npu_code code = layout == NULL ? NPU_OK : npu_layout_check(layout, tcu->arch.array_size, &scalars, &taken, error);
    if (code == NPU_OK && taken != vectors) {
        return npu_fail(error, NPU_LENGTH, "the numbers of vectors of layout and program differ", name, 0, vectors, taken);
    }
    if (code == NPU_OK && count != scalars) {
        return npu_fail(error, NPU_LENGTH, "the number of scalars differs from the tensor", name, 0, scalars, count);
    }
    return code;
}

/* Source of an input's scalars: exactly one of them is set. */
typedef struct source {
    const float *reals;
    const int32_t *raw;
    const npu_array *array;
} source;

static npu_code raw_of(const npu_tcu *tcu, const source *from, uint64_t place, int32_t exponent, int32_t *raw,
                       bool *saturated, npu_error *error)
{
    npu_fixed format = npu_tcu_format(&tcu->arch);
    if (from->reals != NULL) {
        *raw = npu_fixed_from_scaled(format, from->reals[place], exponent, saturated);
        return NPU_OK;
    }
    if (from->array != NULL && !npu_array_is_raw(from->array)) {
        *raw = npu_fixed_from_scaled(format, npu_array_real(from->array, place), exponent, saturated);
        return NPU_OK;
    }
    npu_code code = NPU_OK;
    if (from->raw != NULL) {
        *raw = from->raw[place];
    } else {
        code = npu_array_raw(from->array, place, raw, error);
    }
    if (code == NPU_OK && (*raw < npu_fixed_smallest(format) || *raw > npu_fixed_largest(format))) {
        return npu_fail(error, NPU_RANGE, "a raw scalar does not fit the number format", "input", place,
                        (uint64_t)npu_fixed_largest(format), (uint64_t)(int64_t)*raw);
    }
    return code;
}

static npu_code write_tensor(npu_tcu *tcu, const char *name, const source *from, uint64_t count,
                             const npu_layout *layout, uint64_t *saturated, npu_error *error)
{
    npu_code code = check_loaded(tcu, error);
    code = code == NPU_OK ? check_tensor(tcu, &tcu->model->inputs, name, count, layout, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    npu_fixed format = npu_tcu_format(&tcu->arch);
    npu_layout flat = npu_layout_flat(count, tcu->arch.array_size);
    npu_layout_walk walk = npu_layout_begin(layout != NULL ? layout : &flat, tcu->arch.array_size);
    cursor at = {tcu, &tcu->model->inputs, name, 0, 0, 0, 0, 0};
    uint64_t lanes = npu_tcu_vectors(&tcu->model->inputs, name) * tcu->arch.array_size;
    uint64_t unfit = 0;
    for (uint64_t lane = 0; code == NPU_OK && lane < lanes; lane++) {
        uint8_t bytes[4];
        uint64_t place = 0;
        int32_t raw = 0;
        bool clamped = false;
        if (npu_layout_lane(&walk, &place)) {
            code = raw_of(tcu, from, place, walk.layout->exponent, &raw, &clamped, error);
        }
        unfit += clamped ? 1 : 0;
        npu_fixed_store(format, raw, bytes);
        code = code == NPU_OK ? put(&at, bytes, format.bytes, error) : code;
    }
    if (saturated != NULL) {
        *saturated = unfit;
    }
    return broken(tcu, code);
}

npu_code npu_tcu_write_reals(npu_tcu *tcu, const char *name, const float *values, uint64_t count,
                             const npu_layout *layout, uint64_t *saturated, npu_error *error)
{
    source from = {values, NULL, NULL};
    return write_tensor(tcu, name, &from, count, layout, saturated, error);
}

npu_code npu_tcu_write_raw(npu_tcu *tcu, const char *name, const int32_t *values, uint64_t count,
                           const npu_layout *layout, npu_error *error)
{
    source from = {NULL, values, NULL};
    return write_tensor(tcu, name, &from, count, layout, NULL, error);
}

npu_code npu_tcu_write_array(npu_tcu *tcu, const char *name, const npu_array *array, const npu_layout *layout,
                             uint64_t *saturated, npu_error *error)
{
    source from = {NULL, NULL, array};
    return write_tensor(tcu, name, &from, array->scalars, layout, saturated, error);
}

/* Reads an output into either `reals` or `raw`. */
static npu_code read_tensor(npu_tcu *tcu, const char *name, float *reals, int32_t *raws, uint64_t count,
                            const npu_layout *layout, npu_error *error)
{
    npu_code code = check_loaded(tcu, error);
    code = code == NPU_OK ? check_tensor(tcu, &tcu->model->outputs, name, count, layout, error) : code;
    if (code != NPU_OK) {
        return code;
    }
    npu_fixed format = npu_tcu_format(&tcu->arch);
    npu_layout flat = npu_layout_flat(count, tcu->arch.array_size);
    npu_layout_walk walk = npu_layout_begin(layout != NULL ? layout : &flat, tcu->arch.array_size);
    cursor at = {tcu, &tcu->model->outputs, name, 0, 0, 0, 0, 0};
    uint64_t lanes = npu_tcu_vectors(&tcu->model->outputs, name) * tcu->arch.array_size;
    for (uint64_t lane = 0; code == NPU_OK && lane < lanes; lane++) {
        uint8_t bytes[4] = {0};
        uint64_t place = 0;
        code = take(&at, bytes, format.bytes, error);
        if (code == NPU_OK && npu_layout_lane(&walk, &place)) {
            int32_t raw = npu_fixed_load(format, bytes);
            if (reals != NULL) {
                reals[place] = npu_fixed_to_scaled(format, raw, walk.layout->exponent);
            } else {
                raws[place] = raw;
            }
        }
    }
    return broken(tcu, code);
}

npu_code npu_tcu_read_reals(npu_tcu *tcu, const char *name, float *values, uint64_t count,
                            const npu_layout *layout, npu_error *error)
{
    return read_tensor(tcu, name, values, NULL, count, layout, error);
}

npu_code npu_tcu_read_raw(npu_tcu *tcu, const char *name, int32_t *values, uint64_t count,
                          const npu_layout *layout, npu_error *error)
{
    return read_tensor(tcu, name, NULL, values, count, layout, error);
}

npu_code npu_tcu_read_bank(npu_tcu *tcu, unsigned bank, uint64_t vector, void *bytes, size_t count,
                           npu_error *error)
{
    npu_code code = check_open(tcu, error);
    if (code != NPU_OK) {
        return code;
    }
    const npu_region *region = bank == 0 ? &tcu->board.dram0 : &tcu->board.dram1;
    uint64_t depth = bank == 0 ? tcu->arch.dram0_depth : tcu->arch.dram1_depth;
    uint64_t size = npu_tcu_vector_bytes(&tcu->arch);
    if (bank > 1 || vector > depth || count > (depth - vector) * size) {
        return npu_fail(error, NPU_RANGE, "the vectors end beyond the bank", bank == 0 ? "DRAM0" : "DRAM1", vector, depth, count);
    }
    return npu_read_memory(tcu->hal, bank == 0 ? "DRAM0" : "DRAM1", region->address + vector * size, bytes, count, error);
}

/* ---- registers and samples ---- */

npu_code npu_tcu_configure(npu_tcu *tcu, npu_tcu_register number, uint32_t value, npu_error *error)
{
    npu_code code = check_open(tcu, error);
    if (code == NPU_OK && (number == NPU_TCU_DRAM0_OFFSET || number == NPU_TCU_DRAM1_OFFSET)) {
        return npu_fail(error, NPU_ARGUMENT, "the offsets are reserved for the driver", "Configure", (uint64_t)number, 0, value);
    }
    if (code == NPU_OK && number == NPU_TCU_SAMPLE_INTERVAL) {
        return npu_fail(error, NPU_ARGUMENT, "use npu_tcu_sample to set the interval, as samples must be read", "Configure",
                        (uint64_t)number, 0, value);
    }
    code = code == NPU_OK ? prepare_probe(tcu, error) : code;
    code = code == NPU_OK ? stage_configure(tcu, number, value, error) : code;
    code = code == NPU_OK ? finish(tcu, error) : code;
    tcu->constants_are_local = tcu->constants_are_local && code == NPU_OK;
    return broken(tcu, code);
}

npu_code npu_tcu_status_read(npu_tcu *tcu, npu_tcu_status *status, npu_error *error)
{
    memcpy(status->written, tcu->written, sizeof status->written);
    status->sample_dma = 0;
    npu_code code = npu_dma_status(&tcu->instructions, NPU_DMA_TO_DEVICE, &status->instruction_dma, error);
    if (code == NPU_OK && tcu->board.has_samples) {
        code = npu_dma_status(&tcu->samples, NPU_DMA_TO_MEMORY, &status->sample_dma, error);
    }
    return code;
}

npu_code npu_tcu_sample(npu_tcu *tcu, uint32_t interval, npu_error *error)
{
    npu_code code = check_open(tcu, error);
    if (code == NPU_OK && interval != 0 && !tcu->board.has_samples) {
        return npu_fail(error, NPU_UNSUPPORTED, "the board has no sample port", "sample interval", 0, 0, interval);
    }
    if (code == NPU_OK && interval > 0xFFFF) {
        return npu_fail(error, NPU_RANGE, "the interval must fit 16 bits", "sample interval", 0, 0xFFFF, interval);
    }
    if (code == NPU_OK) {
        tcu->interval = interval;
    }
    return code;
}

uint64_t npu_tcu_samples(const npu_tcu *tcu, bool *lost)
{
    if (lost != NULL) {
        *lost = tcu->samples_lost;
    }
    return tcu->sample_bytes / SAMPLE_BYTES;
}

npu_code npu_tcu_read_samples(npu_tcu *tcu, uint64_t first, uint64_t *words, size_t count, npu_error *error)
{
    uint64_t total = npu_tcu_samples(tcu, NULL);
    if (first > total || count > total - first) {
        return npu_fail(error, NPU_RANGE, "beyond the samples of the last run", "samples", first, total, count);
    }
    npu_code code = NPU_OK;
    for (size_t i = 0; code == NPU_OK && i < count; i++) {
        uint8_t bytes[SAMPLE_BYTES];
        uint64_t address = tcu->board.samples.address + (first + i) * SAMPLE_BYTES;
        code = npu_read_memory(tcu->hal, "samples", address, bytes, sizeof bytes, error);
        words[i] = 0;
        for (unsigned byte = 0; byte < SAMPLE_BYTES; byte++) {
            words[i] |= (uint64_t)bytes[byte] << (8U * byte);
        }
        if (code == NPU_OK && words[i] >> 48 != 0) {
            code = npu_fail(error, NPU_DATA, "bits 48 to 63 of a sample must be zero", "samples", first + i, 0, words[i]);
        }
    }
    return code;
}
