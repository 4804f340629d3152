"""Compares operators with many attributes with ONNX Runtime, by `npu eval`.

    pip install -r requirements-onnx.txt
    python operators.py [--npu COMMAND] [PATTERN ...]

The standard's own cases (`node_cases.py`) cover few combinations of some operators' attributes, and lack others. This
script covers convolutions of volumes, all modes of resampling, regions, pools, orders and functions of a model. A case
that ONNX Runtime refuses is skipped with a message; one that `npu` refuses fails.
"""

import argparse
import fnmatch
import itertools
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from npu import Crash, Npu, Refusal, add_arguments

# Tolerance for sums in another order.
RTOL, ATOL = 1e-4, 1e-5

GENERATOR = np.random.default_rng(17)


def noise(*shape):
    """Returns normally distributed floats."""
    return GENERATOR.standard_normal(shape).astype(np.float32)


def case(operator, inputs, constants=(), results=("y",), **attributes):
    """Makes a named model of one node with its inputs; those in `constants` become initializers."""
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(inputs)]
    arrays = {name: np.asarray(array) for name, array in zip(names, inputs) if name}
    given = {name: array for name, array in arrays.items() if int(name[1:]) not in constants}
    outputs = {"i": TensorProto.INT64}
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)], "g",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in given.items()],
        [helper.make_tensor_value_info(name, outputs.get(name, TensorProto.FLOAT), None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name not in given])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    label = " ".join(f"{key}={value}" for key, value in attributes.items())
    return f"{operator} {label} {[array.shape for array in arrays.values()]}".replace("'", ""), model, given


def volumes():
    for more in [{}, {"strides": [2, 1, 2], "pads": [1, 0, 1, 1, 2, 0]}, {"dilations": [2, 1, 1]},
                 {"group": 2, "pads": [1] * 6}]:
        weights = noise(6, 4 // more.get("group", 1), 3, 2, 3)
        yield case("Conv", [noise(2, 4, 6, 7, 5), weights, noise(6)], **more)
    for more in [{}, {"strides": [2, 1, 2], "pads": [1, 0, 1, 1, 1, 0]}, {"strides": [3, 1, 1], "dilations": [2, 1, 1]},
                 {"strides": [2, 2, 2], "output_padding": [1, 1, 1], "group": 2}]:
        weights = noise(4, 6 // more.get("group", 1), 3, 2, 3)
        yield case("ConvTranspose", [noise(2, 4, 3, 4, 3), weights, noise(6)], **more)


def samplings():
    coordinates = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    for mode, where, antialias, size in itertools.product(
            ["cubic", "linear"], coordinates, [0, 1], [[1, 2, 5, 11], [1, 2, 14, 6]]):
        yield case("Resize", [noise(1, 2, 8, 9), None, None, np.array(size)], [3], mode=mode,
                   coordinate_transformation_mode=where, antialias=antialias)
    for mode, padding, corners in itertools.product(
            ["linear", "nearest", "cubic"], ["zeros", "border", "reflection"], [0, 1]):
        yield case("GridSample", [noise(2, 3, 5, 6), noise(2, 4, 7, 2) * 1.2], mode=mode, padding_mode=padding,
                   align_corners=corners)
    for mode, ratio, where in itertools.product(["avg", "max"], [0, 2], ["half_pixel", "output_half_pixel"]):
        regions = np.abs(noise(5, 4)) * 4
        regions[:, 2:] += regions[:, :2]
        yield case("RoiAlign", [noise(2, 3, 9, 8), regions, np.array([0, 1, 1, 0, 1])], mode=mode, sampling_ratio=ratio,
                   output_height=3, output_width=2, coordinate_transformation_mode=where, spatial_scale=0.7)
    yield case("AffineGrid", [noise(2, 2, 3), np.array([2, 3, 4, 5])], [1], align_corners=1)


def pools():
    for more in [{"kernel_shape": [3, 2], "strides": [2, 1], "p": 3}, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]},
                 {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}]:
        yield case("LpPool", [noise(2, 3, 7, 8)], **more)
    yield case("LpPool", [noise(2, 3, 5, 6, 4)], kernel_shape=[2, 2, 2])
    yield case("GlobalLpPool", [noise(2, 3, 5, 6)], p=3)
    yield case("MaxUnpool", [noise(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]])], kernel_shape=[2, 2], strides=[2, 2])
    yield case("Col2Im", [noise(2, 18, 12), np.array([5, 7]), np.array([2, 3])], [1, 2], strides=[2, 1],
               pads=[1, 0, 1, 1], dilations=[1, 2])
    norm = [noise(3, 2, 4, 4), noise(2), noise(2), noise(2), np.abs(noise(2))]
    yield case("BatchNormalization", norm, results=("y", "mean", "var"), training_mode=1)


def orders():
    # Multiples of a half, so that some are equal.
    x = np.round(noise(3, 4, 5) * 2)
    for axis, largest in itertools.product([0, 1, -1], [0, 1]):
        yield case("TopK", [x, np.array([3])], [1], ("y", "i"), axis=axis, largest=largest)
    for reverse, exclusive in itertools.product([0, 1], [0, 1]):
        yield case("CumSum", [x, np.array(1)], [1], reverse=reverse, exclusive=exclusive)
    yield case("ReverseSequence", [noise(5, 3, 2), np.array([2, 5, 1])], batch_axis=1, time_axis=0)
    yield case("GatherND", [noise(3, 5, 2), np.array([[[1]], [[4]], [[-1]]])], batch_dims=1)
    for reduction in ["none", "add", "mul", "max", "min"]:
        places = [[1], [2], [3]] if reduction == "none" else [[1], [1], [3]]
        yield case("ScatterND", [noise(4, 5), np.array(places), noise(3, 5)], [1], reduction=reduction)
    yield case("STFT", [noise(2, 64, 1), np.array(8), noise(16)], [1], onesided=1)
    yield case("Det", [noise(4, 5, 5)])


def functions():
    """A function of the model, called with and without an attribute."""
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    inner = helper.make_node("LeakyRelu", ["a"], ["t"])
    inner.attribute.append(reference)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    function = helper.make_function(
        "own", "Scaled", ["a", "b"], ["c"], [inner, helper.make_node("Add", ["t", "b"], ["c"])], opsets, ["slope"])
    graph = helper.make_graph(
        [helper.make_node("Scaled", ["x", "x"], ["t"], domain="own", slope=0.5),
         helper.make_node("Scaled", ["t", "x"], ["y"], domain="own", slope=0.25)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=9)
    yield "functions", model, {"x": noise(3, 4)}


def judge(npu, model, inputs):
    """Compares `npu eval` and ONNX Runtime on a model; returns a text and success."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        wanted = session.run(None, inputs)
    except Exception as error:  # its exception classes have no common base class
        return f"skipped: ONNX Runtime refuses it: {str(error).splitlines()[0][:120]}", True
    path = npu.folder / "model.onnx"
    onnx.save(model, path)
    try:
        found, _ = npu.outputs("eval", path, inputs)
    except (Refusal, Crash) as error:
        return f"{type(error).__name__.lower()}: {error}", False
    for output, array in zip(session.get_outputs(), wanted, strict=True):
        ours = found[output.name]
        if ours.shape != array.shape:
            return f"shape {ours.shape} instead of {array.shape}", False
        if not np.allclose(ours, array, rtol=RTOL, atol=ATOL, equal_nan=True):
            return f"{output.name} differs by {np.abs(ours - array).max():.1e}", False
    return "agrees", True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `Resize*`")
    arguments = parser.parse_intermixed_args()
    onnxruntime.set_default_logger_severity(4)
    npu, failed, count = Npu(arguments.npu), 0, 0
    for name, model, inputs in itertools.chain(volumes(), samplings(), pools(), orders(), functions()):
        if arguments.patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
            continue
        text, good = judge(npu, model, inputs)
        if not good or not text.startswith("agrees"):
            print(f"{'ok  ' if good else 'FAIL'} {name}: {text}", flush=True)
        count, failed = count + 1, failed + (not good)
    print(f"{count} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
