/* Reader of the TOML that npukit writes, without allocation: tables, lists of tables, and keys with a string, an
 * integer or an array of integers on one line. Other values are skipped. It reads line by line. */
#ifndef NPUKIT_TOML_H
#define NPUKIT_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npukit/error.h"
#include "npukit/json.h"

typedef enum npu_toml_kind {
    NPU_TOML_TABLE, /* [name] */
    NPU_TOML_LIST,  /* [[name]] */
    NPU_TOML_PAIR,  /* name = value */
    NPU_TOML_END
} npu_toml_kind;

typedef struct npu_toml {
    const char *text;
    size_t length;
    size_t at;
    uint64_t line; /* line of the last item, from 1 */
} npu_toml;

typedef struct npu_toml_item {
    npu_toml_kind kind;
    npu_text name;
    npu_text value; /* as in the file, without surrounding spaces */
} npu_toml_item;

npu_toml npu_toml_begin(const void *text, size_t length);
/* Reads the next item. Returns NPU_SYNTAX with the line. */
npu_code npu_toml_next(npu_toml *reader, npu_toml_item *item, npu_error *error);

/* Values of the reader's current item. They return NPU_MANIFEST with the line. */
npu_code npu_toml_text(const npu_toml *reader, const npu_toml_item *item, npu_text *text, npu_error *error);
npu_code npu_toml_number(const npu_toml *reader, const npu_toml_item *item, int64_t least, int64_t most,
                         int64_t *number, npu_error *error);
/* At most `room` numbers from 0 to 2^32 - 1. */
npu_code npu_toml_numbers(const npu_toml *reader, const npu_toml_item *item, uint64_t *numbers, size_t room,
                          size_t *count, npu_error *error);

#endif
