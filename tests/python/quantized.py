"""Tests quantized networks: every integer must equal ONNX Runtime's.

    pip install -r requirements-onnx.txt
    python quantized.py [--npu COMMAND] [PATTERN ...]

Random networks are quantized by `onnxruntime.quantization` in both of its forms: operators on integers (QOperator), and
QuantizeLinear and DequantizeLinear around operators on floats (QDQ); by tensor and by channel, with signed and unsigned
bytes. Every tensor of bytes becomes an output and is compared with ONNX Runtime at its default optimization level,
which also computes QDQ on integers. They must be equal, except where the standard and ONNX Runtime's documents leave
the result open:

- functions by table (`STEP`) may differ by one step: Sigmoid and Softmax of ONNX Runtime are its own approximations;
- the sum of two tensors (QLinearAdd), which ONNX Runtime computes in a different order on each kind of processor. Here
  it follows x86 with AVX2 and FMA, and is tested on all pairs of bytes on such a machine;
- a convolution of bytes on x86 without VNNI saturates pairs of products at 16 bits, so weights have 7 bits there
  (`reduce_range`), as ONNX Runtime's documents recommend.
"""

import argparse
import fnmatch
import itertools
import logging
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from npu import Crash, Npu, Refusal, add_arguments

SIZE, SAMPLES, SEED = 16, 2, 5

# Operators whose bytes may be off by one step, as ONNX Runtime approximates the functions.
STEP = {"QLinearSigmoid", "QLinearSoftmax", "Sigmoid", "Softmax"}

KINDS = {"u8": QuantType.QUInt8, "s8": QuantType.QInt8}


class Maker:
    """A float network under construction."""

    def __init__(self, seed):
        self.generator, self.nodes, self.initializers = np.random.default_rng(seed), [], []

    def node(self, operator, operands, **attributes):
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], name, **attributes))
        return name

    def tensor(self, values):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, *shape):
        deviation = np.sqrt(2 / max(1, int(np.prod(shape[1:]))))
        return self.tensor(self.generator.normal(0, deviation, shape).astype(np.float32))

    def conv(self, x, inputs, outputs, kernel=3, bias=True, **attributes):
        group = attributes.get("group", 1)
        operands = [x, self.weights(outputs, inputs // group, kernel, kernel)]
        operands += [self.weights(outputs)] if bias else []
        pads = attributes.pop("pads", [kernel // 2] * 4)
        return self.node("Conv", operands, pads=pads, **attributes)

    def model(self, x_shape, outputs):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs]
        graph = helper.make_graph(self.nodes, "g", [x], outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def residual(maker):
    """A small ResNet: strides, a shortcut, global average, a classifier."""
    x = maker.node("Relu", [maker.conv("x", 3, 16, strides=[2, 2])])
    y = maker.node("Relu", [maker.conv(x, 16, 16)])
    y = maker.conv(y, 16, 16)
    x = maker.node("Relu", [maker.node("Add", [x, y])])
    y = maker.node("Relu", [maker.conv(x, 16, 32, strides=[2, 2])])
    y = maker.conv(y, 32, 32)
    x = maker.node("Relu", [maker.node("Add", [maker.conv(x, 16, 32, 1, strides=[2, 2]), y])])
    x = maker.node("Flatten", [maker.node("GlobalAveragePool", [x])])
    return [maker.node("Gemm", [x, maker.weights(10, 32), maker.weights(10)], transB=1)]


def deep(maker):
    """Sums of 4608 products, which floats do not represent exactly."""
    x = maker.conv("x", 3, 512, 1)
    x = maker.node("Relu", [x])
    return [maker.conv(x, 512, 8, 3, bias=False, pads=[0] * 4)]


def mixed(maker):
    """Depthwise, grouped and dilated convolutions, joined branches, products, pools, LeakyRelu."""
    x = maker.node("LeakyRelu", [maker.conv("x", 3, 16)], alpha=0.1)
    a = maker.conv(x, 16, 16, group=16)
    x = maker.node("Mul", [a, maker.conv(x, 16, 16, 1, group=4)])
    x = maker.node("Concat", [x, a], axis=1)
    x = maker.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = maker.node("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = maker.conv(x, 32, 8, pads=[2] * 4, dilations=[2, 2])
    x = maker.node("Reshape", [x, maker.tensor(np.array([0, -1], np.int64))])
    return [maker.node("MatMul", [x, maker.weights(128, 12)])]


def tables(maker):
    """Functions that ONNX Runtime approximates."""
    x = maker.conv("x", 3, 16)
    rows = maker.node("Reshape", [x, maker.tensor(np.array([256, 16], np.int64))])
    return [maker.node("Sigmoid", [x]), maker.node("Softmax", [rows], axis=-1)]


NETWORKS = {"residual": residual, "deep": deep, "mixed": mixed, "tables": tables}


def pairs(npu, operator, kind):
    """Tests QLinearAdd or QLinearMul on all pairs of bytes, with random scales; returns the number of pairs."""
    generator, info = np.random.default_rng(SEED), np.iinfo(kind)
    code = TensorProto.UINT8 if kind == np.uint8 else TensorProto.INT8
    a, b = (part.ravel() for part in np.meshgrid(*[np.arange(info.min, info.max + 1).astype(kind)] * 2))
    for _ in range(4):
        scales = generator.choice([0.5, 0.25, 0.1, 0.05, 0.2, 0.3, 0.75, *generator.uniform(0.01, 1, 4)], 3)
        constants = []
        for name, scale, zero in zip("aby", scales, generator.integers(info.min, info.max + 1, 3)):
            constants.append(numpy_helper.from_array(np.array(scale, np.float32), f"{name}_scale"))
            constants.append(numpy_helper.from_array(np.array(zero, kind), f"{name}_zero"))
        names = [constant.name for constant in constants]
        node = helper.make_node(operator, ["a", *names[:2], "b", *names[2:]], ["y"], domain="com.microsoft")
        values = [helper.make_tensor_value_info(name, code, a.shape) for name in "aby"]
        graph = helper.make_graph([node], "g", values[:2], values[2:], constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        path = npu.folder / "pairs.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (want,) = session.run(None, {"a": a, "b": b})
        found = npu.outputs("eval", path, {"a": a, "b": b})[0]["y"]
        differ = np.count_nonzero(found.astype(np.int64) != want.astype(np.int64))
        if differ:
            raise AssertionError(f"{differ} of {a.size} pairs differ at scales {scales}")
    return 4 * a.size


class Samples(CalibrationDataReader):
    """Tensors on which ranges are measured."""

    def __init__(self, arrays):
        self.left = iter({"x": array} for array in arrays)

    def get_next(self):
        return next(self.left, None)


def has(*features):
    """Whether the operating system reports these processor features. With VNNI, products of bytes are exact."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as text:
            found = text.read()
            return all(feature in found for feature in features)
    except OSError:
        return False


def quantized(npu, name, form, activations, weights, by_channel):
    """Returns the quantized network with all tensors of bytes as outputs, and its samples."""
    maker = Maker(SEED)
    model = maker.model([1, 3, SIZE, SIZE], NETWORKS[name](maker))
    generator = np.random.default_rng(SEED)
    arrays = [generator.normal(0, 1, (1, 3, SIZE, SIZE)).astype(np.float32) for _ in range(8)]
    source, target = npu.folder / "float.onnx", npu.folder / "quantized.onnx"
    onnx.save(model, source)
    quantize_static(
        source,
        target,
        Samples(arrays),
        quant_format=QuantFormat[form],
        activation_type=KINDS[activations],
        weight_type=KINDS[weights],
        per_channel=by_channel,
        reduce_range=not has("vnni"),
    )
    model = onnx.shape_inference.infer_shapes(onnx.load(target))
    wanted = {"QuantizeLinear", *(node.op_type for node in model.graph.node if node.op_type.startswith("QLinear"))}
    kind = TensorProto.UINT8 if activations == "u8" else TensorProto.INT8
    named = {value.name for value in model.graph.output}
    for node in model.graph.node:
        if node.op_type in wanted | {"QGemm"} and node.output[0] not in named:
            model.graph.output.append(helper.make_tensor_value_info(node.output[0], kind, None))
    onnx.save(model, target)
    return target, model, arrays[:SAMPLES]


def maker_of(name, by_result):
    """Operator that computes a tensor of bytes: the node before QuantizeLinear, if that made it."""
    node = by_result[name]
    before = by_result.get(node.input[0])
    return before if node.op_type == "QuantizeLinear" and before is not None else node


def compare(npu, case):
    """Tests one network; returns the numbers of compared integers and of integers off by one step."""
    path, model, arrays = quantized(npu, *case)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    by_result = {node.output[0]: node for node in model.graph.node}
    total = steps = 0
    for array in arrays:
        found, _ = npu.outputs("eval", path, {"x": array})
        for name, want in zip(names, session.run(None, {"x": array})):
            if not np.issubdtype(want.dtype, np.integer):
                continue
            operator = maker_of(name, by_result).op_type
            apart = np.abs(found[name].astype(np.int64) - want.astype(np.int64))
            total, steps = total + want.size, steps + np.count_nonzero(apart)
            if apart.max(initial=0) > (1 if operator in STEP else 0):
                share = np.count_nonzero(apart) / want.size
                raise AssertionError(f"{name} ({operator}): {share:.3%} differ, by up to {apart.max()}")
    return total, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of cases, with * and ?")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    npu, failures, total, steps = Npu(arguments.npu), 0, 0, 0
    for operator, kind in itertools.product(("QLinearAdd", "QLinearMul"), (np.uint8, np.int8)):
        text = f"pairs {operator} {np.dtype(kind)}"
        if not any(fnmatch.fnmatch(text, pattern) for pattern in arguments.patterns):
            continue
        if not has("avx2", "fma"):
            print(f"skipped: {text}: this processor lacks AVX2 or FMA")
            continue
        try:
            integers = pairs(npu, operator, kind)
            total += integers
            print(f"{text}: {integers} integers")
        except (AssertionError, Crash, Refusal) as error:
            failures += 1
            print(f"FAILED {text}: {error}")
    for case in itertools.product(NETWORKS, ("QOperator", "QDQ"), KINDS, KINDS, (False, True)):
        name, form, activations, weights, by_channel = case
        if (activations, weights) == ("s8", "u8"):
            continue  # ONNX Runtime does not have this product.
        text = f"{name} {form} {activations}{weights} {'by channel' if by_channel else 'by tensor'}"
        if not any(fnmatch.fnmatch(text, pattern) for pattern in arguments.patterns):
            continue
        try:
            integers, apart = compare(npu, case)
            total, steps = total + integers, steps + apart
            print(f"{text}: {integers} integers" + (f", {apart} a step off" if apart else ""))
        except (AssertionError, Crash, Refusal) as error:
            failures += 1
            print(f"FAILED {text}: {error}")
    print(f"{total} integers compared, {steps} a step off in functions by table; {failures} networks failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
