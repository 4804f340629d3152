#include "npukit/drra.h"

#include <string.h>

enum { WORD_DIGITS = 32, ROW_DIGITS = 256, ELEMENTS = 16 };

/* ---- lines ---- */

typedef struct lines {
    const char *text;
    size_t length;
    size_t at;
    uint64_t number; /* line number of the last line, from 1 */
} lines;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads the next nonempty line, without surrounding spaces; false after the last one. */
static bool next_line(lines *all, const char **line, size_t *length)
{
    while (all->at < all->length) {
        const char *start = all->text + all->at;
        const char *end = memchr(start, '\n', all->length - all->at);
        size_t size = end != NULL ? (size_t)(end - start) : all->length - all->at;
        all->at += size + 1;
        all->number++;
        while (size > 0 && is_space(start[0])) {
            start++;
            size--;
        }
        while (size > 0 && is_space(start[size - 1])) {
            size--;
        }
        if (size > 0) {
            *line = start;
            *length = size;
            return true;
        }
    }
    return false;
}

static npu_code wrong(const lines *all, const char *what, npu_error *error)
{
    return npu_fail(error, NPU_SYNTAX, what, "line", all->number, 0, 0);
}

static bool take_number(const char *line, size_t length, size_t *at, uint32_t *number)
{
    uint64_t sum = 0;
    size_t first;
    while (*at < length && is_space(line[*at])) {
        (*at)++;
    }
    for (first = *at; *at < length && line[*at] >= '0' && line[*at] <= '9' && sum <= UINT32_MAX; (*at)++) {
        sum = sum * 10 + (uint64_t)(line[*at] - '0');
    }
    *number = (uint32_t)sum;
    return *at > first && sum <= UINT32_MAX;
}

static int digit(char c, bool binary)
{
    if (c == '0' || c == '1') {
        return c - '0';
    }
    if (binary) {
        return -1;
    }
    if (c >= '2' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Converts digits to 16-bit numbers, most significant first. There are `binary` binary or `binary` / 4 hexadecimal
 * digits. */
static bool take_halves(const char *text, size_t length, size_t binary, uint16_t *halves)
{
    bool is_binary = length == binary;
    size_t each = is_binary ? 16 : 4;
    if (!is_binary && length != binary / 4) {
        return false;
    }
    for (size_t half = 0; half < binary / 16; half++) {
        unsigned value = 0;
        for (size_t i = 0; i < each; i++) {
            int known = digit(text[half * each + i], is_binary);
            if (known < 0) {
                return false;
            }
            value = value * (is_binary ? 2U : 16U) + (unsigned)known;
        }
        halves[half] = (uint16_t)value;
    }
    return true;
}

/* ---- programs ---- */

/* A program is read twice: it is checked completely before it is sent. */
typedef struct program {
    npu_drra *drra;
    bool sends;
    bool listed[NPU_DRRA_MOST_CELLS];
    bool within;
    uint32_t row, column, words;
} program;

static npu_code begin_cell(program *to, const lines *all, const char *line, size_t length, npu_error *error)
{
    size_t at = 4;
    const npu_drra_fabric *fabric = &to->drra->fabric;
    bool read = length > 4 && is_space(line[4]) && take_number(line, length, &at, &to->row) &&
                take_number(line, length, &at, &to->column) && at == length;
    if (!read) {
        return wrong(all, "must be `cell ROW COLUMN`", error);
    }
    if (to->row >= fabric->rows || to->column >= fabric->columns) {
        return npu_fail(error, NPU_RANGE, "the cell is outside the fabric", "line", all->number,
                        (uint64_t)fabric->rows << 32 | fabric->columns, (uint64_t)to->row << 32 | to->column);
    }
    bool *listed = &to->listed[to->row * fabric->columns + to->column];
    if (*listed) {
        return wrong(all, "the cell is listed twice", error);
    }
    *listed = true;
    to->within = true;
    to->words = 0;
    return NPU_OK;
}

static npu_code take_word(program *to, const lines *all, const char *line, size_t length, npu_error *error)
{
    uint16_t halves[2];
    const npu_drra *drra = to->drra;
    if (!to->within || !take_halves(line, length, WORD_DIGITS, halves)) {
        return wrong(all, "must be `cell ROW COLUMN`, or 32 binary or 8 hexadecimal digits after one", error);
    }
    if (to->words == drra->fabric.words) {
        return npu_fail(error, NPU_RANGE, "too many words for a cell", "line", all->number, drra->fabric.words,
                        to->words + 1);
    }
    uint32_t word = (uint32_t)halves[0] << 16 | halves[1];
    uint32_t address = to->words++;
    return to->sends ? drra->port.load(drra->port.context, to->row, to->column, address, word, error) : NPU_OK;
}

static npu_code go_through(program *to, const void *text, size_t length, npu_error *error)
{
    lines all = {text, length, 0, 0};
    const char *line;
    size_t size;
    npu_code code = NPU_OK;
    while (code == NPU_OK && next_line(&all, &line, &size)) {
        bool is_cell = size >= 4 && memcmp(line, "cell", 4) == 0;
        code = is_cell ? begin_cell(to, &all, line, size, error) : take_word(to, &all, line, size, error);
    }
    return code;
}

npu_code npu_drra_load(npu_drra *drra, const void *text, size_t length, npu_error *error)
{
    program check = {.drra = drra};
    program sent = {.drra = drra, .sends = true};
    drra->loaded = false;
    npu_code code = go_through(&check, text, length, error);
    code = code == NPU_OK ? go_through(&sent, text, length, error) : code;
    for (uint32_t cell = 0; code == NPU_OK && cell < drra->fabric.rows * drra->fabric.columns; cell++) {
        if (!check.listed[cell]) {
            uint32_t row = cell / drra->fabric.columns;
            code = drra->port.load(drra->port.context, row, cell % drra->fabric.columns, 0, 0, error);
        }
    }
    drra->loaded = code == NPU_OK;
    return code;
}

/* ---- buffers ---- */

static npu_code check_row(const char *name, uint32_t row, uint32_t rows, npu_error *error)
{
    return row < rows ? NPU_OK : npu_fail(error, NPU_RANGE, "the row is outside the buffer", name, row, rows, row);
}

npu_code npu_drra_write_row(npu_drra *drra, uint32_t row, const int16_t *elements, npu_error *error)
{
    uint8_t bytes[NPU_DRRA_ROW_BYTES];
    npu_code code = check_row("input buffer", row, drra->fabric.input_rows, error);
    for (size_t i = 0; i < ELEMENTS; i++) {
        unsigned bits = (unsigned)elements[i] & 0xFFFFU;
        bytes[2 * i] = (uint8_t)(bits & 0xFFU);
        bytes[2 * i + 1] = (uint8_t)(bits >> 8);
    }
    return code == NPU_OK ? drra->port.write_input(drra->port.context, row, bytes, error) : code;
}

npu_code npu_drra_read_row(npu_drra *drra, uint32_t row, int16_t *elements, npu_error *error)
{
    uint8_t bytes[NPU_DRRA_ROW_BYTES] = {0};
    npu_code code = check_row("output buffer", row, drra->fabric.output_rows, error);
    code = code == NPU_OK ? drra->port.read_output(drra->port.context, row, bytes, error) : code;
    for (size_t i = 0; code == NPU_OK && i < ELEMENTS; i++) {
        int bits = bytes[2 * i] | bytes[2 * i + 1] << 8;
        elements[i] = (int16_t)(bits < 0x8000 ? bits : bits - 0x10000);
    }
    return code;
}

npu_code npu_drra_write_image(npu_drra *drra, const void *text, size_t length, uint32_t *count, npu_error *error)
{
    lines all = {text, length, 0, 0};
    const char *line;
    size_t size;
    uint32_t written = 0;
    npu_code code = NPU_OK;
    while (code == NPU_OK && next_line(&all, &line, &size)) {
        uint16_t halves[ELEMENTS];
        int16_t elements[ELEMENTS];
        uint32_t row = 0;
        size_t at = 0;
        bool read = take_number(line, size, &at, &row) && at < size && is_space(line[at]);
        while (read && is_space(line[at])) {
            at++;
        }
        if (!read || !take_halves(line + at, size - at, ROW_DIGITS, halves)) {
            return wrong(&all, "must be a row's number and 256 binary or 64 hexadecimal digits", error);
        }
        for (size_t i = 0; i < ELEMENTS; i++) {
            /* The last digits are element 0. */
            int bits = halves[ELEMENTS - 1 - i];
            elements[i] = (int16_t)(bits < 0x8000 ? bits : bits - 0x10000);
        }
        code = npu_drra_write_row(drra, row, elements, error);
        written++;
    }
    if (count != NULL) {
        *count = written;
    }
    return code;
}

/* ---- running ---- */

npu_code npu_drra_open(npu_drra *drra, const npu_hal *hal, npu_drra_port port, npu_drra_fabric fabric,
                       uint32_t timeout_us, npu_error *error)
{
    bool given = port.load != NULL && port.call != NULL && port.returned != NULL && port.write_input != NULL &&
                 port.read_output != NULL && hal != NULL && hal->now_us != NULL && timeout_us != 0;
    if (!given) {
        return npu_fail(error, NPU_ARGUMENT, "all functions of the port, a clock and a time limit must be given", "drra", 0, 0, 0);
    }
    if (fabric.rows == 0 || fabric.columns == 0 || fabric.rows > NPU_DRRA_MOST_CELLS ||
        fabric.columns > NPU_DRRA_MOST_CELLS / fabric.rows || fabric.words == 0) {
        return npu_fail(error, NPU_ARGUMENT, "a fabric has 1 to 256 cells, with memory for instructions", "drra", fabric.rows,
                        NPU_DRRA_MOST_CELLS, fabric.columns);
    }
    npu_drra fresh = {hal, port, fabric, timeout_us, false};
    *drra = fresh;
    return NPU_OK;
}

npu_code npu_drra_run(npu_drra *drra, npu_error *error)
{
    if (!drra->loaded) {
        return npu_fail(error, NPU_STATE, "no program is loaded, or the last one did not return", "drra", 0, 0, 0);
    }
    npu_code code = drra->port.call(drra->port.context, error);
    npu_deadline deadline = npu_deadline_begin(drra->hal, drra->timeout_us);
    for (uint32_t row = 0; code == NPU_OK && row < drra->fabric.rows;) {
        bool returned = false;
        code = drra->port.returned(drra->port.context, row, &returned, error);
        if (code == NPU_OK && returned) {
            row++;
        } else if (code == NPU_OK && npu_deadline_passed(&deadline)) {
            code = npu_fail(error, NPU_TIMEOUT, "a row does not return", "row", row, drra->timeout_us, 0);
        }
    }
    drra->loaded = code == NPU_OK;
    return code;
}
