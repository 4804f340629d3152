#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

npu_code tool_open(const char *path, tool_file *file, npu_error *error)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        (uint64_t)status.st_size > SIZE_MAX) {
        int why = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        return npu_fail(error, NPU_SYSTEM, "the file cannot be read", path, 0, 0, (uint64_t)why);
    }
    file->length = (size_t)status.st_size;
    file->bytes = "";
    if (file->length > 0) {
        file->bytes = mmap(NULL, file->length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    int why = errno;
    close(descriptor);
    if (file->bytes == MAP_FAILED) {
        return npu_fail(error, NPU_SYSTEM, "the file cannot be mapped", path, 0, file->length, (uint64_t)why);
    }
    return NPU_OK;
}

bool tool_beside(const char *path, npu_text name, char *to, size_t size)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (folder >= size) {
        return false;
    }
    memcpy(to, path, folder);
    return npu_text_copy(name, to + folder, size - folder) && strchr(to + folder, '/') == NULL && to[folder] != '\0';
}

bool tool_with_ending(const char *path, const char *ending, const char *other, char *to, size_t size)
{
    size_t length = strlen(path);
    size_t cut = strlen(ending);
    if (length < cut || strcmp(path + length - cut, ending) != 0 || length - cut + strlen(other) >= size) {
        return false;
    }
    memcpy(to, path, length - cut);
    strcpy(to + length - cut, other);
    return true;
}

npu_code tool_write(const char *path, const void *head, size_t head_bytes, const void *data, size_t bytes,
                    npu_error *error)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return npu_fail(error, NPU_SYSTEM, "the file cannot be written", path, 0, 0, (uint64_t)errno);
    }
    bool written = fwrite(head, 1, head_bytes, file) == head_bytes && fwrite(data, 1, bytes, file) == bytes;
    if (fclose(file) != 0 || !written) {
        return npu_fail(error, NPU_SYSTEM, "the file was not written completely", path, 0, bytes, (uint64_t)errno);
    }
    return NPU_OK;
}

npu_code tool_write_array(const char *path, const npu_array *array, const void *data, npu_error *error)
{
    uint8_t head[NPU_NPY_HEAD];
    size_t length = 0;
    npu_code code = npu_npy_head(array, head, &length, error);
    size_t bytes = (size_t)array->scalars * npu_element_bytes(array->element);
    return code == NPU_OK ? tool_write(path, head, length, data, bytes, error) : code;
}
