"""Tests networks as PyTorch's exporter writes them: import, evaluation, compilation.

    pip install -r requirements-onnx.txt
    python exported.py [--npu COMMAND] [PATTERN ...]

The graphs contain what exporters leave in them: an unknown batch size, Constant nodes, shapes computed by Shape, Gather
and Concat, transposed Gemm weights, Clip with operands for ReLU6, unfolded batch normalization, grouped and depthwise
convolutions, squeeze-and-excitation. Each is written at opsets 11, 13 and 17, compared with ONNX Runtime, compiled, and
run within the error of the number format.
"""

import argparse
import fnmatch
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import programs
from npu import Crash, Npu, Refusal, add_arguments

OPSETS = (11, 13, 17)
SIZE, CLASSES, SAMPLES = 32, 10, 4

# Maximum difference from ONNX Runtime, as a share of the largest value, for sums in another order.
BOUND = 1e-5


class Exporter:
    """A graph under construction, in the exporter's style."""

    def __init__(self, opset, seed):
        self.opset, self.generator = opset, np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def node(self, operator, operands, **attributes):
        """Adds a node; returns the name of its result."""
        name = f"/{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [f"{name}_output_0"], name, **attributes))
        return f"{name}_output_0"

    def constant(self, value, kind=np.int64):
        """Adds a Constant node."""
        return self.node("Constant", [], value=numpy_helper.from_array(np.array(value, kind)))

    def weights(self, shape, deviation, mean=0.0):
        """Adds a random initializer."""
        name = f"onnx::weight_{len(self.initializers)}"
        values = self.generator.normal(mean, deviation, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, x, inputs, outputs, kernel=3, stride=1, group=1):
        """Adds a Conv without bias, followed by BatchNormalization."""
        shape = [outputs, inputs // group, kernel, kernel]
        weights = self.weights(shape, np.sqrt(1 / np.prod(shape[1:])))
        x = self.node("Conv", [x, weights], dilations=[1, 1], group=group, kernel_shape=[kernel, kernel],
                      pads=[kernel // 2] * 4, strides=[stride, stride])
        scale, bias, mean = (self.weights([outputs], 0.1, at) for at in (1.0, 0.0, 0.0))
        variance = self.weights([outputs], 0.05, 0.5)
        training = {"training_mode": 0} if self.opset >= 14 else {}
        return self.node("BatchNormalization", [x, scale, bias, mean, variance], epsilon=1e-5, momentum=0.9, **training)

    def relu6(self, x):
        """Adds a Clip whose bounds are operands."""
        return self.node("Clip", [x, self.constant(0.0, np.float32), self.constant(6.0, np.float32)])

    def unsqueeze(self, x, axis):
        """Adds an Unsqueeze: the axes are an attribute up to opset 12."""
        if self.opset < 13:
            return self.node("Unsqueeze", [x], axes=[axis])
        return self.node("Unsqueeze", [x, self.constant([axis])])

    def mean(self, x, keep):
        """Adds the mean over an image, as torch.mean is exported."""
        return self.node("ReduceMean", [x], axes=[2, 3], keepdims=keep)

    def excite(self, x, channels):
        """Adds squeeze-and-excitation; the gate is a HardSigmoid."""
        gate = self.node("GlobalAveragePool", [x])
        gate = self.node("Relu", [self.biased(gate, channels, channels // 4)])
        gate = self.biased(gate, channels // 4, channels)
        return self.node("Mul", [self.node("HardSigmoid", [gate], alpha=1 / 6, beta=0.5), x])

    def biased(self, x, inputs, outputs):
        """Adds a 1x1 Conv with a bias."""
        weights, bias = self.weights([outputs, inputs, 1, 1], np.sqrt(1 / inputs)), self.weights([outputs], 0.1)
        return self.node("Conv", [x, weights, bias], dilations=[1, 1], group=1, kernel_shape=[1, 1],
                         pads=[0, 0, 0, 0], strides=[1, 1])

    def linear(self, x, inputs, outputs):
        """Adds a Gemm with weights in the layout of torch.nn.Linear."""
        weights, bias = self.weights([outputs, inputs], np.sqrt(1 / inputs)), self.weights([outputs], 0.1)
        return self.node("Gemm", [x, weights, bias], alpha=1.0, beta=1.0, transB=1)

    def view(self, x):
        """Adds x.view(x.size(0), -1), whose shape is computed."""
        batch = self.node("Gather", [self.node("Shape", [x]), self.constant(0)], axis=0)
        shape = self.node("Concat", [self.unsqueeze(batch, 0), self.constant([-1])], axis=0)
        return self.node("Reshape", [x, shape])

    def model(self, result):
        """Returns the model with the output `result`."""
        self.nodes[-1].output[0] = "output"
        assert result.startswith(self.nodes[-1].name)
        shaped = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "main_graph",
            [shaped("input", TensorProto.FLOAT, ["batch", 3, SIZE, SIZE])],
            [shaped("output", TensorProto.FLOAT, ["batch", CLASSES])], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def grouped(e):
    """Grouped convolutions, ReLU6, a residual, Flatten."""
    x = e.relu6(e.conv("input", 3, 16, stride=2))
    y = e.relu6(e.conv(x, 16, 16, group=4))
    x = e.node("Add", [e.conv(y, 16, 16, kernel=1), x])
    x = e.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0], ceil_mode=0)
    x = e.node("Relu", [e.conv(x, 16, 32, stride=2)])
    x = e.node("Flatten", [e.node("GlobalAveragePool", [x])], axis=1)
    return e.linear(x, 32, CLASSES)


def mobile(e):
    """Inverted residuals of depthwise convolutions, ReduceMean."""
    x = e.relu6(e.conv("input", 3, 16, stride=2))
    y = e.relu6(e.conv(x, 16, 48, kernel=1))
    y = e.relu6(e.conv(y, 48, 48, group=48))
    x = e.node("Add", [x, e.conv(y, 48, 16, kernel=1)])
    y = e.relu6(e.conv(x, 16, 48, kernel=1))
    y = e.relu6(e.conv(y, 48, 48, stride=2, group=48))
    x = e.relu6(e.conv(y, 48, 64, kernel=1))
    return e.linear(e.mean(x, keep=0), 64, CLASSES)


def viewed(e):
    """A hidden layer after a view: shape arithmetic on an unknown batch size."""
    x = e.node("LeakyRelu", [e.conv("input", 3, 16, kernel=5, stride=2)], alpha=0.125)
    x = e.node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0], count_include_pad=1)
    x = e.node("Relu", [e.conv(x, 16, 8, stride=2)])
    x = e.node("Relu", [e.linear(e.view(x), 8 * 16, 32)])
    return e.linear(e.node("Dropout", [x]) if e.opset < 12 else x, 32, CLASSES)


def excited(e):
    """Squeeze and excitation."""
    x = e.node("Relu", [e.conv("input", 3, 16, stride=2)])
    x = e.node("Relu", [e.conv(e.excite(x, 16), 16, 32, stride=2)])
    x = e.node("Flatten", [e.mean(e.excite(x, 32), keep=1)], axis=1)
    return e.linear(x, 32, CLASSES)


NETWORKS = [grouped, mobile, viewed, excited]


def evaluated(npu, path, inputs):
    """Compares `npu eval` with ONNX Runtime; returns a text and success."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    wanted = onnxruntime.InferenceSession(path, options).run(None, inputs)[0]
    try:
        # The model runs once per sample, and once with all samples as a batch.
        apart, _ = npu.outputs("eval", path, inputs)
        batch, _ = npu.outputs("eval", path, inputs, "--batch", SAMPLES)
    except (Refusal, Crash) as error:
        return f"{type(error).__name__.lower()}: {error}", False
    worst = max(np.abs(found["output"] - wanted).max() / np.abs(wanted).max() for found in (apart, batch))
    return f"difference {worst:.1e}", bool(worst <= BOUND)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `grouped_*`")
    arguments = parser.parse_intermixed_args()
    npu, failed = Npu(arguments.npu), 0
    names = {f"{network.__name__}_opset{opset}": (network, opset) for network in NETWORKS for opset in OPSETS}
    for name, (network, opset) in names.items():
        if arguments.patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
            continue
        exporter = Exporter(opset, seed=len(network.__name__))
        path = npu.folder / f"{name}.onnx"
        onnx.save(exporter.model(network(exporter)), path)
        inputs = {"input": exporter.generator.normal(0, 1, (SAMPLES, 3, SIZE, SIZE)).astype(np.float32)}
        results = {"eval": evaluated(npu, path, inputs)}
        predicted = programs.predict(path, inputs)
        results.update({target: programs.judge(npu, path, inputs, predicted, target) for target in programs.TARGETS})
        for what, (text, good) in results.items():
            print(f"{'ok  ' if good else 'FAIL'} {name} {what}: {text}", flush=True)
            failed += not good
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
