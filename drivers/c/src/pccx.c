#include "npukit/pccx.h"

#include <string.h>

/* ---- words ---- */

enum { GEMV = 0x0, GEMM = 0x1, MEMCPY = 0x2, MEMSET = 0x3, CVO = 0x4 };
enum { WORD_BYTES = 8, L2_WORD_BYTES = 16, L2_WORD_ELEMENTS = 8, MOST_ELEMENTS = 1 << 20 };

static uint64_t field(uint64_t word, unsigned first, unsigned width)
{
    return word >> first & ((UINT64_C(1) << width) - 1);
}

static uint64_t load(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned byte = 0; byte < count; byte++) {
        value |= (uint64_t)bytes[byte] << (8U * byte);
    }
    return value;
}

static uint64_t word_at(const npu_pccx_program *program, uint32_t index)
{
    return load(program->code + (size_t)index * WORD_BYTES, WORD_BYTES);
}

/* ---- the container ---- */

enum { HEAD = 16, ENTRY = 12, WINDOW = 20 };

typedef struct file {
    const uint8_t *bytes;
    uint64_t length;
} file;

/* A section of the file; empty if it does not exist. */
typedef struct section {
    uint64_t at;
    uint64_t bytes;
} section;

static npu_code wrong(const char *what, uint64_t offset, uint64_t expected, uint64_t actual, npu_error *error)
{
    return npu_fail(error, NPU_SYNTAX, what, "container", offset, expected, actual);
}

static npu_code find_section(const file *in, const char *tag, section *found, npu_error *error)
{
    uint64_t count = load(in->bytes + 12, 4);
    found->at = found->bytes = 0;
    if (count > (in->length - HEAD) / ENTRY) {
        return wrong("the table of sections ends beyond the file", 12, (in->length - HEAD) / ENTRY, count, error);
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = in->bytes + HEAD + i * ENTRY;
        section part = {load(entry + 4, 4), load(entry + 8, 4)};
        if (part.at > in->length || part.bytes > in->length - part.at || part.at < HEAD + count * ENTRY) {
            return wrong("a section ends beyond the file", HEAD + i * ENTRY, in->length, part.at + part.bytes, error);
        }
        if (memcmp(entry, tag, 4) == 0) {
            if (found->at != 0) {
                return wrong("a section occurs twice", HEAD + i * ENTRY, 1, 2, error);
            }
            *found = part;
        }
    }
    return NPU_OK;
}

static npu_code parse_window(const file *in, uint64_t at, const section *names, npu_pccx_window *window, npu_error *error)
{
    uint64_t direction = load(in->bytes + at + 4, 4);
    uint64_t start = load(in->bytes + at + 16, 4);
    window->number = (uint32_t)load(in->bytes + at, 4);
    window->from_device = direction == 1;
    window->bytes = load(in->bytes + at + 8, 8);
    if (direction > 1) {
        return wrong("a window's direction must be 0 or 1", at + 4, 1, direction, error);
    }
    if (window->bytes % L2_WORD_BYTES != 0 || window->bytes > UINT64_C(1) << 21) {
        return wrong("a window's size must be a multiple of 16 bytes, at most 2 MiB", at + 8, UINT64_C(1) << 21, window->bytes, error);
    }
    const uint8_t *name = in->bytes + names->at + start;
    if (start >= names->bytes || memchr(name, 0, (size_t)(names->bytes - start)) == NULL) {
        return wrong("a window's name is not in STRS", at + 16, names->bytes, start, error);
    }
    window->name = (const char *)name;
    return NPU_OK;
}

static npu_code parse_windows(const file *in, npu_pccx_program *program, npu_error *error)
{
    section list;
    section names;
    npu_code code = find_section(in, "HWIN", &list, error);
    code = code == NPU_OK ? find_section(in, "STRS", &names, error) : code;
    if (code == NPU_OK && list.bytes % WINDOW != 0) {
        return wrong("section HWIN ends inside a window", list.at, WINDOW, list.bytes % WINDOW, error);
    }
    if (code == NPU_OK && list.bytes / WINDOW > NPU_PCCX_WINDOWS) {
        return npu_fail(error, NPU_CAPACITY, "too many windows for this driver", "HWIN", list.at, NPU_PCCX_WINDOWS,
                        list.bytes / WINDOW);
    }
    while (code == NPU_OK && program->windows < list.bytes / WINDOW) {
        uint64_t at = list.at + program->windows * WINDOW;
        code = parse_window(in, at, &names, &program->window[program->windows], error);
        program->windows++;
    }
    return code;
}

/* Checks whether the driver can run the instruction. */
static npu_code check_word(uint64_t word, uint32_t index, npu_error *error)
{
    uint64_t opcode = word >> 60;
    bool from_host = field(word, 59, 1) != 0;
    bool to_host = field(word, 58, 1) != 0;
    if (opcode == GEMV || opcode == GEMM) {
        return npu_fail(error, NPU_UNSUPPORTED, "the end of a product, and the transfer of its scales, are not documented",
                        "GEMV or GEMM", index, 0, word);
    }
    if (opcode == MEMCPY && !from_host && !to_host) {
        return npu_fail(error, NPU_UNSUPPORTED, "no circuit supports moves within L2", "MEMCPY", index, 0, word);
    }
    if (opcode > CVO || (opcode == MEMCPY && from_host && to_host) || (opcode == MEMSET && field(word, 58, 2) > 1)) {
        return npu_fail(error, NPU_PROGRAM, "an invalid instruction", "CODE", index, 0, word);
    }
    return NPU_OK;
}

npu_code npu_pccx_parse(const void *bytes, size_t length, npu_pccx_program *program, npu_error *error)
{
    file in = {bytes, length};
    section code_section;
    section host;
    memset(program, 0, sizeof *program);
    if (length < HEAD || memcmp(bytes, "PCP1", 4) != 0 || load(in.bytes + 4, 4) != 1) {
        return wrong("is not a container `PCP1` of version 1", 0, HEAD, length, error);
    }
    npu_code code = find_section(&in, "CODE", &code_section, error);
    code = code == NPU_OK ? find_section(&in, "HOST", &host, error) : code;
    if (code == NPU_OK && host.bytes > 0) {
        return npu_fail(error, NPU_UNSUPPORTED, "this driver does not support host steps of a program", "HOST", host.at, 0,
                        host.bytes);
    }
    if (code == NPU_OK && code_section.bytes % WORD_BYTES != 0) {
        return wrong("section CODE ends inside an instruction", code_section.at, WORD_BYTES, code_section.bytes % WORD_BYTES, error);
    }
    if (code == NPU_OK) {
        program->code = in.bytes + code_section.at;
        program->words = (uint32_t)(code_section.bytes / WORD_BYTES);
        code = parse_windows(&in, program, error);
    }
    for (uint32_t i = 0; code == NPU_OK && i < program->words; i++) {
        code = check_word(word_at(program, i), i, error);
    }
    return code;
}

/* ---- the board ---- */

enum { COMMAND = 0x0, STATUS_WORDS = 8, STATUS_BUSY = 1 };
/* Pages of the movers, and their registers. */
enum { PAGE_TO_DEVICE = 0x5000, PAGE_FROM_DEVICE = 0x6000 };
enum { CMD_LO = 0x00, CMD_HI = 0x04, CMD_EXT = 0x08, CMD_PUSH = 0x0C, STS_POP = 0x10, FLAGS = 0x14, ERR_W1C = 0x20 };
enum { FLAG_COMMAND_FULL = 1 << 1, FLAG_STATUS_EMPTY = 1 << 2, FLAG_ERRORS = 0xF0 };
enum { MOVER_INCREMENTING = 1 << 23, MOVER_END_OF_FRAME = 1 << 30, MOVER_OKAY = 1 << 7, MOVER_ERRORS = 0x70 };

npu_code npu_pccx_find(const npu_pccx_program *program, const char *name, size_t *window, npu_error *error)
{
    for (*window = 0; *window < program->windows; (*window)++) {
        if (strcmp(program->window[*window].name, name) == 0) {
            return NPU_OK;
        }
    }
    return npu_fail(error, NPU_ARGUMENT, "the program has no window with this name", name, 0, program->windows, 0);
}

npu_code npu_pccx_open(npu_pccx *pccx, const npu_hal *hal, const npu_pccx_program *program,
                       const npu_pccx_board *board, npu_error *error)
{
    npu_code code = npu_hal_check(hal, error);
    if (code == NPU_OK && (hal->read64 == NULL || hal->write64 == NULL || board->timeout_us == 0)) {
        return npu_fail(error, NPU_ARGUMENT, "64-bit accesses and a time limit must be given", "pccx", board->base, 0, 0);
    }
    for (size_t i = 0; code == NPU_OK && i < program->windows; i++) {
        const npu_region *region = &board->windows[i];
        const uint64_t end = UINT64_C(1) << 32;
        if (region->bytes < program->window[i].bytes || region->address % L2_WORD_BYTES != 0 || region->address >= end ||
            region->bytes > end - region->address) {
            return npu_fail(error, NPU_ARGUMENT, "a window must begin at a multiple of 16, and end below 2^32",
                            program->window[i].name, region->address, program->window[i].bytes, region->bytes);
        }
    }
    if (code == NPU_OK) {
        memset(pccx, 0, sizeof *pccx);
        pccx->hal = hal;
        pccx->board = *board;
        pccx->program = program;
        pccx->open = true;
    }
    return code;
}

static npu_code check_window(const npu_pccx *pccx, size_t window, uint64_t offset, uint64_t count, npu_error *error)
{
    if (window < pccx->program->windows && offset <= pccx->program->window[window].bytes &&
        count <= pccx->program->window[window].bytes - offset) {
        return NPU_OK;
    }
    return npu_fail(error, NPU_RANGE, "the window does not exist, or the bytes exceed it", "window", window, offset, count);
}

npu_code npu_pccx_write(npu_pccx *pccx, size_t window, uint64_t offset, const void *bytes, size_t count, npu_error *error)
{
    npu_code code = check_window(pccx, window, offset, count, error);
    uint64_t address = code == NPU_OK ? pccx->board.windows[window].address + offset : 0;
    return code == NPU_OK ? npu_write_memory(pccx->hal, "window", address, bytes, count, error) : code;
}

npu_code npu_pccx_read(npu_pccx *pccx, size_t window, uint64_t offset, void *bytes, size_t count, npu_error *error)
{
    npu_code code = check_window(pccx, window, offset, count, error);
    uint64_t address = code == NPU_OK ? pccx->board.windows[window].address + offset : 0;
    return code == NPU_OK ? npu_read_memory(pccx->hal, "window", address, bytes, count, error) : code;
}

/* ---- movers ---- */

static npu_code mover_read(const npu_pccx *pccx, uint64_t page, uint64_t reg, uint32_t *value, npu_error *error)
{
    return npu_read32(pccx->hal, "data mover", pccx->board.base + page + reg, value, error);
}

static npu_code mover_write(const npu_pccx *pccx, uint64_t page, uint64_t reg, uint32_t value, npu_error *error)
{
    return npu_write32(pccx->hal, "data mover", pccx->board.base + page + reg, value, error);
}

/* Requests a transfer from a mover. Its tag is 0, which has the same meaning in both readings of the command. */
static npu_code begin_move(const npu_pccx *pccx, uint64_t page, uint64_t address, uint64_t bytes, npu_error *error)
{
    uint32_t flags = 0;
    npu_code code = mover_write(pccx, page, ERR_W1C, 0xF, error);
    code = code == NPU_OK ? mover_read(pccx, page, FLAGS, &flags, error) : code;
    if (code == NPU_OK && ((flags & FLAG_COMMAND_FULL) != 0 || (flags & FLAG_STATUS_EMPTY) == 0)) {
        return npu_fail(error, NPU_STATE, "the data mover has commands or a status of another program", "FLAGS",
                        pccx->board.base + page + FLAGS, FLAG_STATUS_EMPTY, flags);
    }
    uint32_t low = (uint32_t)bytes | (uint32_t)MOVER_INCREMENTING | (uint32_t)MOVER_END_OF_FRAME;
    code = code == NPU_OK ? mover_write(pccx, page, CMD_LO, low, error) : code;
    code = code == NPU_OK ? mover_write(pccx, page, CMD_HI, (uint32_t)address, error) : code;
    code = code == NPU_OK ? mover_write(pccx, page, CMD_EXT, 0, error) : code;
    return code == NPU_OK ? mover_write(pccx, page, CMD_PUSH, 1, error) : code;
}

static npu_code end_move(const npu_pccx *pccx, uint64_t page, npu_error *error)
{
    npu_deadline deadline = npu_deadline_begin(pccx->hal, pccx->board.timeout_us);
    uint32_t flags = 0;
    uint32_t status = 0;
    npu_code code = mover_read(pccx, page, FLAGS, &flags, error);
    while (code == NPU_OK && (flags & FLAG_STATUS_EMPTY) != 0) {
        if (npu_deadline_passed(&deadline)) {
            return npu_fail(error, NPU_TIMEOUT, "a data mover does not end", "FLAGS", pccx->board.base + page + FLAGS,
                            pccx->board.timeout_us, flags);
        }
        code = mover_read(pccx, page, FLAGS, &flags, error);
    }
    code = code == NPU_OK ? mover_read(pccx, page, STS_POP, &status, error) : code;
    if (code == NPU_OK && ((flags & FLAG_ERRORS) != 0 || (status & MOVER_ERRORS) != 0 || (status & MOVER_OKAY) == 0)) {
        return npu_fail(error, NPU_DMA, "bit 4: internal, 5: decode, 6: slave error; 7: okay", "data mover",
                        pccx->board.base + page + STS_POP, MOVER_OKAY, status);
    }
    return code;
}

/* ---- instructions ---- */

static npu_code push(const npu_pccx *pccx, uint64_t word, npu_error *error)
{
    return npu_write64(pccx->hal, "command FIFO", pccx->board.base + COMMAND, word, error);
}

/* Waits for the end of a MEMSET or CVO. The FIFO of status words begins with eight old ones. */
static npu_code wait_until_idle(const npu_pccx *pccx, uint32_t index, npu_error *error)
{
    npu_deadline deadline = npu_deadline_begin(pccx->hal, pccx->board.timeout_us);
    uint64_t status = 0;
    npu_code code = NPU_OK;
    for (int i = 0; code == NPU_OK && i < STATUS_WORDS; i++) {
        code = npu_read64(pccx->hal, "status FIFO", pccx->board.base, &status, error);
    }
    code = code == NPU_OK ? npu_read64(pccx->hal, "status FIFO", pccx->board.base, &status, error) : code;
    while (code == NPU_OK && (status & STATUS_BUSY) != 0) {
        if (npu_deadline_passed(&deadline)) {
            return npu_fail(error, NPU_TIMEOUT, "an instruction does not end", "status FIFO", index, pccx->board.timeout_us, status);
        }
        code = npu_read64(pccx->hal, "status FIFO", pccx->board.base, &status, error);
    }
    return code;
}

/* Returns the window that a MEMCPY accesses, by number and direction. */
static npu_code window_of(const npu_pccx *pccx, uint64_t word, uint32_t index, size_t *window, npu_error *error)
{
    bool from_device = field(word, 58, 1) != 0;
    uint64_t number = from_device ? field(word, 41, 17) : field(word, 24, 17);
    for (*window = 0; *window < pccx->program->windows; (*window)++) {
        const npu_pccx_window *candidate = &pccx->program->window[*window];
        if (candidate->number == number && candidate->from_device == from_device) {
            return NPU_OK;
        }
    }
    return npu_fail(error, NPU_PROGRAM, "a MEMCPY with an unknown window", "MEMCPY", index, 0, number);
}

static npu_code copy(const npu_pccx *pccx, uint64_t word, uint32_t index, npu_error *error)
{
    uint64_t elements = pccx->elements[field(word, 1, 6)];
    uint64_t bytes = (elements + L2_WORD_ELEMENTS - 1) / L2_WORD_ELEMENTS * L2_WORD_BYTES;
    uint64_t offset = field(word, 7, 17) * L2_WORD_BYTES;
    uint64_t page = field(word, 58, 1) != 0 ? PAGE_FROM_DEVICE : PAGE_TO_DEVICE;
    size_t window = 0;
    if (elements == 0 || elements >= MOST_ELEMENTS) {
        return npu_fail(error, NPU_PROGRAM, "a MEMCPY must have 1 to 2^20 - 1 elements", "MEMCPY", index, MOST_ELEMENTS, elements);
    }
    npu_code code = window_of(pccx, word, index, &window, error);
    code = code == NPU_OK ? check_window(pccx, window, offset, bytes, error) : code;
    code = code == NPU_OK ? begin_move(pccx, page, pccx->board.windows[window].address + offset, bytes, error) : code;
    code = code == NPU_OK ? push(pccx, word, error) : code;
    return code == NPU_OK ? end_move(pccx, page, error) : code;
}

static npu_code carry_out(npu_pccx *pccx, uint64_t word, uint32_t index, npu_error *error)
{
    if (word >> 60 == MEMCPY) {
        return copy(pccx, word, index, error);
    }
    if (word >> 60 == MEMSET && field(word, 58, 2) == 0) {
        pccx->elements[field(word, 52, 6)] = field(word, 36, 16) * field(word, 20, 16) * field(word, 4, 16);
    }
    npu_code code = push(pccx, word, error);
    return code == NPU_OK ? wait_until_idle(pccx, index, error) : code;
}

npu_code npu_pccx_run(npu_pccx *pccx, npu_error *error)
{
    if (!pccx->open) {
        return npu_fail(error, NPU_STATE, "the board is not open, or failed: reset the device and open it again", "pccx", 0, 0, 0);
    }
    npu_code code = NPU_OK;
    for (uint32_t index = 0; code == NPU_OK && index < pccx->program->words; index++) {
        code = carry_out(pccx, word_at(pccx->program, index), index, error);
    }
    pccx->open = code == NPU_OK;
    return code;
}
