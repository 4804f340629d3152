"""Generates models of one node and what ONNX Runtime makes of them.

    pip install -r requirements.txt
    python generate.py FOLDER [COUNT] [SEED]
    NPUKIT_ONNX_CASES=FOLDER cargo test -p npukit-import generated

Each case is `NAME.onnx` and `NAME.npz`, which holds `in.*` and `out.*` by value name. Operators
and attributes are drawn at random over all opsets. Left out is where ONNX Runtime departs from
the standard: Resize whose sizes stay although a scale is not 1 (it copies), SAME padding with
dilation (it ignores the dilation) or with a kernel smaller than the stride (it crops).
"""

import pathlib
import random
import sys

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

OPSETS = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]


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
    strides = draw.ints(2, 1, 3)
    attributes["strides"] = strides
    rule = draw.choice(["explicit", "none", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if rule == "explicit":
        attributes["pads"] = [draw.randint(0, kernel[i % 2] - 1) for i in range(4)]
    elif rule != "none":
        attributes["auto_pad"] = rule
    same = rule.startswith("SAME")
    return not (same and any(k < s for k, s in zip(kernel, strides))), not same


def conv(draw, opset):
    group = draw.choice([1, 1, 2])
    channels, filters = group * draw.randint(1, 3), group * draw.randint(1, 3)
    attributes = {"kernel_shape": draw.ints(2, 1, 4), "group": group}
    good, may_dilate = window(draw, attributes)
    if may_dilate and draw.chance(0.4):
        attributes["dilations"] = draw.ints(2, 1, 2)
    constants = {"w": draw.floats(filters, channels // group, *attributes["kernel_shape"])}
    if draw.chance(0.5):
        constants["b"] = draw.floats(filters)
    x = draw.floats(draw.randint(1, 2), channels, *draw.ints(2, 7, 12))
    return ("Conv", attributes, {"x": x}, constants, ["x", *constants], 1) if good else None


def pool(draw, opset):
    op = draw.choice(["MaxPool", "AveragePool"])
    attributes = {"kernel_shape": draw.ints(2, 1, 4)}
    good, may_dilate = window(draw, attributes)
    if opset >= 10 and draw.chance(0.5):
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and draw.chance(0.5):
        attributes["count_include_pad"] = 1
    if may_dilate and opset >= (10 if op == "MaxPool" else 19) and draw.chance(0.3):
        attributes["dilations"] = draw.ints(2, 1, 2)
    x = draw.floats(1, draw.randint(1, 3), *draw.ints(2, 7, 12))
    return (op, attributes, {"x": x}, {}, ["x"], 1) if good else None


def global_pool(draw, opset):
    return "GlobalAveragePool", {}, {"x": draw.floats(2, 3, *draw.ints(2, 1, 6))}, {}, ["x"], 1


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
    left, right = draw.choice([((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((1, 2, 3), (5, 3, 4)), ((3,), (3, 4))])
    return "MatMul", {}, {"x": draw.floats(*left)}, {"w": draw.floats(*right)}, ["x", "w"], 1


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
    shape, mode = draw.ints(draw.randint(1, 4), 2, 5), draw.choice(["constant", "reflect", "edge"])
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
    size = draw.ints(2, 3, 7)
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
    attributes["coordinate_transformation_mode"] = draw.choice(
        ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    )
    attributes["nearest_mode"] = draw.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    empty = np.zeros(0, np.float32)
    if draw.chance(0.5):
        return "Resize", attributes, x, {"r": empty, "s": all_scales}, ["x", "r", "s"], 1
    constants = {"r": empty, "e": empty, "n": int64([1, 2, *draw.ints(2, 1, 10)])}
    return "Resize", attributes, x, constants, ["x", "r", "e", "n"], 1


KINDS = [conv, pool, global_pool, batch_normalization, gemm, matmul, binary, activation, clip, softmax, pad,
         slice_, split, concat, gather, reshape, flatten, squeeze, transpose, resize]


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
