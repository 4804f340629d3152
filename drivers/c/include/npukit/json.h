/* JSON reader without allocation: the text is checked once, then values are found in it.
 *
 * A value is a span of the text, which must remain at its address. Sizes are limited by the text, nesting by 32. */
#ifndef NPUKIT_JSON_H
#define NPUKIT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npukit/error.h"

typedef enum npu_json_kind {
    NPU_JSON_NULL,
    NPU_JSON_BOOLEAN,
    NPU_JSON_NUMBER,
    NPU_JSON_STRING,
    NPU_JSON_ARRAY,
    NPU_JSON_OBJECT
} npu_json_kind;

typedef struct npu_json {
    const char *file; /* the whole text, for offsets in errors */
    const char *text; /* first character of the value */
    size_t length;    /* length of the value in characters */
    npu_json_kind kind;
} npu_json;

/* A string of the text, with its escapes. `text` points after the opening quote. */
typedef struct npu_text {
    const char *text;
    size_t length;
} npu_text;

/* Checks the whole text, which must be one value. Returns NPU_SYNTAX with the offset of the first invalid byte. */
npu_code npu_json_parse(const void *text, size_t length, npu_json *value, npu_error *error);

/* Finds a member of an object. Returns NPU_MANIFEST if it is missing or occurs twice, or if the value is not an
 * object. */
npu_code npu_json_member(const npu_json *object, const char *key, npu_json *value, npu_error *error);
/* Whether an object has the member; false for other values. */
bool npu_json_has(const npu_json *object, const char *key);

/* Iterates over the elements of an array; start with a zeroed cursor. Returns false after the last one, and for other
 * values. */
typedef struct npu_json_cursor {
    size_t at;
} npu_json_cursor;
bool npu_json_next(const npu_json *array, npu_json_cursor *cursor, npu_json *value);
/* Number of elements of an array; 0 for other values. */
size_t npu_json_count(const npu_json *array);

/* Members by type; `key` names them in errors. */
npu_code npu_json_array(const npu_json *object, const char *key, npu_json *value, npu_error *error);
npu_code npu_json_object(const npu_json *object, const char *key, npu_json *value, npu_error *error);
npu_code npu_json_text(const npu_json *object, const char *key, npu_text *text, npu_error *error);
npu_code npu_json_flag(const npu_json *object, const char *key, bool *flag, npu_error *error);
/* A number without sign, point and exponent, at most `most`. */
npu_code npu_json_number(const npu_json *object, const char *key, uint64_t most, uint64_t *number,
                         npu_error *error);
/* Like npu_json_number; the number may also be a text in hexadecimal digits, as "0x40400000". */
npu_code npu_json_address(const npu_json *object, const char *key, uint64_t most, uint64_t *number,
                          npu_error *error);
/* Like npu_json_number, for a value itself. */
npu_code npu_json_to_number(const npu_json *value, const char *key, uint64_t most, uint64_t *number,
                            npu_error *error);

/* Whether the unescaped string equals `words`. */
bool npu_text_is(npu_text text, const char *words);
/* Whether two unescaped strings are equal. */
bool npu_text_same(npu_text a, npu_text b);
/* Copies the unescaped string as UTF-8 with a terminating zero. Returns false if it does not fit. */
bool npu_text_copy(npu_text text, char *to, size_t size);

#endif
