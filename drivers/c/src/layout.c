#include "npukit/layout.h"

npu_layout npu_layout_flat(uint64_t scalars, uint64_t lanes)
{
    npu_layout layout = {1, {scalars}, {0}, lanes, 0};
    return layout;
}

/* Computes the product; false on overflow. */
static bool times(uint64_t a, uint64_t b, uint64_t *product)
{
    *product = a * b;
    return b == 0 || a <= UINT64_MAX / b;
}

npu_code npu_layout_check(const npu_layout *layout, uint64_t lanes, uint64_t *scalars, uint64_t *vectors,
                          npu_error *error)
{
    uint64_t total = 1;
    uint32_t seen = 0;
    if (layout->rank > NPU_MOST_AXES) {
        return npu_fail(error, NPU_CAPACITY, "a tensor has at most 8 axes", "model_shape", 0, NPU_MOST_AXES, layout->rank);
    }
    for (uint32_t axis = 0; axis < layout->rank; axis++) {
        uint32_t from = layout->perm[axis];
        if (from >= layout->rank || (seen >> from & 1U) != 0) {
            return npu_fail(error, NPU_MANIFEST, "is not a permutation of the axes", "perm", axis, layout->rank, from);
        }
        seen |= 1U << from;
        if (!times(total, layout->shape[axis], &total)) {
            return npu_fail(error, NPU_MANIFEST, "the number of scalars exceeds 64 bits", "model_shape", axis, 0,
                            layout->shape[axis]);
        }
    }
    if (layout->exponent > NPU_MOST_EXPONENT || layout->exponent < -NPU_MOST_EXPONENT) {
        return npu_fail(error, NPU_MANIFEST, "must be a number from -64 to 64", "exponent", 0, NPU_MOST_EXPONENT,
                        (uint64_t)(int64_t)layout->exponent);
    }
    if (lanes == 0 || layout->channels == 0 || total % layout->channels != 0) {
        return npu_fail(error, NPU_MANIFEST, "does not divide the number of scalars", "channels", lanes, total,
                        layout->channels);
    }
    uint64_t each = layout->channels / lanes + (layout->channels % lanes != 0 ? 1 : 0);
    if (!times(total / layout->channels, each, vectors)) {
        return npu_fail(error, NPU_MANIFEST, "the number of vectors exceeds 64 bits", "model_shape", 0, 0, total);
    }
    *scalars = total;
    return NPU_OK;
}

npu_layout_walk npu_layout_begin(const npu_layout *layout, uint64_t lanes)
{
    uint64_t rest = layout->channels % lanes;
    uint64_t padded = rest == 0 ? layout->channels : layout->channels + (lanes - rest);
    npu_layout_walk walk = {layout, padded, {0}, {0}, 0, 0};
    for (uint32_t axis = 0; axis < layout->rank; axis++) {
        uint64_t stride = 1;
        for (uint32_t inner = layout->perm[axis] + 1; inner < layout->rank; inner++) {
            stride *= layout->shape[inner];
        }
        walk.strides[axis] = stride;
    }
    return walk;
}

/* Advances to the next scalar in the packed order. */
static void advance(npu_layout_walk *walk)
{
    const npu_layout *layout = walk->layout;
    for (uint32_t axis = layout->rank; axis-- > 0;) {
        uint64_t size = layout->shape[layout->perm[axis]];
        walk->place += walk->strides[axis];
        if (++walk->at[axis] < size) {
            return;
        }
        walk->place -= walk->strides[axis] * size;
        walk->at[axis] = 0;
    }
}

bool npu_layout_lane(npu_layout_walk *walk, uint64_t *place)
{
    uint64_t channels = walk->layout->channels;
    uint64_t channel = walk->channel++;
    if (walk->channel >= walk->padded) {
        walk->channel = 0;
    }
    if (channel >= channels) {
        return false;
    }
    *place = walk->place;
    advance(walk);
    return true;
}
