"""What a fixed-point format does to a network: the error to expect, by an independent model.

Main function: `predict`. It lets ONNX Runtime evaluate the network with what the format does put
in, as far as arithmetic alone decides it and no particular compiler:

- inputs and weights are rounded to the format; so are scale and shift of a batch normalisation,
  where it does not fold into a convolution;
- every product of a convolution or matrix product is rounded before it is added: K of them make
  a normal error of K steps squared over 12 in variance;
- an average is a sum times the rounded reciprocal of the window's size;
- every other multiplication rounds its result once.

The difference to the same network without all this is a sample of the error that the format
makes unavoidable, and a program is in order when its own is no larger: `verdict` says so.
"""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, shape_inference

# What is granted, as a multiple of the predicted root mean square. The prediction is on the safe
# side already: it rounds products of zeros too, which are exact.
LIMIT = 1.5

# Largest share of an output's spread (its standard deviation) that may be granted. Outputs that
# have nothing to do with each other differ by 1.4 times their spread: beyond this, the comparison
# would hardly tell a right program from a wrong one.
MEANINGFUL = 0.7

# Products that are added to one result are rounded one by one.
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedMatMul"}
AVERAGES = {"AveragePool", "GlobalAveragePool", "ReduceMean"}
# Operators whose results are rounded once.
ROUNDED = {"BatchNormalization", "Div", "HardSigmoid", "HardSwish", "LeakyRelu", "Mul", "PRelu", "Resize", "Upsample"}

TRIALS = 4


def predict(model, samples, step, largest):
    """The error to expect of each output: {name: (its root mean square, the output's spread)}.

    `model` is an ONNX file, `samples` are dictionaries of arrays by name, `step` is the distance
    between values of the format and `largest` its largest value.
    """
    with tempfile.TemporaryDirectory(prefix="npukit-") as folder:
        folded, noisy = (pathlib.Path(folder) / name for name in ("folded.onnx", "noisy.onnx"))
        exact = session(model, folded)
        onnx.save(perturbed(onnx.load(folded), step, largest), noisy)
        trial = session(noisy)
        wanted = [exact.run(None, sample) for sample in samples]
        found = [trial.run(None, {name: quantised(array, step, largest) for name, array in sample.items()})
                 for _ in range(TRIALS) for sample in samples]
    errors = [[f - w for f, w in zip(*pair)] for pair in zip(found, wanted * TRIALS)]
    names = [output.name for output in exact.get_outputs()]
    return {name: (rms([error[i] for error in errors]), float(np.std([want[i] for want in wanted])))
            for i, name in enumerate(names)}


def verdict(found, wanted, predicted, spread):
    """A program's error against the predicted: (in words, whether it is in order)."""
    error, granted = rms(found - wanted), LIMIT * predicted
    text = f"error {error / spread:.1%} of the spread, {granted / spread:.1%} granted"
    if granted > MEANINGFUL * spread:
        return f"{text}: the format leaves too little of the output to judge", False
    return text, error <= granted


def rms(values):
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def session(path, folded=None):
    """A session; also writes the model as it is after ONNX Runtime has folded what is constant."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if folded is not None:
        options.optimized_model_filepath = str(folded)
    return onnxruntime.InferenceSession(str(path), options)


def quantised(array, step, largest):
    """Floats on the format's grid."""
    if array.dtype != np.float32:
        return array
    return np.clip(np.round(array / step) * step, -largest - step, largest).astype(np.float32)


def perturbed(model, step, largest):
    """The model with the format's errors put in."""
    graph = model.graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = known_shapes(model, arrays)
    round_weights(graph, arrays, step, largest)
    nodes = []
    for number, node in enumerate(graph.node):
        if node.op_type == "BatchNormalization":
            round_normalisation(graph, node, number, arrays, step, largest)
        factor, deviation = errors_of(node, shapes, arrays, step)
        nodes.append(node)
        if (factor, deviation) != (1, 0):
            nodes += put_in(graph, node, number, factor, deviation)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def known_shapes(model, arrays):
    """Shapes by name; open dimensions are 0."""
    graph = shape_inference.infer_shapes(model).graph
    values = [*graph.value_info, *graph.input, *graph.output]
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values}
    return {**shapes, **{name: list(array.shape) for name, array in arrays.items()}}


def round_weights(graph, arrays, step, largest):
    """Rounds what is multiplied or added; the parameters of other operators are no numbers of the format."""
    users = [node for node in graph.node if node.op_type not in ("BatchNormalization", "Resize", "Upsample", "Pad")]
    rounded = {name for node in users for name in node.input}
    for tensor in graph.initializer:
        if tensor.name in rounded:
            array = quantised(arrays[tensor.name], step, largest)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def round_normalisation(graph, node, number, arrays, step, largest):
    """Gives a batch normalisation the rounded scale and shift that its parameters come down to."""
    scale, shift, mean, variance = (arrays[name] for name in node.input[1:5])
    epsilon = attribute(node, "epsilon", 1e-5)
    factor = scale / np.sqrt(variance + epsilon)
    rounded = [quantised(array.astype(np.float32), step, largest) for array in (factor, shift - mean * factor)]
    plain = [np.zeros_like(mean), np.full_like(variance, 1 - epsilon)]
    for index, array in enumerate([*rounded, *plain], start=1):
        node.input[index] = f"{node.output[0]}/{number}/parameter{index}"
        graph.initializer.append(numpy_helper.from_array(array, node.input[index]))


def errors_of(node, shapes, arrays, step):
    """By what a node's result is multiplied, and the standard deviation of what is added."""
    rounding = step / np.sqrt(12)
    if node.op_type in PRODUCTS:
        return 1, rounding * np.sqrt(terms(node, shapes))
    if node.op_type in AVERAGES:
        count = averaged(node, shapes, arrays)
        return float(np.round(1 / count / step) * step * count), rounding
    if node.op_type in ROUNDED:
        return 1, rounding
    return 1, 0


def terms(node, shapes):
    """Products that are added to one result."""
    if node.op_type in ("Conv", "ConvTranspose"):
        # [outputs, inputs of a group, kernel] and [inputs, outputs of a group, kernel].
        weights = shapes[node.input[1]]
        inputs = weights[1] if node.op_type == "Conv" else weights[0] // attribute(node, "group", 1)
        return inputs * int(np.prod(weights[2:]))
    weights, transposed = shapes[node.input[1]], attribute(node, "transB", 0)
    return weights[-1] if transposed else weights[-2]


def averaged(node, shapes, arrays):
    """Elements of a window."""
    image = shapes[node.input[0]]
    if node.op_type == "AveragePool":
        return int(np.prod(attribute(node, "kernel_shape", [])))
    if node.op_type == "GlobalAveragePool":
        return int(np.prod(image[2:]))
    axes = arrays[node.input[1]] if len(node.input) > 1 else attribute(node, "axes", range(len(image)))
    return int(np.prod([image[axis] for axis in axes]))


def attribute(node, name, default):
    """An attribute's value."""
    found = [helper.get_attribute_value(item) for item in node.attribute if item.name == name]
    return found[0] if found else default


def put_in(graph, node, number, factor, deviation):
    """The nodes that multiply and add, after a node whose first result they take over."""
    result, stem = node.output[0], f"{node.output[0]}/{number}"
    exact, scale, scaled, noise = (f"{stem}/{part}" for part in ("exact", "factor", "scaled", "noise"))
    node.output[0] = exact
    graph.initializer.append(numpy_helper.from_array(np.float32(factor), scale))
    drawn = {"mean": 0.0, "scale": float(deviation), "seed": float(number)}
    return [
        helper.make_node("Mul", [exact, scale], [scaled]),
        helper.make_node("RandomNormalLike", [scaled], [noise], **drawn),
        helper.make_node("Add", [scaled, noise], [result]),
    ]
