"""Generates models of one node and what ONNX Runtime makes of them.

    pip install -r requirements.txt
    python generate.py FOLDER [COUNT] [SEED]
    NPUKIT_ONNX_CASES=FOLDER cargo test -p npukit-import generated

Each case is `NAME.onnx` and `NAME.npz`, which holds `in.*` and `out.*` by value name. Operators
and attributes are drawn at random over all opsets. Left out is where ONNX Runtime departs from
the standard:

- Resize whose sizes stay although a scale is not 1, an axis is cropped or an index maps to the next
  one (it copies); aligned corners of a size that is rounded down (it takes the rounded size);
- SAME padding with dilation (it ignores the dilation) or with a kernel smaller than the stride (it
  crops; ConvTranspose makes less than the size times the stride);
- reductions over no axes of SumSquare and the like (it copies, the standard squares).
"""

import pathlib
import random
import sys

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

OPSETS = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]


class Draw(random.Random):
    """Random numbers, shapes and tensors."""

    def ints(self, count, low, high):
        return [self.randint(low, high) for _ in range(count)]

    def chance(self, probability):
        return self.random() < probability

    def floats(self, *shape):
        count = int(np.prod(shape))
        values = [self.gauss(0, 1) for _ in range(count)]
        return np.array(values, np.float32).reshape(shape)


def int64(values):
    return np.array(values, np.int64)


# Each function gives (operator, attributes, inputs, constants, operand names, number of results);
# None when the draw makes no case.


def window(draw, attributes):
    """Adds strides and padding; whether ONNX Runtime follows the standard, and does with dilation."""
    kernel = attributes["kernel_shape"]
    axes = len(kernel)
    strides = draw.ints(axes, 1, 3)
    attributes["strides"] = strides
    rule = draw.choice(["explicit", "none", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if rule == "explicit":
        attributes["pads"] = [draw.randint(0, kernel[i % axes] - 1) for i in range(2 * axes)]
    elif rule != "none":
        attributes["auto_pad"] = rule
    same = rule.startswith("SAME")
    return not (same and any(k < s for k, s in zip(kernel, strides))), not same


def conv(draw, opset):
    group, axes = draw.choice([1, 1, 2]), draw.choice([1, 2, 2])
    channels, filters = group * draw.randint(1, 3), group * draw.randint(1, 3)
    attributes = {"kernel_shape": draw.ints(axes, 1, 4), "group": group}
    good, may_dilate = window(draw, attributes)
    if may_dilate and draw.chance(0.4):
        attributes["dilations"] = draw.ints(axes, 1, 2)
    constants = {"w": draw.floats(filters, channels // group, *attributes["kernel_shape"])}
    if draw.chance(0.5):
        constants["b"] = draw.floats(filters)
    x = draw.floats(draw.randint(1, 2), channels, *draw.ints(axes, 7, 12))
    return ("Conv", attributes, {"x": x}, constants, ["x", *constants], 1) if good else None


def conv_computed(draw, opset):
    """Weights that are computed, too."""
    case = conv(draw, opset)
    return case and (case[0], case[1], {**case[2], **case[3]}, {}, *case[4:])


def conv_transpose(draw, opset):
    group, axes = draw.choice([1, 1, 2, 3]), draw.choice([1, 2, 2])
    channels = group * draw.randint(1, 3)
    kernel, strides = draw.ints(axes, 1, 4), draw.ints(axes, 1, 3)
    attributes = {"kernel_shape": kernel, "strides": strides, "group": group}
    dilations = draw.ints(axes, 1, 2) if draw.chance(0.4) else [1] * axes
    if draw.chance(0.5):
        attributes["dilations"] = dilations
    else:
        dilations = [1] * axes
    size = draw.ints(axes, 2, 6)
    extra = [draw.randint(0, max(s, d) - 1) for s, d in zip(strides, dilations)]
    if draw.chance(0.4):
        attributes["output_padding"] = extra
    else:
        extra = [0] * axes
    full = [(n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(size, strides, kernel, dilations, extra)]
    rule = draw.choice(["none", "pads", "VALID", "SAME_UPPER", "SAME_LOWER", "shape", "shape"])
    if rule == "pads":
        attributes["pads"] = [draw.randint(0, min(2, full[i % axes] // 3)) for i in range(2 * axes)]
    elif rule == "shape":
        attributes["output_shape"] = [draw.randint(max(1, n - 3), n) for n in full]
        if draw.chance(0.5):
            attributes["auto_pad"] = draw.choice(["SAME_UPPER", "SAME_LOWER"])
    elif rule != "none":
        attributes["auto_pad"] = rule
    if rule.startswith("SAME") and any(whole < n * s for whole, n, s in zip(full, size, strides)):
        return None
    constants = {"w": draw.floats(channels, draw.randint(1, 3), *kernel)}
    if draw.chance(0.5):
        constants["b"] = draw.floats(constants["w"].shape[1] * group)
    x = draw.floats(draw.randint(1, 2), channels, *size)
    return "ConvTranspose", attributes, {"x": x}, constants, ["x", *constants], 1


def pool(draw, opset):
    op, axes = draw.choice(["MaxPool", "AveragePool"]), draw.choice([1, 2, 2, 3])
    attributes = {"kernel_shape": draw.ints(axes, 1, 4)}
    good, may_dilate = window(draw, attributes)
    if opset >= 10 and draw.chance(0.5):
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and draw.chance(0.5):
        attributes["count_include_pad"] = 1
    if may_dilate and opset >= (10 if op == "MaxPool" else 19) and draw.chance(0.3):
        attributes["dilations"] = draw.ints(axes, 1, 2)
    x = draw.floats(draw.randint(1, 2), draw.randint(1, 3), *draw.ints(axes, 7, 10))
    results = 2 if op == "MaxPool" and axes < 3 and opset >= 8 and draw.chance(0.4) else 1
    if results == 2:
        attributes["storage_order"] = draw.randint(0, 1)
    return (op, attributes, {"x": x}, {}, ["x"], results) if good else None


def global_pool(draw, opset):
    op, axes = draw.choice(["GlobalAveragePool", "GlobalMaxPool"]), draw.randint(1, 3)
    return op, {}, {"x": draw.floats(2, 3, *draw.ints(axes, 1, 6))}, {}, ["x"], 1


def batch_normalization(draw, opset):
    shape = draw.ints(draw.randint(2, 5), 1, 4)
    constants = {name: draw.floats(shape[1]) for name in ["s", "b", "m"]}
    constants["v"] = np.abs(draw.floats(shape[1]))
    return "BatchNormalization", {"epsilon": 0.1}, {"x": draw.floats(*shape)}, constants, ["x", *constants], 1


def gemm(draw, opset):
    (m, k, n), (a, b) = draw.ints(3, 1, 5), draw.ints(2, 0, 1)
    attributes = {"transA": a, "transB": b, "alpha": draw.choice([1.0, 0.5]), "beta": draw.choice([1.0, 2.0])}
    constants = {"w": draw.floats(*((n, k) if b else (k, n)))}
    if opset < 11 or draw.chance(0.7):
        constants["c"] = draw.floats(*draw.choice([(n,), (1, n), (m, n), (m, 1), ()]))
    return "Gemm", attributes, {"x": draw.floats(*((k, m) if a else (m, k)))}, constants, ["x", *constants], 1


def matmul(draw, opset):
    left, right = draw.choice([((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((1, 2, 3), (5, 3, 4)), ((3,), (3, 4)),
                               ((2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (3,))])
    operands = {"x": draw.floats(*left), "w": draw.floats(*right)}
    constant = draw.choice([[], ["x"], ["w"]])
    inputs = {name: value for name, value in operands.items() if name not in constant}
    return "MatMul", {}, inputs, {name: operands[name] for name in constant}, ["x", "w"], 1


def binary(draw, opset):
    op = draw.choice(["Add", "Sub", "Mul", "Div"])
    if draw.chance(0.2):
        return op, {}, {"x": int64([7, -7, 9]), "z": int64([2, 2, -4])}, {}, ["x", "z"], 1
    left, right = draw.choice([((2, 3), (3,)), ((1, 3, 2, 2), (3, 1, 1)), ((), (2,)), ((2, 1), (1, 3))])
    return op, {}, {"x": draw.floats(*left), "z": draw.floats(*right)}, {}, ["x", "z"], 1


def activation(draw, opset):
    op, attributes = draw.choice(
        [("Relu", {}), ("LeakyRelu", {"alpha": 0.2}), ("LeakyRelu", {}), ("Identity", {}), ("Dropout", {}),
         ("Shape", {}), *(("Cast", {"to": to}) for to in (1, 6, 7, 9))]
    )
    return op, attributes, {"x": draw.floats(2, 5)}, {}, ["x"], 1


def clip(draw, opset):
    x = {"x": draw.floats(9)}
    if opset < 11:
        return "Clip", draw.choice([{}, {"min": -0.5}, {"min": -0.5, "max": 0.5}]), x, {}, ["x"], 1
    operands = draw.choice([["x"], ["x", "a"], ["x", "a", "b"], ["x", "", "b"]])
    return "Clip", {}, x, {"a": np.float32(-0.5), "b": np.float32(0.4)}, operands, 1


def softmax(draw, opset):
    rank = draw.randint(1, 4)
    axis = draw.randint(-rank if opset >= 11 else 0, rank - 1)
    return "Softmax", {"axis": axis}, {"x": draw.floats(*draw.ints(rank, 1, 4))}, {}, ["x"], 1


def pad(draw, opset):
    modes = ["constant", "reflect", "edge"] + (["wrap"] if opset >= 19 else [])
    shape, mode = draw.ints(draw.randint(1, 4), 2, 5), draw.choice(modes)
    most = 1 if mode == "reflect" else 3
    pads = draw.ints(2 * len(shape), -1 if mode == "constant" else 0, most)
    x = {"x": draw.floats(*shape)}
    if opset < 11:
        return "Pad", {"mode": mode, "pads": pads, "value": 1.5}, x, {}, ["x"], 1
    constants = {"p": int64(pads), "v": np.float32(2.5)}
    return "Pad", {"mode": mode}, x, constants, ["x", "p", "v"], 1


def slice_(draw, opset):
    shape = draw.ints(draw.randint(1, 3), 1, 6)
    axes = draw.sample(range(len(shape)), draw.randint(1, len(shape)))
    starts = draw.ints(len(axes), -8, 8)
    ends = [draw.choice([draw.randint(-8, 8), 2**62, -(2**62)]) for _ in axes]
    x = {"x": draw.floats(*shape)}
    if opset < 10:
        return "Slice", {"axes": axes, "starts": starts, "ends": ends}, x, {}, ["x"], 1
    steps = [draw.choice([1, 2, 3, -1, -2]) for _ in axes]
    constants = {"s": int64(starts), "e": int64(ends), "a": int64(axes), "t": int64(steps)}
    return "Slice", {}, x, constants, ["x", *constants], 1


def split(draw, opset):
    sizes = draw.ints(draw.randint(1, 3), 1, 4)
    axis = draw.randint(-2 if opset >= 11 else 0, 1)
    shape = [3, 3]
    shape[axis] = sum(sizes)
    x = {"x": draw.floats(*shape)}
    if opset >= 18 and draw.chance(0.5):
        return "Split", {"axis": axis, "num_outputs": len(sizes)}, x, {}, ["x"], len(sizes)
    if opset < 13:
        return "Split", {"axis": axis, "split": sizes}, x, {}, ["x"], len(sizes)
    return "Split", {"axis": axis}, x, {"s": int64(sizes)}, ["x", "s"], len(sizes)


def concat(draw, opset):
    axis = draw.randint(-2 if opset >= 11 else 0, 1)
    return "Concat", {"axis": axis}, {"x": draw.floats(2, 3)}, {}, ["x", "x"], 1


def gather(draw, opset):
    last = -1 if opset >= 11 else 1
    indices = draw.choice([int64(1), int64([0, last]), int64([[1, 0], [last, 1]])])
    return "Gather", {"axis": draw.randint(-3, 2)}, {"x": draw.floats(2, 3, 4)}, {"i": indices}, ["x", "i"], 1


def reshape(draw, opset):
    shape = draw.choice([[0, -1], [-1], [4, 0, 2], [24], [1, 0, -1], [2, 2, 3, 2], [0, 0, 0]])
    return "Reshape", {}, {"x": draw.floats(2, 3, 4)}, {"s": int64(shape)}, ["x", "s"], 1


def flatten(draw, opset):
    axis = draw.randint(-3 if opset >= 11 else 0, 3)
    return "Flatten", {"axis": axis}, {"x": draw.floats(2, 3, 4)}, {}, ["x"], 1


def squeeze(draw, opset):
    op = draw.choice(["Squeeze", "Unsqueeze"])
    axes = draw.choice([[0], [2], [0, 2], [-1] if opset >= 11 else [2]])
    x = {"x": draw.floats(1, 3, 1)}
    if opset < 13:
        return op, {"axes": axes}, x, {}, ["x"], 1
    return op, {}, x, {"a": int64(axes)}, ["x", "a"], 1


def transpose(draw, opset):
    rank = draw.randint(1, 4)
    attributes = {"perm": draw.sample(range(rank), rank)} if draw.chance(0.8) else {}
    return "Transpose", attributes, {"x": draw.floats(*draw.ints(rank, 1, 4))}, {}, ["x"], 1


def resize(draw, opset):
    size = draw.ints(draw.choice([1, 2, 2]), 3, 7)
    scales = [draw.choice([0.5, 0.75, 1.0, 1.5, 2.0, 3.0]) for _ in size]
    if opset < 10:
        scales = [max(scale, 1.0) for scale in scales]
    if opset < 11 and min(scales) < 1 < max(scales):
        return None
    x = {"x": draw.floats(1, 2, *size)}
    attributes = {"mode": draw.choice(["nearest", "linear"])}
    all_scales = np.array([1, 1, *scales], np.float32)
    if opset < 9:
        return "Upsample", {**attributes, "scales": all_scales.tolist()}, x, {}, ["x"], 1
    if opset < 11:
        op = "Upsample" if opset == 9 else "Resize"
        return op, attributes, x, {"s": all_scales}, ["x", "s"], 1
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    coordinates += ["tf_half_pixel_for_nn"] if opset < 13 and attributes["mode"] == "nearest" else []
    coordinates += ["half_pixel_symmetric"] if opset >= 19 else []
    coordinates = attributes["coordinate_transformation_mode"] = draw.choice(coordinates)
    attributes["nearest_mode"] = draw.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if coordinates == "tf_half_pixel_for_nn":
        attributes["nearest_mode"] = draw.choice(["floor", "round_prefer_floor"])
    if opset >= 18 and attributes["mode"] == "linear" and coordinates == "half_pixel" and draw.chance(0.5):
        attributes["antialias"] = 1
    empty = np.zeros(0, np.float32)
    # The standard and ONNX Runtime differ where aligned corners meet sizes that are rounded down.
    whole = all((n * scale).is_integer() for n, scale in zip(size, scales))
    if draw.chance(0.5) and (whole or coordinates != "align_corners"):
        return "Resize", attributes, x, {"r": empty, "s": all_scales}, ["x", "r", "s"], 1
    wanted = draw.ints(len(size), 1, 10)
    if opset >= 18 and draw.chance(0.5):
        axes = draw.sample(range(len(size)), len(size))
        attributes["axes"] = [2 + axis for axis in axes]
        policies = ["stretch", "not_larger", "not_smaller"] if coordinates != "align_corners" else ["stretch"]
        attributes["keep_aspect_ratio_policy"] = draw.choice(policies)
        constants = {"r": empty, "e": empty, "n": int64([wanted[axis] for axis in axes])}
    else:
        constants = {"r": empty, "e": empty, "n": int64([1, 2, *wanted])}
    return "Resize", attributes, x, constants, ["x", "r", "e", "n"], 1


def crop_and_resize(draw, opset):
    if opset < 11:
        return None
    size, ends = draw.ints(2, 3, 7), [draw.uniform(-0.3, 1.3) for _ in range(4)]
    roi = np.array([0, 0, *ends[:2], 1, 1, *ends[2:]], np.float32)
    attributes = {"mode": draw.choice(["nearest", "linear"]), "extrapolation_value": 3.5,
                  "coordinate_transformation_mode": "tf_crop_and_resize"}
    wanted = draw.ints(2, 1, 8)
    if any(to == n for to, n in zip(wanted, size)):
        return None
    constants = {"r": roi, "e": np.zeros(0, np.float32), "n": int64([1, 2, *wanted])}
    return "Resize", attributes, {"x": draw.floats(1, 2, *size)}, constants, ["x", "r", "e", "n"], 1


def blocks(draw, opset):
    block, sizes = draw.randint(1, 3), draw.ints(3, 1, 3)
    attributes = {"blocksize": block}
    if draw.chance(0.5):
        x = draw.floats(2, sizes[0], sizes[1] * block, sizes[2] * block)
        return "SpaceToDepth", attributes, {"x": x}, {}, ["x"], 1
    if opset >= 11 and draw.chance(0.7):
        attributes["mode"] = draw.choice(["DCR", "CRD"])
    return "DepthToSpace", attributes, {"x": draw.floats(2, sizes[0] * block * block, *sizes[1:])}, {}, ["x"], 1


def tile(draw, opset):
    shape = draw.ints(draw.randint(1, 4), 1, 3)
    repeats = draw.ints(len(shape), 0 if draw.chance(0.1) else 1, 3)
    return "Tile", {}, {"x": draw.floats(*shape)}, {"r": int64(repeats)}, ["x", "r"], 1


def expand(draw, opset):
    shapes = [((3, 1), (2, 3, 4)), ((1, 3), (2, 1, 3)), ((2, 3), (3,)), ((2, 3), (1, 1)), ((), (2, 2)), ((1,), (0,))]
    shape, target = draw.choice(shapes)
    return ("Expand", {}, {"x": draw.floats(*shape)}, {"s": int64(target)}, ["x", "s"], 1) if opset >= 8 else None


def einsum(draw, opset):
    if opset < 12:
        return None
    equation = draw.choice(["ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bsd,dh->bsh",
                            "ij->ji", "ij->", "ijk->j", "ii->i", "bii->bi", "i,j->ij", "i,i->", "bi,bi->b", "bi,bi->ib",
                            "ij,jk", "...ij,...jk->...ik", "...ij,jk->...ik", "...i->...", "i...->...i", "ij,jk,kl->il",
                            "bchw,bkhw->bck", "nkctv,kvw->nctw", "ij,k->jk"])
    size = {letter: draw.randint(1, 4) for letter in "bcdhijklnqstvw"}
    open_axes = draw.ints(draw.randint(0, 2), 1, 3)
    terms = equation.split("->")[0].split(",")
    shapes = [[n for part in term.replace("...", ".") for n in (open_axes if part == "." else [size[part]])] for term in terms]
    inputs = {f"x{index}": draw.floats(*shape) for index, shape in enumerate(shapes)}
    return "Einsum", {"equation": equation}, inputs, {}, [*inputs], 1


def unary(draw, opset):
    kinds = [(op, {}) for op in ["Abs", "Neg", "Exp", "Floor", "Ceil", "Reciprocal", "Sigmoid", "Softplus", "Softsign",
                                 "Tanh", "Sin", "Cos", "Atan"]]
    kinds += [("Elu", {"alpha": 1.5}), ("Elu", {}), ("HardSigmoid", {}), ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
              ("Selu", {}), ("Selu", {"alpha": 1.5, "gamma": 2.0})]
    if opset >= 9:
        kinds += [("Erf", {}), ("Sign", {}), ("Sinh", {}), ("Cosh", {}), ("Asinh", {})]
    if opset >= 10:
        kinds += [("ThresholdedRelu", {}), ("ThresholdedRelu", {"alpha": 0.3})]
    if opset >= 11:
        kinds.append(("Round", {}))
    if opset >= 12:
        kinds += [("Celu", {}), ("Celu", {"alpha": 2.0})]
    if opset >= 14:
        kinds.append(("HardSwish", {}))
    if opset >= 18:
        kinds.append(("Mish", {}))
    if opset >= 20:
        kinds += [("Gelu", {}), ("Gelu", {"approximate": "tanh"})]
    op, attributes = draw.choice(kinds)
    return op, attributes, {"x": draw.floats(2, 5)}, {}, ["x"], 1


def positive(draw, opset):
    return draw.choice(["Sqrt", "Log"]), {}, {"x": np.abs(draw.floats(7)) + np.float32(0.1)}, {}, ["x"], 1


def variadic(draw, opset):
    op = draw.choice(["Max", "Min", "Sum", "Mean"])
    shapes = draw.choice([[(2, 3)], [(2, 3), (3,)], [(2, 1), (1, 3), ()], [(3, 2, 2), (2,), (3, 1, 1), (2, 2)]])
    inputs = {f"x{index}": draw.floats(*shape) for index, shape in enumerate(shapes)}
    return op, {}, inputs, {}, [*inputs], 1


def compare(draw, opset):
    kinds = ["Greater", "Less"] + (["GreaterOrEqual", "LessOrEqual"] if opset >= 12 else [])
    if draw.chance(0.3):
        x, z = int64(draw.ints(6, -2, 2)), int64(draw.ints(6, -2, 2))
        return "Equal" if opset < 9 else draw.choice([*kinds, "Equal"]), {}, {"x": x, "z": z}, {}, ["x", "z"], 1
    return draw.choice(kinds), {}, {"x": draw.floats(2, 3), "z": draw.floats(3)}, {}, ["x", "z"], 1


def logic(draw, opset):
    x, z = np.array(draw.ints(4, 0, 1), bool).reshape(2, 2), np.array(draw.ints(2, 0, 1), bool)
    return draw.choice(["And", "Or", "Xor"]), {}, {"x": x, "z": z}, {}, ["x", "z"], 1


def where(draw, opset):
    condition = np.array(draw.ints(3, 0, 1), bool)
    return "Where", {}, {"c": condition, "x": draw.floats(2, 3), "z": draw.floats(2, 1)}, {}, ["c", "x", "z"], 1


def power(draw, opset):
    if draw.chance(0.4):
        return "Pow", {}, {"x": draw.floats(2, 3)}, {"e": np.float32(draw.choice([2, 3, 0]))}, ["x", "e"], 1
    if opset >= 12 and draw.chance(0.5):
        return "Pow", {}, {"x": draw.floats(2, 3)}, {"e": int64([2, 3, -1])}, ["x", "e"], 1
    return "Pow", {}, {"x": np.abs(draw.floats(2, 3)), "e": draw.floats(3)}, {}, ["x", "e"], 1


def remainder(draw, opset):
    x, z = int64(draw.ints(6, -9, 9)), int64([draw.choice([-4, -3, 2, 5]) for _ in range(6)])
    if draw.chance(0.3):
        return "Mod", {"fmod": 1}, {"x": draw.floats(4), "z": draw.floats(4)}, {}, ["x", "z"], 1
    return "Mod", draw.choice([{}, {"fmod": 1}]), {"x": x, "z": z}, {}, ["x", "z"], 1


def prelu(draw, opset):
    slope = draw.choice([(3, 1, 1), (1,), (1, 3, 1, 1), (4,)])
    return "PRelu", {}, {"x": draw.floats(2, 3, 2, 4)}, {"s": draw.floats(*slope)}, ["x", "s"], 1


def clip_computed(draw, opset):
    if opset < 12:
        return None
    if draw.chance(0.5):
        inputs = {"x": int64(draw.ints(5, -9, 9)), "a": np.int64(-2), "b": np.int64(3)}
    else:
        inputs = {"x": draw.floats(5), "a": np.float32(-0.5), "b": np.float32(0.25)}
    operands = draw.choice([["x", "a", "b"], ["x", "", "b"], ["x", "a"]])
    return "Clip", {}, {name: inputs[name] for name in operands if name}, {}, operands, 1


def log_softmax(draw, opset):
    case = softmax(draw, opset)
    return ("LogSoftmax", *case[1:])


def reduce(draw, opset):
    op = draw.choice(["Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum"])
    x = draw.floats(2, 3, 4)
    x = np.abs(x) if op == "LogSum" else x
    axes = draw.choice([None, [0], [1, 2], [2], [0, 2], [-1] if opset >= 11 else [1]])
    attributes = {"keepdims": draw.randint(0, 1)}
    if opset < (13 if op == "Sum" else 18):
        attributes |= {} if axes is None else {"axes": axes}
        return "Reduce" + op, attributes, {"x": x}, {}, ["x"], 1
    if axes is None:
        # ONNX Runtime copies for SumSquare and the like, which the standard still squares.
        attributes |= {"noop_with_empty_axes": 1} if op in ("Mean", "Sum", "Max") and draw.chance(0.5) else {}
        return "Reduce" + op, attributes, {"x": x}, {}, ["x"], 1
    return "Reduce" + op, attributes, {"x": x}, {"a": int64(axes)}, ["x", "a"], 1


def arg_max(draw, opset):
    attributes = {"axis": draw.randint(-2 if opset >= 11 else 0, 1), "keepdims": draw.randint(0, 1)}
    if opset >= 12:
        attributes["select_last_index"] = draw.randint(0, 1)
    x = np.array(draw.ints(12, 0, 3), np.float32).reshape(3, 4)
    return draw.choice(["ArgMax", "ArgMin"]), attributes, {"x": x}, {}, ["x"], 1


def instance_normalization(draw, opset):
    x = draw.floats(2, 3, *draw.ints(draw.randint(1, 2), 2, 4))
    constants = {"s": draw.floats(3), "b": draw.floats(3)}
    return "InstanceNormalization", {"epsilon": 0.1}, {"x": x}, constants, ["x", "s", "b"], 1


def group_normalization(draw, opset):
    if opset < 18:
        return None
    count = 2 if opset < 21 else 4
    constants = {"s": draw.floats(count), "b": draw.floats(count)}
    x = {"x": draw.floats(2, 4, 3, 2)}
    return "GroupNormalization", {"epsilon": 0.1, "num_groups": 2}, x, constants, ["x", "s", "b"], 1


def layer_normalization(draw, opset):
    if opset < 17:
        return None
    shape, axis = draw.ints(3, 2, 4), draw.randint(-3, 2)
    constants = {"s": draw.floats(*shape[axis:]), "b": draw.floats(*shape[axis:])}
    operands = ["x", "s", "b"] if draw.chance(0.7) else ["x", "s"]
    attributes = {"axis": axis, "epsilon": 0.1}
    return "LayerNormalization", attributes, {"x": draw.floats(*shape)}, constants, operands, draw.choice([1, 3])


def lrn(draw, opset):
    attributes = {"size": draw.choice([1, 3, 5]), "alpha": 0.5, "beta": 0.75, "bias": 2.0}
    return "LRN", attributes, {"x": draw.floats(1, 4, 2, 3)}, {}, ["x"], 1


def lp_normalization(draw, opset):
    attributes = {"axis": draw.randint(-2, 1), "p": draw.randint(1, 2)}
    return "LpNormalization", attributes, {"x": draw.floats(3, 4)}, {}, ["x"], 1


def trilu(draw, opset):
    if opset < 14:
        return None
    constants = {"k": int64(draw.randint(-4, 4))}
    return "Trilu", {"upper": draw.randint(0, 1)}, {"x": draw.floats(2, 3, 4)}, constants, ["x", "k"], 1


def range_(draw, opset):
    constants = draw.choice([
        {"s": int64(3), "l": int64(draw.randint(-9, 9)), "d": int64(draw.choice([-3, -1, 1, 2]))},
        {"s": np.float32(0.5), "l": np.float32(draw.gauss(0, 3)), "d": np.float32(draw.choice([-0.7, 0.3, 1]))},
    ])
    return None if opset < 11 else ("Range", {}, {}, constants, ["s", "l", "d"], 1)


KINDS = [conv, conv, conv_computed, conv_transpose, conv_transpose, pool, pool, global_pool, resize,
         crop_and_resize, blocks, tile, expand, einsum, batch_normalization, gemm, matmul, binary, activation, clip, softmax, pad,
         slice_, split, concat, gather, reshape, flatten, squeeze, transpose, resize, unary, unary, positive, variadic, compare,
         logic, where, power, remainder, prelu, clip_computed, log_softmax, reduce, reduce, arg_max,
         instance_normalization, group_normalization, layer_normalization, lrn, lp_normalization, trilu, range_]


def write(case, opset, path):
    """Writes the case; False when ONNX Runtime refuses it."""
    op, attributes, inputs, constants, operands, count = case
    results = [f"y{index}" for index in range(count)]
    graph = helper.make_graph(
        [helper.make_node(op, operands, results, **attributes)],
        "case",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in results],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 21 else 10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        outputs = session.run(results, inputs)
    except Exception:  # ONNX Runtime raises several types, all of which mean a refusal.
        return False
    path.with_suffix(".onnx").write_bytes(model.SerializeToString())
    arrays = {f"in.{name}": value for name, value in inputs.items()}
    arrays |= {f"out.{name}": value for name, value in zip(results, outputs)}
    np.savez(path.with_suffix(".npz"), **arrays)
    return True


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    draw = Draw(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    onnxruntime.set_default_logger_severity(4)
    folder.mkdir(parents=True, exist_ok=True)
    written = refused = 0
    while written < count:
        opset, kind = draw.choice(OPSETS), draw.choice(KINDS)
        case = kind(draw, opset)
        if case is None:
            continue
        if write(case, opset, folder / f"{written:05}_{case[0]}_{opset}"):
            written += 1
        else:
            refused += 1
    print(f"{written} cases written, {refused} draws refused by ONNX Runtime")


if __name__ == "__main__":
    main()
