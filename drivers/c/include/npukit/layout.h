/* Layout of a tensor of the model in vectors of the machine.
 *
 * Axis i of the packed tensor is axis perm[i] of the model's. Its scalars, in row-major order, are split into groups of
 * `channels`. Each group fills vectors of N lanes; the last one is padded with zeros. Source: the TCU specification,
 * 6.3. */
#ifndef NPUKIT_LAYOUT_H
#define NPUKIT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "npukit/error.h"

enum { NPU_MOST_AXES = 8 };
enum { NPU_MOST_EXPONENT = 64 }; /* maximum magnitude */

typedef struct npu_layout {
    uint32_t rank;
    uint64_t shape[NPU_MOST_AXES]; /* shape in the model */
    uint32_t perm[NPU_MOST_AXES];
    uint64_t channels;
    int32_t exponent; /* memory holds the model's value divided by two to this power */
} npu_layout;

/* Returns the layout of `scalars` scalars in their given order, `lanes` per vector. */
npu_layout npu_layout_flat(uint64_t scalars, uint64_t lanes);

/* Checks that the layout is consistent; returns its number of scalars, and of vectors of `lanes` lanes. */
npu_code npu_layout_check(const npu_layout *layout, uint64_t lanes, uint64_t *scalars, uint64_t *vectors,
                          npu_error *error);

/* Iterator over the lanes of the packed tensor, in order. */
typedef struct npu_layout_walk {
    const npu_layout *layout;
    uint64_t padded; /* lanes of a group, with its padding */
    uint64_t strides[NPU_MOST_AXES]; /* strides of the packed tensor's axes, in the model's scalars */
    uint64_t at[NPU_MOST_AXES];
    uint64_t place;   /* index of the next scalar in the model's tensor */
    uint64_t channel; /* index within its group */
} npu_layout_walk;

npu_layout_walk npu_layout_begin(const npu_layout *layout, uint64_t lanes);
/* Advances to the next lane. Returns true and the index of its scalar in the model's tensor, or false for a padding
 * lane. */
bool npu_layout_lane(npu_layout_walk *walk, uint64_t *place);

#endif
