#include "npukit/json.h"

#include <string.h>

enum { DEEPEST = 32 };

/* ---- the check of a whole text ---- */

typedef struct scanner {
    const char *text;
    size_t length;
    size_t at;
    const char *wrong; /* description of the defect at `at`; NULL if there is none */
} scanner;

static bool ends(const scanner *scan)
{
    return scan->at >= scan->length;
}

/* Current character; zero at the end, which is never legal in JSON. */
static char look(const scanner *scan)
{
    return ends(scan) ? '\0' : scan->text[scan->at];
}

static void blame(scanner *scan, const char *wrong)
{
    if (scan->wrong == NULL) {
        scan->wrong = wrong;
    }
}

static void skip_space(scanner *scan)
{
    while (!ends(scan) && strchr(" \t\r\n", scan->text[scan->at]) != NULL && scan->text[scan->at] != '\0') {
        scan->at++;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hexadecimal(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void scan_digits(scanner *scan)
{
    if (!is_digit(look(scan))) {
        blame(scan, "a digit is missing");
    }
    while (is_digit(look(scan))) {
        scan->at++;
    }
}

static void scan_number(scanner *scan)
{
    if (look(scan) == '-') {
        scan->at++;
    }
    if (look(scan) == '0') {
        scan->at++;
    } else {
        scan_digits(scan);
    }
    if (look(scan) == '.') {
        scan->at++;
        scan_digits(scan);
    }
    if (look(scan) == 'e' || look(scan) == 'E') {
        scan->at++;
        if (look(scan) == '+' || look(scan) == '-') {
            scan->at++;
        }
        scan_digits(scan);
    }
}

static void scan_escape(scanner *scan)
{
    scan->at++;
    char c = look(scan);
    if (c == 'u') {
        for (int digit = 0; digit < 4; digit++) {
            scan->at++;
            if (hexadecimal(look(scan)) < 0) {
                blame(scan, "an escape \\u needs four hexadecimal digits");
                return;
            }
        }
    } else if (c == '\0' || strchr("\"\\/bfnrt", c) == NULL) {
        blame(scan, "an invalid escape");
        return;
    }
    scan->at++;
}

static void scan_string(scanner *scan)
{
    scan->at++;
    while (scan->wrong == NULL && look(scan) != '"') {
        if (ends(scan)) {
            blame(scan, "a string does not end");
        } else if ((unsigned char)look(scan) < 0x20) {
            blame(scan, "a control character in a string");
        } else if (look(scan) == '\\') {
            scan_escape(scan);
        } else {
            scan->at++;
        }
    }
    if (scan->wrong == NULL) {
        scan->at++; /* the closing quote */
    }
}

static void scan_word(scanner *scan, const char *word)
{
    size_t length = strlen(word);
    if (scan->length - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0) {
        blame(scan, "expected a value or the end of a list");
        return;
    }
    scan->at += length;
}

static void scan_scalar(scanner *scan)
{
    switch (look(scan)) {
    case '"': scan_string(scan); break;
    case 't': scan_word(scan, "true"); break;
    case 'f': scan_word(scan, "false"); break;
    case 'n': scan_word(scan, "null"); break;
    default:
        if (look(scan) == '-' || is_digit(look(scan))) {
            scan_number(scan);
        } else {
            blame(scan, "a value is missing");
        }
    }
}

static void scan_key(scanner *scan)
{
    skip_space(scan);
    if (look(scan) != '"') {
        blame(scan, "a key is missing");
        return;
    }
    scan_string(scan);
    skip_space(scan);
    if (scan->wrong == NULL && look(scan) != ':') {
        blame(scan, "a colon is missing");
        return;
    }
    scan->at++;
}

/* Checks one value with everything in it. `open` holds the closing characters of the enclosing lists. */
static void scan_value(scanner *scan)
{
    char open[DEEPEST];
    size_t depth = 0;
    do {
        skip_space(scan);
        char c = look(scan);
        bool opened = false;
        if (c == '[' || c == '{') {
            if (depth == DEEPEST) {
                blame(scan, "values are nested deeper than 32");
                return;
            }
            open[depth++] = c == '[' ? ']' : '}';
            scan->at++;
            skip_space(scan);
            opened = look(scan) != open[depth - 1];
            if (opened && open[depth - 1] == '}') {
                scan_key(scan);
            }
        } else {
            scan_scalar(scan);
        }
        while (!opened && scan->wrong == NULL && depth > 0) {
            skip_space(scan);
            if (look(scan) == open[depth - 1]) {
                scan->at++;
                depth--;
            } else if (look(scan) == ',') {
                scan->at++;
                if (open[depth - 1] == '}') {
                    scan_key(scan);
                }
                opened = true;
            } else {
                blame(scan, "a comma or the end of a list is missing");
            }
        }
    } while (scan->wrong == NULL && depth > 0);
}

static npu_json_kind kind_of(char first)
{
    switch (first) {
    case '{': return NPU_JSON_OBJECT;
    case '[': return NPU_JSON_ARRAY;
    case '"': return NPU_JSON_STRING;
    case 't':
    case 'f': return NPU_JSON_BOOLEAN;
    case 'n': return NPU_JSON_NULL;
    default: return NPU_JSON_NUMBER;
    }
}

npu_code npu_json_parse(const void *text, size_t length, npu_json *value, npu_error *error)
{
    if (text == NULL || value == NULL) {
        return npu_fail(error, NPU_ARGUMENT, "`text` and `value` must not be null", "JSON", 0, 0, 0);
    }
    scanner scan = {text, length, 0, NULL};
    skip_space(&scan);
    size_t start = scan.at;
    scan_value(&scan);
    size_t end = scan.at;
    if (scan.wrong == NULL) {
        skip_space(&scan);
        if (!ends(&scan)) {
            blame(&scan, "something follows the value");
        }
    }
    if (scan.wrong != NULL) {
        uint64_t actual = ends(&scan) ? 0 : (unsigned char)look(&scan);
        return npu_fail(error, NPU_SYNTAX, scan.wrong, "JSON", scan.at, 0, actual);
    }
    value->file = text;
    value->text = scan.text + start;
    value->length = end - start;
    value->kind = kind_of(*value->text);
    return NPU_OK;
}

/* ---- values of a text that was checked ---- */

/* Reads the value at the current place, and moves after it. */
static npu_json value_at(const npu_json *within, scanner *scan)
{
    skip_space(scan);
    size_t start = scan->at;
    scan_value(scan);
    npu_json value = {within->file, within->text + start, scan->at - start, kind_of(within->text[start])};
    return value;
}

/* Moves after the comma to the next element; false at the end of the list. */
static bool at_element(scanner *scan)
{
    skip_space(scan);
    if (look(scan) == ',') {
        scan->at++;
        skip_space(scan);
    }
    return look(scan) != ']' && look(scan) != '}' && !ends(scan);
}

static uint64_t offset_of(const npu_json *value)
{
    return (uint64_t)(value->text - value->file);
}

static npu_text string_of(const npu_json *value)
{
    npu_text text = {value->text + 1, value->length - 2};
    return text;
}

/* Counts the occurrences of a key in an object; `value` receives the first one. */
static size_t find(const npu_json *object, const char *key, npu_json *value)
{
    size_t found = 0;
    if (object->kind != NPU_JSON_OBJECT) {
        return 0;
    }
    scanner scan = {object->text, object->length, 1, NULL};
    while (at_element(&scan)) {
        npu_json name = value_at(object, &scan);
        skip_space(&scan);
        scan.at++; /* the colon */
        npu_json member = value_at(object, &scan);
        if (npu_text_is(string_of(&name), key) && found++ == 0 && value != NULL) {
            *value = member;
        }
    }
    return found;
}

bool npu_json_has(const npu_json *object, const char *key)
{
    return find(object, key, NULL) > 0;
}

npu_code npu_json_member(const npu_json *object, const char *key, npu_json *value, npu_error *error)
{
    size_t found = find(object, key, value);
    if (found == 1) {
        return NPU_OK;
    }
    const char *what = found == 0 ? "the key is missing" : "the key occurs more than once";
    return npu_fail(error, NPU_MANIFEST, what, key, offset_of(object), 1, found);
}

bool npu_json_next(const npu_json *array, npu_json_cursor *cursor, npu_json *value)
{
    if (array->kind != NPU_JSON_ARRAY) {
        return false;
    }
    scanner scan = {array->text, array->length, cursor->at == 0 ? 1 : cursor->at, NULL};
    if (!at_element(&scan)) {
        return false;
    }
    *value = value_at(array, &scan);
    cursor->at = scan.at;
    return true;
}

size_t npu_json_count(const npu_json *array)
{
    npu_json_cursor cursor = {0};
    npu_json value;
    size_t count = 0;
    while (npu_json_next(array, &cursor, &value)) {
        count++;
    }
    return count;
}

static npu_code member_of_kind(const npu_json *object, const char *key, npu_json_kind kind, const char *what,
                               npu_json *value, npu_error *error)
{
    npu_code code = npu_json_member(object, key, value, error);
    if (code == NPU_OK && value->kind != kind) {
        code = npu_fail(error, NPU_MANIFEST, what, key, offset_of(value), (uint64_t)kind, (uint64_t)value->kind);
    }
    return code;
}

npu_code npu_json_array(const npu_json *object, const char *key, npu_json *value, npu_error *error)
{
    return member_of_kind(object, key, NPU_JSON_ARRAY, "must be an array", value, error);
}

npu_code npu_json_object(const npu_json *object, const char *key, npu_json *value, npu_error *error)
{
    return member_of_kind(object, key, NPU_JSON_OBJECT, "must be an object", value, error);
}

npu_code npu_json_text(const npu_json *object, const char *key, npu_text *text, npu_error *error)
{
    npu_json value;
    npu_code code = member_of_kind(object, key, NPU_JSON_STRING, "must be a string", &value, error);
    if (code == NPU_OK) {
        *text = string_of(&value);
    }
    return code;
}

npu_code npu_json_flag(const npu_json *object, const char *key, bool *flag, npu_error *error)
{
    npu_json value;
    npu_code code = member_of_kind(object, key, NPU_JSON_BOOLEAN, "must be true or false", &value, error);
    if (code == NPU_OK) {
        *flag = *value.text == 't';
    }
    return code;
}

npu_code npu_json_to_number(const npu_json *value, const char *key, uint64_t most, uint64_t *number,
                            npu_error *error)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < value->length; at++) {
        char c = value->text[at];
        if (value->kind != NPU_JSON_NUMBER || !is_digit(c)) {
            return npu_fail(error, NPU_MANIFEST, "must be a number without sign, point and exponent", key,
                            offset_of(value) + at, 0, (unsigned char)c);
        }
        uint64_t digit = (uint64_t)(c - '0');
        if (sum > (most - digit) / 10 || digit > most) {
            return npu_fail(error, NPU_MANIFEST, "is too large", key, offset_of(value), most, sum);
        }
        sum = sum * 10 + digit;
    }
    *number = sum;
    return NPU_OK;
}

npu_code npu_json_number(const npu_json *object, const char *key, uint64_t most, uint64_t *number,
                         npu_error *error)
{
    npu_json value;
    npu_code code = npu_json_member(object, key, &value, error);
    return code == NPU_OK ? npu_json_to_number(&value, key, most, number, error) : code;
}

static npu_code to_address(const npu_json *value, npu_text text, const char *key, uint64_t most, uint64_t *number,
                           npu_error *error)
{
    uint64_t sum = 0;
    bool is_address = text.length > 2 && text.text[0] == '0' && text.text[1] == 'x';
    for (size_t at = 2; is_address && at < text.length; at++) {
        int found = hexadecimal(text.text[at]);
        uint64_t digit = (uint64_t)(found < 0 ? 0 : found);
        if (digit > most || sum > (most - digit) / 16) {
            return npu_fail(error, NPU_MANIFEST, "is too large", key, offset_of(value), most, sum);
        }
        sum = sum * 16 + digit;
        is_address = found >= 0;
    }
    if (!is_address) {
        return npu_fail(error, NPU_MANIFEST, "must be a number, or a text such as \"0x40400000\"", key,
                        offset_of(value), 0, 0);
    }
    *number = sum;
    return NPU_OK;
}

npu_code npu_json_address(const npu_json *object, const char *key, uint64_t most, uint64_t *number,
                          npu_error *error)
{
    npu_json value;
    npu_text text;
    npu_code code = npu_json_member(object, key, &value, error);
    if (code != NPU_OK) {
        return code;
    }
    if (npu_json_text(object, key, &text, NULL) == NPU_OK) {
        return to_address(&value, text, key, most, number, error);
    }
    return npu_json_to_number(&value, key, most, number, error);
}

/* ---- strings ---- */

/* Iterator over the unescaped bytes of a string, as UTF-8. */
typedef struct reader {
    npu_text text;
    size_t at;
    unsigned char held[4]; /* bytes of the last escape; the next one is at `next` */
    size_t next, end;
} reader;

static uint32_t four_digits(npu_text text, size_t at)
{
    uint32_t value = 0;
    for (size_t digit = 0; digit < 4; digit++) {
        int known = at + digit < text.length ? hexadecimal(text.text[at + digit]) : 0;
        value = value * 16 + (uint32_t)(known < 0 ? 0 : known);
    }
    return value;
}

static void hold(reader *read, uint32_t point)
{
    read->next = 0;
    if (point < 0x80) {
        read->held[0] = (unsigned char)point;
        read->end = 1;
    } else if (point < 0x800) {
        read->held[0] = (unsigned char)(0xC0 | point >> 6);
        read->held[1] = (unsigned char)(0x80 | (point & 0x3F));
        read->end = 2;
    } else if (point < 0x10000) {
        read->held[0] = (unsigned char)(0xE0 | point >> 12);
        read->held[1] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        read->held[2] = (unsigned char)(0x80 | (point & 0x3F));
        read->end = 3;
    } else {
        read->held[0] = (unsigned char)(0xF0 | point >> 18);
        read->held[1] = (unsigned char)(0x80 | (point >> 12 & 0x3F));
        read->held[2] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        read->held[3] = (unsigned char)(0x80 | (point & 0x3F));
        read->end = 4;
    }
}

/* Decodes an escape \u, or two that form one character. */
static void undo_unicode(reader *read)
{
    npu_text text = read->text;
    uint32_t point = four_digits(text, read->at);
    read->at += 4;
    bool high = point >= 0xD800 && point < 0xDC00;
    if (high && read->at + 6 <= text.length && text.text[read->at] == '\\' && text.text[read->at + 1] == 'u') {
        uint32_t low = four_digits(text, read->at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            point = 0x10000 + ((point - 0xD800) << 10 | (low - 0xDC00));
            read->at += 6;
        }
    }
    hold(read, point);
}

/* Returns the next byte; -1 at the end. */
static int next_byte(reader *read)
{
    if (read->next < read->end) {
        return read->held[read->next++];
    }
    if (read->at >= read->text.length) {
        return -1;
    }
    unsigned char c = (unsigned char)read->text.text[read->at++];
    if (c != '\\' || read->at >= read->text.length) {
        return c;
    }
    char escape = read->text.text[read->at++];
    switch (escape) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': undo_unicode(read); return next_byte(read);
    default: return (unsigned char)escape;
    }
}

bool npu_text_is(npu_text text, const char *words)
{
    reader read = {text, 0, {0}, 0, 0};
    int byte;
    while ((byte = next_byte(&read)) >= 0) {
        if (*words == '\0' || byte != (unsigned char)*words) {
            return false;
        }
        words++;
    }
    return *words == '\0';
}

bool npu_text_same(npu_text a, npu_text b)
{
    reader one = {a, 0, {0}, 0, 0};
    reader other = {b, 0, {0}, 0, 0};
    int byte;
    do {
        byte = next_byte(&one);
        if (byte != next_byte(&other)) {
            return false;
        }
    } while (byte >= 0);
    return true;
}

bool npu_text_copy(npu_text text, char *to, size_t size)
{
    reader read = {text, 0, {0}, 0, 0};
    int byte;
    size_t at = 0;
    while ((byte = next_byte(&read)) >= 0) {
        if (at + 1 >= size || byte == 0) {
            return false;
        }
        to[at++] = (char)byte;
    }
    if (at >= size) {
        return false;
    }
    to[at] = '\0';
    return true;
}
