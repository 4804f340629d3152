"""Expected error of a network in a fixed-point format, from an independent model.

Main function: `predict`. ONNX Runtime evaluates the network with the errors that the format causes in any compiler:

- inputs and weights are rounded to the format, and so are scale and shift of a batch normalization that does not fold
  into a convolution;
- every product of a convolution or matrix product is rounded before it is added: K products cause a normal error with
  a variance of K steps squared over 12;
- an average is a sum times the rounded reciprocal of the window's size;
- every other multiplication rounds its result once.

The difference from the same network without these errors is a sample of the unavoidable error of the format. A program
is good if its own error is not larger: see `verdict`.
"""

import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, shape_inference

# Allowed error, as a multiple of the predicted root mean square. The prediction is conservative: it also rounds
# products of zeros, which are exact.
LIMIT = 1.5

# Largest share of an output's spread (its standard deviation) that is allowed as an error. Unrelated outputs differ by
# 1.4 times their spread: beyond this limit, the comparison would hardly detect a wrong program.
MEANINGFUL = 0.7

# Operators whose products are rounded one by one before the sum.
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedMatMul"}
AVERAGES = {"AveragePool", "GlobalAveragePool", "ReduceMean"}
# Operators whose results are rounded once.
ROUNDED = {"BatchNormalization", "Div", "HardSigmoid", "HardSwish", "LeakyRelu", "Mul", "PRelu", "Resize", "Upsample"}

TRIALS = 4


def predict(model, samples, step, largest):
    """Returns the expected error of each output: {name: (its root mean square, the output's spread)}.

    `model` is an ONNX file, `samples` are dictionaries of arrays by name, `step` is the distance between values of the
    format and `largest` its largest value.
    """
    with tempfile.TemporaryDirectory(prefix="npukit-") as folder:
        folded, noisy = (pathlib.Path(folder) / name for name in ("folded.onnx", "noisy.onnx"))
        exact = session(model, folded)
        onnx.save(perturbed(onnx.load(folded), step, largest), noisy)
        trial = session(noisy)
        wanted = [exact.run(None, sample) for sample in samples]
        found = [trial.run(None, {name: quantized(array, step, largest) for name, array in sample.items()})
                 for _ in range(TRIALS) for sample in samples]
    errors = [[f - w for f, w in zip(*pair)] for pair in zip(found, wanted * TRIALS)]
    names = [output.name for output in exact.get_outputs()]
    return {name: (rms([error[i] for error in errors]), float(np.std([want[i] for want in wanted])))
            for i, name in enumerate(names)}


def verdict(found, wanted, predicted, spread):
    """Compares a program's error with the prediction: (text, success)."""
    error, granted = rms(found - wanted), LIMIT * predicted
    text = f"error {error / spread:.1%} of the spread, {granted / spread:.1%} granted"
    if granted > MEANINGFUL * spread:
        return f"{text}: the format leaves too little of the output to judge", False
    return text, error <= granted


def rms(values):
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def session(path, folded=None):
    """Creates a session; also writes the model after ONNX Runtime's constant folding."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if folded is not None:
        options.optimized_model_filepath = str(folded)
    return onnxruntime.InferenceSession(str(path), options)


def quantized(array, step, largest):
    """Rounds floats to the grid of the format."""
    if array.dtype != np.float32:
        return array
    return np.clip(np.round(array / step) * step, -largest - step, largest).astype(np.float32)


def perturbed(model, step, largest):
    """Adds the format's errors to the model."""
    graph = model.graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = known_shapes(model, arrays)
    round_weights(graph, arrays, step, largest)
    nodes = []
    for number, node in enumerate(graph.node):
        if node.op_type == "BatchNormalization":
            round_normalization(graph, node, number, arrays, step, largest)
        factor, deviation = errors_of(node, shapes, arrays, step)
        nodes.append(node)
        if (factor, deviation) != (1, 0):
            nodes += put_in(graph, node, number, factor, deviation)
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def known_shapes(model, arrays):
    """Returns shapes by name; open dimensions are 0."""
    graph = shape_inference.infer_shapes(model).graph
    values = [*graph.value_info, *graph.input, *graph.output]
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values}
    return {**shapes, **{name: list(array.shape) for name, array in arrays.items()}}


def round_weights(graph, arrays, step, largest):
    """Rounds multiplied and added constants. Parameters of other operators are not numbers of the format."""
    users = [node for node in graph.node if node.op_type not in ("BatchNormalization", "Resize", "Upsample", "Pad")]
    rounded = {name for node in users for name in node.input}
    for tensor in graph.initializer:
        if tensor.name in rounded:
            array = quantized(arrays[tensor.name], step, largest)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def round_normalization(graph, node, number, arrays, step, largest):
    """Rounds the scale and shift to which the parameters of a batch normalization reduce."""
    scale, shift, mean, variance = (arrays[name] for name in node.input[1:5])
    epsilon = attribute(node, "epsilon", 1e-5)
    factor = scale / np.sqrt(variance + epsilon)
    rounded = [quantized(array.astype(np.float32), step, largest) for array in (factor, shift - mean * factor)]
    plain = [np.zeros_like(mean), np.full_like(variance, 1 - epsilon)]
    for index, array in enumerate([*rounded, *plain], start=1):
        node.input[index] = f"{node.output[0]}/{number}/parameter{index}"
        graph.initializer.append(numpy_helper.from_array(array, node.input[index]))


def errors_of(node, shapes, arrays, step):
    """Factor of a node's result, and standard deviation of the added error."""
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
    """Number of products that are added to one result."""
    if node.op_type in ("Conv", "ConvTranspose"):
        # [outputs, inputs of a group, kernel] and [inputs, outputs of a group, kernel].
        weights = shapes[node.input[1]]
        inputs = weights[1] if node.op_type == "Conv" else weights[0] // attribute(node, "group", 1)
        return inputs * int(np.prod(weights[2:]))
    weights, transposed = shapes[node.input[1]], attribute(node, "transB", 0)
    return weights[-1] if transposed else weights[-2]


def averaged(node, shapes, arrays):
    """Number of elements of a window."""
    image = shapes[node.input[0]]
    if node.op_type == "AveragePool":
        return int(np.prod(attribute(node, "kernel_shape", [])))
    if node.op_type == "GlobalAveragePool":
        return int(np.prod(image[2:]))
    axes = arrays[node.input[1]] if len(node.input) > 1 else attribute(node, "axes", range(len(image)))
    return int(np.prod([image[axis] for axis in axes]))


def attribute(node, name, default):
    """Value of an attribute."""
    found = [helper.get_attribute_value(item) for item in node.attribute if item.name == name]
    return found[0] if found else default


def put_in(graph, node, number, factor, deviation):
    """Adds the nodes that multiply and add, after a node whose first result they replace."""
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
