"""Compares networks and single layers frozen by TensorFlow with TensorFlow, by `npu eval`.

    pip install -r requirements-tensorflow.txt
    python tensorflow_networks.py FOLDER [--npu COMMAND] [--full] [--make] [PATTERN ...]

Five Keras networks with random weights, small by default and of their usual size with `--full`, are frozen (`.pb`) and
exported by tf2onnx at opsets 13 and 17 (`.onnx`). Each file is evaluated and compared with TensorFlow. Then follow
graphs of one or two layers. The files stay in FOLDER; `NAME.npz` holds inputs (`in.NAME`) and outputs (`out.NAME`).
Nothing is downloaded.

`--make` only makes the files. PATTERNs select networks and cases by name. The last line has the numbers of passed and
failed cases; one failure makes the exit status 1.
"""

import argparse
import fnmatch
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # plain kernels, which sum in the same order everywhere

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tensorflow_layers
from npu import Crash, Npu, Refusal, add_arguments

# Maximum difference, relative to the largest output.
TOLERANCE = 1e-4

OPSETS = (13, 17)

layers = tf.keras.layers


# --- networks ------------------------------------------------------------------------------


def resnet20v2(size):
    """ResNet-20v2 for CIFAR, bottleneck form: three stages of two blocks."""

    def layer(x, filters, kernel=3, strides=1, normalize=True, activate=True, conv_first=False):
        conv = layers.Conv2D(filters, kernel, strides, "same", kernel_initializer="he_normal")
        x = conv(x) if conv_first else x
        x = layers.BatchNormalization()(x) if normalize else x
        x = layers.ReLU()(x) if activate else x
        return x if conv_first else conv(x)

    inputs = tf.keras.Input((size, size, 3))
    x, filters = layer(inputs, 16, conv_first=True), 16
    for stage in range(3):
        wider = filters * (4 if stage == 0 else 2)
        for block in range(2):
            strides = 2 if stage > 0 and block == 0 else 1
            first = stage == 0 and block == 0
            y = layer(x, filters, 1, strides, normalize=not first, activate=not first)
            y = layer(layer(y, filters), wider, 1)
            if block == 0:
                x = layer(x, wider, 1, strides, normalize=False, activate=False)
            x = layers.Add()([x, y])
        filters = wider
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Flatten()(layers.AveragePooling2D(size // 4)(x))
    return tf.keras.Model(inputs, layers.Dense(10, "softmax")(x))


def yolov4_tiny(size, classes=80):
    """YOLOv4-tiny: three CSP stages, leaky ReLUs, one upsampling, two heads."""

    def conv(x, filters, kernel, strides=1):
        if strides == 2:
            x = layers.ZeroPadding2D(((1, 0), (1, 0)))(x)
        padding = "same" if strides == 1 else "valid"
        x = layers.Conv2D(filters, kernel, strides, padding, use_bias=False, kernel_initializer="he_normal")(x)
        return layers.LeakyReLU(0.1)(layers.BatchNormalization()(x))

    def head(x, filters):
        x = conv(x, filters, 3)
        return layers.Conv2D(3 * (5 + classes), 1, kernel_initializer="he_normal")(x)

    def csp(x, filters, half):
        route = conv(x, filters, 3)
        x = layers.Lambda(half)(route)
        first = conv(x, filters // 2, 3)
        x = layers.Concatenate()([conv(first, filters // 2, 3), first])
        inner = conv(x, filters, 1)
        return layers.MaxPooling2D(2, 2, "same")(layers.Concatenate()([route, inner])), inner

    inputs = tf.keras.Input((size, size, 3))
    x = conv(conv(inputs, 32, 3, 2), 64, 3, 2)
    # The second half of the channels, in both notations.
    x, _ = csp(x, 64, lambda x: tf.split(x, 2, axis=-1)[1])
    x, _ = csp(x, 128, lambda x: x[..., x.shape[-1] // 2 :])
    x, middle = csp(x, 256, lambda x: tf.split(x, 2, axis=-1)[1])
    x = conv(conv(x, 512, 3), 256, 1)
    large = head(x, 512)
    x = conv(x, 128, 1)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    small = head(layers.Concatenate()([x, middle]), 256)
    return tf.keras.Model(inputs, [small, large])


def application(make):
    """A network of `tf.keras.applications`, without its trained weights."""
    return lambda size: make(input_shape=(size, size, 3), weights=None)


# Name, maker, size for tests, size for `--full`.
NETWORKS = [
    ("resnet20v2", resnet20v2, 32, [32]),
    ("mobilenet_v1", application(tf.keras.applications.MobileNet), 96, [224]),
    ("mobilenet_v2", application(tf.keras.applications.MobileNetV2), 96, [224]),
    ("yolov4_tiny", yolov4_tiny, 96, [192, 416]),
    ("resnet50v2", application(tf.keras.applications.ResNet50V2), 96, [224]),
]


def settle(model, generator):
    """Draws weights for a model under which activations neither vanish nor explode.

    Biases, scales and offsets are random. The statistics of batch normalization are those of a random batch, set layer
    by layer, in one pass as in training.
    """
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.gamma.assign(generator.uniform(0.6, 1.2, layer.gamma.shape)) if layer.scale else None
            layer.beta.assign(generator.normal(0, 0.2, layer.beta.shape)) if layer.center else None
            layer.momentum = 0.0
        elif getattr(layer, "bias", None) is not None:
            layer.bias.assign(generator.normal(0, 0.1, layer.bias.shape))
    size = model.input_shape[1:]
    model(generator.normal(0, 1, (8, *size)).astype(np.float32), training=True)


# --- files ---------------------------------------------------------------------------------


def freeze(function, specs):
    """Returns the frozen graph of a function, as a ConcreteFunction."""
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    return convert_variables_to_constants_v2(concrete)


def feed(frozen, arrays):
    """Returns TensorFlow's results for `arrays`, by output name without `:0`."""
    results = frozen(*[tf.constant(array) for array in arrays.values()])
    results = results if isinstance(results, (list, tuple)) else [results]
    names = [tensor.name.removesuffix(":0") for tensor in frozen.outputs]
    return {name: np.asarray(result) for name, result in zip(names, results, strict=True)}


def save(path, graph_def, inputs, outputs):
    """Writes a graph and its arrays; returns the path of the graph."""
    path.write_bytes(graph_def.SerializeToString())
    named = {f"in.{name}": array for name, array in inputs.items()}
    named.update({f"out.{name}": array for name, array in outputs.items()})
    np.savez(path.with_suffix(".npz"), **named)
    return path


def make_network(folder, name, make, size):
    """Freezes a network and exports it; returns its files, inputs and outputs."""
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(sum(name.encode()))
    generator = np.random.default_rng(sum(name.encode()))
    model = make(size)
    settle(model, generator)
    spec = tf.TensorSpec([None, size, size, 3], tf.float32, name="x")
    frozen = freeze(lambda x: model(x, training=False), [spec])
    inputs = {"x": generator.normal(0, 1, (2, size, size, 3)).astype(np.float32)}
    outputs = feed(frozen, inputs)
    graph_def = frozen.graph.as_graph_def()
    files = [save(folder / f"{name}_{size}.pb", graph_def, inputs, outputs)]
    return files + export(files[0], graph_def, list(outputs)), inputs, outputs


def export(path, graph_def, outputs):
    """Converts the graph with tf2onnx, at each opset."""
    import tf2onnx

    files = []
    for opset in OPSETS:
        files.append(path.with_name(f"{path.stem}_opset{opset}.onnx"))
        tf2onnx.convert.from_graph_def(
            graph_def,
            input_names=["x:0"],
            output_names=[f"{name}:0" for name in outputs],
            opset=opset,
            output_path=str(files[-1]),
        )
    return files


def make_case(folder, case):
    """Freezes a case; returns its file, inputs, outputs and options."""
    generator = np.random.default_rng(sum(case.name.encode()))
    tf.keras.utils.set_random_seed(sum(case.name.encode()))
    inputs = {f"x{i}": draw(generator) for i, draw in enumerate(case.inputs)}
    specs = [
        tf.TensorSpec([None, *array.shape[1:]] if case.open_batch else array.shape, array.dtype, name=name)
        for name, array in inputs.items()
    ]
    function = case.make(generator)
    # Parameters of the function that have values are not inputs.
    frozen = freeze(lambda *x: function(*x), specs)
    graph_def = frozen.graph.as_graph_def()
    names = [tensor.name.removesuffix(":0") for tensor in frozen.outputs]
    if case.reference is None:
        outputs = feed(frozen, inputs)
    else:
        results = case.reference(function)(*inputs.values())
        outputs = dict(zip(names, [np.asarray(result) for result in results], strict=True))
    # Results that are inputs or constants have no separate node for an output.
    path = save(folder / f"{case.name}.pb", graph_def, inputs, outputs)
    batch = ["--batch", str(next(iter(inputs.values())).shape[0])] if case.open_batch else []
    return path, inputs, outputs, [*batch, "--outputs", ",".join(names)]


# --- comparison ----------------------------------------------------------------------------


def difference(found, expected):
    """Returns the largest difference relative to the largest output, or the reason why it cannot be computed."""
    if found.shape != expected.shape:
        return None, f"shape {found.shape}, TensorFlow has {expected.shape}"
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
        return None, "infinite where TensorFlow is not, or the other way round"
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return None, "other infinities than TensorFlow's"
    if not finite.any():
        return 0.0, ""
    scale = max(np.abs(expected[finite]).max(), 1e-30)
    return float(np.abs(found - expected)[finite].max() / scale), ""


def judge(npu, path, inputs, outputs, options=()):
    """Evaluates a file; returns a text, and whether it agrees."""
    try:
        found, _ = npu.outputs("eval", path, inputs, *options)
    except (Refusal, Crash) as error:
        return f"{type(error).__name__.lower()}: {error}", False
    found = {name.removesuffix(":0"): array for name, array in found.items()}
    if set(found) != set(outputs):
        return f"outputs {sorted(found)}, TensorFlow has {sorted(outputs)}", False
    worst = 0.0
    for name, expected in outputs.items():
        relative, complaint = difference(found[name], expected)
        if complaint:
            return f"{name}: {complaint}", False
        exact = expected.dtype.kind not in "f"
        if relative > (0 if exact else TOLERANCE):
            return f"{name}: difference {relative:.2e}", False
        worst = max(worst, relative)
    return f"difference {worst:.1e}", True


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="folder of the files")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `mobilenet*`")
    parser.add_argument("--quick", action="store_true", help="only the first network, and all cases")
    parser.add_argument("--full", action="store_true", help="networks in their usual size, no cases")
    parser.add_argument("--make", action="store_true", help="only make the files")
    add_arguments(parser)
    return parser.parse_intermixed_args()


def main():
    """Makes and tests the selected networks and cases."""
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    npu = None if options.make else Npu(options.npu)
    wanted = lambda name: not options.patterns or any(fnmatch.fnmatch(name, p) for p in options.patterns)
    passed = failed = 0

    def report(path, *case):
        nonlocal passed, failed
        text, good = ("made", True) if npu is None else judge(npu, path, *case)
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {path.name}: {text}", flush=True)

    for name, make, small, full in NETWORKS[:1] if options.quick else NETWORKS:
        for size in (full if options.full else [small]) if wanted(name) else []:
            files, inputs, outputs = make_network(options.folder, name, make, size)
            for path in files:
                # tf2onnx keeps TensorFlow's names of tensors, including `:0`.
                mark = ":0" if path.suffix == ".onnx" else ""
                report(path, {name + mark: array for name, array in inputs.items()}, outputs)
    for case in [] if options.full else tensorflow_layers.cases():
        if wanted(case.name):
            report(*make_case(options.folder, case))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
