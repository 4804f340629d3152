/* Files of the tool: read by mapping, written with stdio. */
#ifndef NPUKIT_TOOLS_FILES_H
#define NPUKIT_TOOLS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "npukit/json.h"
#include "npukit/npy.h"

typedef struct tool_file {
    const void *bytes;
    size_t length;
} tool_file;

/* Maps a whole file. The mapping remains until the process ends. */
npu_code tool_open(const char *path, tool_file *file, npu_error *error);
/* Path of a file next to another; false if it does not fit, or is not a plain name. */
bool tool_beside(const char *path, npu_text name, char *to, size_t size);
/* Path with its extension replaced; false if it has another extension, or does not fit. */
bool tool_with_ending(const char *path, const char *ending, const char *other, char *to, size_t size);
/* Writes an `.npy` of the array with the given data. */
npu_code tool_write_array(const char *path, const npu_array *array, const void *data, npu_error *error);
npu_code tool_write(const char *path, const void *head, size_t head_bytes, const void *data, size_t bytes,
                    npu_error *error);

#endif
