#include "npukit/toml.h"

#include <string.h>

npu_toml npu_toml_begin(const void *text, size_t length)
{
    npu_toml reader = {text, length, 0, 0};
    return reader;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static npu_text trimmed(npu_text text)
{
    while (text.length > 0 && is_space(text.text[0])) {
        text.text++;
        text.length--;
    }
    while (text.length > 0 && is_space(text.text[text.length - 1])) {
        text.length--;
    }
    return text;
}

static npu_text part(npu_text text, size_t from, size_t to)
{
    npu_text inner = {text.text + from, to - from};
    return trimmed(inner);
}

/* Reads the next line, without its end; false after the last one. */
static bool next_line(npu_toml *reader, npu_text *line)
{
    if (reader->at >= reader->length) {
        return false;
    }
    const char *start = reader->text + reader->at;
    const char *end = memchr(start, '\n', reader->length - reader->at);
    line->text = start;
    line->length = end != NULL ? (size_t)(end - start) : reader->length - reader->at;
    reader->at += line->length + 1;
    reader->line++;
    *line = trimmed(*line);
    return true;
}

/* Offset after a string that begins at `from`; 0 if it does not end. */
static size_t behind_string(npu_text line, size_t from)
{
    for (size_t at = from + 1; at < line.length; at++) {
        if (line.text[at] == '\\') {
            at++;
        } else if (line.text[at] == '"') {
            return at + 1;
        }
    }
    return 0;
}

static npu_code wrong(const npu_toml *reader, npu_code code, const char *what, npu_error *error)
{
    return npu_fail(error, code, what, "TOML line", reader->line, 0, 0);
}

static npu_code read_header(const npu_toml *reader, npu_text line, npu_toml_item *item, npu_error *error)
{
    bool list = line.length > 1 && line.text[1] == '[';
    size_t edge = list ? 2 : 1;
    bool closed = line.length > 2 * edge && line.text[line.length - 1] == ']' && line.text[line.length - edge] == ']';
    if (!closed) {
        return wrong(reader, NPU_SYNTAX, "a table's name does not end", error);
    }
    item->kind = list ? NPU_TOML_LIST : NPU_TOML_TABLE;
    item->name = part(line, edge, line.length - edge);
    return NPU_OK;
}

static npu_code read_pair(const npu_toml *reader, npu_text line, npu_toml_item *item, npu_error *error)
{
    size_t at = line.text[0] == '"' ? behind_string(line, 0) : 0;
    while (at < line.length && line.text[at] != '=') {
        at++;
    }
    if (at == 0 || at == line.length) {
        return wrong(reader, NPU_SYNTAX, "must be a table or `key = value`", error);
    }
    item->kind = NPU_TOML_PAIR;
    item->name = part(line, 0, at);
    item->value = part(line, at + 1, line.length);
    if (item->value.length == 0) {
        return wrong(reader, NPU_SYNTAX, "a value is missing", error);
    }
    return NPU_OK;
}

npu_code npu_toml_next(npu_toml *reader, npu_toml_item *item, npu_error *error)
{
    npu_text line;
    memset(item, 0, sizeof *item);
    while (next_line(reader, &line)) {
        if (line.length == 0 || line.text[0] == '#') {
            continue;
        }
        return line.text[0] == '[' ? read_header(reader, line, item, error) : read_pair(reader, line, item, error);
    }
    item->kind = NPU_TOML_END;
    return NPU_OK;
}

npu_code npu_toml_text(const npu_toml *reader, const npu_toml_item *item, npu_text *text, npu_error *error)
{
    npu_text value = item->value;
    if (value.length < 2 || value.text[0] != '"' || behind_string(value, 0) != value.length) {
        return wrong(reader, NPU_MANIFEST, "must be a string", error);
    }
    text->text = value.text + 1;
    text->length = value.length - 2;
    return NPU_OK;
}

/* Reads the number at `at`, and moves after it; false if there is none, or one of more than 53 bits. */
static bool digits(npu_text text, size_t *at, int64_t *number)
{
    size_t first = *at;
    *number = 0;
    while (*at < text.length && text.text[*at] >= '0' && text.text[*at] <= '9') {
        *number = *number * 10 + (text.text[(*at)++] - '0');
        if (*number > INT64_C(1) << 53) {
            return false;
        }
    }
    return *at > first;
}

npu_code npu_toml_number(const npu_toml *reader, const npu_toml_item *item, int64_t least, int64_t most,
                         int64_t *number, npu_error *error)
{
    bool negative = item->value.text[0] == '-';
    size_t at = negative ? 1 : 0;
    if (!digits(item->value, &at, number) || at != item->value.length) {
        return wrong(reader, NPU_MANIFEST, "must be an integer", error);
    }
    *number = negative ? -*number : *number;
    if (*number < least || *number > most) {
        return npu_fail(error, NPU_MANIFEST, "the number is out of range", "TOML line", reader->line, (uint64_t)most,
                        (uint64_t)*number);
    }
    return NPU_OK;
}

npu_code npu_toml_numbers(const npu_toml *reader, const npu_toml_item *item, uint64_t *numbers, size_t room,
                          size_t *count, npu_error *error)
{
    npu_text value = item->value;
    size_t at = 1;
    *count = 0;
    if (value.length < 2 || value.text[0] != '[' || value.text[value.length - 1] != ']') {
        return wrong(reader, NPU_MANIFEST, "must be an array on one line", error);
    }
    while (at < value.length - 1) {
        int64_t number = 0;
        if (*count == room) {
            return npu_fail(error, NPU_CAPACITY, "the array has too many numbers", "TOML line", reader->line,
                            room, *count + 1);
        }
        if (!digits(value, &at, &number) || number > UINT32_MAX) {
            return wrong(reader, NPU_MANIFEST, "must be integers below 2^32", error);
        }
        numbers[(*count)++] = (uint64_t)number;
        while (at < value.length - 1 && (is_space(value.text[at]) || value.text[at] == ',')) {
            at++;
        }
    }
    return NPU_OK;
}
