/* How a tensor of the model lies in vectors of the machine.
 *
 * Axis i of the packed tensor is axis perm[i] of the model's. Its scalars, in row-major order, are cut into groups of
 * `channels`; each group fills vectors of N lanes, the last one up with zeros. Source: the TCU specification, 6.3. */
#ifndef NPUKIT_LAYOUT_H
#define NPUKIT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "npukit/error.h"

enum { NPU_MOST_AXES = 8 };
enum { NPU_MOST_EXPONENT = 64 }; /* either way */

typedef struct npu_layout {
    uint32_t rank;
    uint64_t shape[NPU_MOST_AXES]; /* the model's */
    uint32_t perm[NPU_MOST_AXES];
    uint64_t channels;
    int32_t exponent; /* what lies in memory is the model's value divided by two to this power */
} npu_layout;

/* The layout of `scalars` scalars that lie as they come, `lanes` in a vector. */
npu_layout npu_layout_flat(uint64_t scalars, uint64_t lanes);

/* Whether the layout agrees with itself; its scalars, and the vectors of `lanes` lanes that it takes. */
npu_code npu_layout_check(const npu_layout *layout, uint64_t lanes, uint64_t *scalars, uint64_t *vectors,
                          npu_error *error);

/* Walks the lanes of the packed tensor in order. */
typedef struct npu_layout_walk {
    const npu_layout *layout;
    uint64_t lanes;
    uint64_t strides[NPU_MOST_AXES]; /* of the packed tensor's axes, in the model's scalars */
    uint64_t at[NPU_MOST_AXES];
    uint64_t place;   /* of the next scalar in the model's tensor */
    uint64_t channel; /* within its group */
} npu_layout_walk;

npu_layout_walk npu_layout_begin(const npu_layout *layout, uint64_t lanes);
/* The next lane: true, and the place of its scalar in the model's tensor; false for one that is filled with zero. */
bool npu_layout_lane(npu_layout_walk *walk, uint64_t *place);

#endif
