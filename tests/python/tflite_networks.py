"""Compares TensorFlow Lite files with TensorFlow Lite's own interpreter, by `npu eval`.

    pip install -r requirements-tensorflow.txt
    python tflite_networks.py [--npu COMMAND] [PATTERN ...]

Keras networks and single layers with random weights are converted in three ways: in float, with weights of 16-bit
floats, and with 8-bit integers, with ranges measured on random samples (by channel, the converter's default). The float
forms must agree with the interpreter within 1e-4 of the largest output. The integers are compared byte by byte with the
interpreter's XNNPACK kernels and with its reference kernels. These differ from each other, as neither documents nor
schema define their rounding. Our results may differ from the nearer of the two by their mutual difference, and by one
step in `SHARE` of the elements.
"""

import argparse
import fnmatch
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

from npu import Crash, Npu, Refusal, add_arguments

TOLERANCE = 1e-4

# For 16-bit activations: Softmax and Logistic are tables, a few of the 32,768 steps off.
TOLERANCE_16 = 3e-4

# Share of integers that may be off by one step where the two sets of kernels agree.
SHARE = 0.05

layers = tf.keras.layers


def cnn():
    """A residual network: batch normalization, ReLU6, depthwise, dilated, pools, a classifier."""
    x = inputs = tf.keras.Input((24, 24, 3), batch_size=1)
    x = layers.ReLU(6)(layers.BatchNormalization()(layers.Conv2D(16, 3, 2, "same", use_bias=False)(x)))
    y = layers.ReLU(6)(layers.DepthwiseConv2D(3, 1, "same")(x))
    y = layers.Conv2D(16, 1)(y)
    x = layers.Add()([x, y])
    x = layers.MaxPooling2D(2)(x)
    y = layers.Conv2D(24, 3, padding="same", dilation_rate=2, activation="relu")(x)
    x = layers.Concatenate()([x, y])
    x = layers.AveragePooling2D(2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def keywords():
    """A network for keyword spotting: one time axis, as in DS-CNN."""
    x = inputs = tf.keras.Input((49, 10), batch_size=1)
    x = layers.Reshape((49, 10, 1))(x)
    x = layers.Conv2D(32, (10, 4), 2, "same", activation="relu")(x)
    for _ in range(2):
        x = layers.DepthwiseConv2D(3, 1, "same", activation="relu")(x)
        x = layers.Conv2D(32, 1, activation="relu")(x)
    x = layers.AveragePooling2D((25, 5))(x)
    return tf.keras.Model(inputs, layers.Dense(12)(layers.Flatten()(x)))


def sensors():
    """Dense layers and one-axis convolutions on sensor data."""
    x = inputs = tf.keras.Input((64, 6), batch_size=1)
    x = layers.Conv1D(16, 5, 2, "same", activation="relu")(x)
    x = layers.Conv1D(16, 3, padding="causal", activation="tanh")(x)
    x = layers.MaxPooling1D(2)(x)
    x = layers.Dense(24, activation="relu")(x)
    x = layers.Dense(8, activation="sigmoid")(layers.Flatten()(x))
    return tf.keras.Model(inputs, layers.Dense(2)(x))


def segmenter():
    """An encoder and a decoder: transposed convolutions, both kinds of resizing, PReLU, LeakyReLU."""
    x = inputs = tf.keras.Input((16, 16, 3), batch_size=1)
    a = layers.LeakyReLU(0.2)(layers.Conv2D(8, 3, 2, "same")(x))
    b = layers.PReLU(shared_axes=[1, 2], alpha_initializer="random_uniform")(layers.Conv2D(16, 3, 2, "same")(a))
    x = layers.Conv2DTranspose(8, 3, 2, "same")(b)
    x = layers.Concatenate()([x, a])
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    y = layers.UpSampling2D(4)(b)
    x = layers.Concatenate()([x, y])
    return tf.keras.Model(inputs, layers.Conv2D(2, 1)(x))


def recurrent(layer):
    """A recurrent layer, which the converter converts to one operator or a loop."""
    inputs = tf.keras.Input((5, 4), batch_size=1)
    return tf.keras.Model(inputs, layers.Dense(3)(layer(inputs)))


RECURRENT = {
    "lstm": lambda: recurrent(layers.LSTM(6, return_sequences=True, bias_initializer="random_uniform")),
    "lstm_last": lambda: recurrent(layers.LSTM(6)),
    "gru": lambda: recurrent(layers.GRU(6, return_sequences=True)),
    "rnn": lambda: recurrent(layers.SimpleRNN(6, return_sequences=True)),
    "bidirectional": lambda: recurrent(layers.Bidirectional(layers.LSTM(4, return_sequences=True))),
    "bidirectional_gru": lambda: recurrent(layers.Bidirectional(layers.GRU(4))),
}


def single(shape, function):
    """A network of one function of an input."""
    inputs = tf.keras.Input(shape, batch_size=1)
    return tf.keras.Model(inputs, layers.Lambda(function)(inputs))


GENERATOR = np.random.default_rng(3)
VOLUME = GENERATOR.normal(0, 1, (2, 3, 2, 4, 4)).astype(np.float32)
TABLE = GENERATOR.normal(0, 1, (6, 5)).astype(np.float32)

FUNCTIONS = {
    "abs": lambda x: tf.abs(x),
    "argmax": lambda x: tf.argmax(x, -1),
    "batch_matmul": lambda x: tf.matmul(x, x, transpose_b=True),
    "bucketize": lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.7]),
    "clip": lambda x: tf.clip_by_value(x, -1, 1),
    "compare": lambda x: tf.where(x > 0.25, x, x * x),
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0),
    "conv_3d": lambda x: tf.nn.conv3d(x[:, None] * tf.ones([1, 3, 1, 1, 1]), VOLUME, [1, 1, 2, 1, 1], "SAME"),
    "conv_3d_transpose": lambda x: tf.nn.conv3d_transpose(x[:, :, :, None], VOLUME, [1, 6, 8, 2, 4], [1, 1, 1, 2, 1]),
    "cumsum": lambda x: tf.cumsum(x, 2, exclusive=True, reverse=True),
    "depth_to_space": lambda x: tf.nn.depth_to_space(x, 2),
    "elu": tf.nn.elu,
    "exp": lambda x: tf.exp(-tf.abs(x)),
    "expand": lambda x: tf.squeeze(tf.expand_dims(x, 1), 1) + 1.0,
    "gather": lambda x: tf.gather(x, [3, 0, 0], axis=2),
    "gather_nd": lambda x: tf.gather_nd(x[0], [[3, 1], [0, 7]]),
    "gelu": lambda x: tf.nn.gelu(x),
    "hard_swish": lambda x: x * tf.nn.relu6(x + 3) / 6,
    "l2_normalize": lambda x: tf.math.l2_normalize(x, -1),
    "log_softmax": tf.nn.log_softmax,
    "matrix_diag": lambda x: tf.linalg.diag(x[:, 0]),
    "maximum": lambda x: tf.maximum(tf.minimum(x, 0.5), x * 0.1),
    "mean": lambda x: tf.reduce_mean(x, 2, keepdims=True),
    "mirror_pad": lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 0], [0, 0]], "SYMMETRIC"),
    "one_hot": lambda x: tf.one_hot(tf.cast(x[:, 0] * 2, tf.int32), 3, 5.0, -1.0),
    "pack": lambda x: tf.stack(tf.unstack(x, axis=2), axis=1),
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], constant_values=0.0),
    "padv2": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], constant_values=0.5),
    "pow": lambda x: tf.pow(tf.abs(x) + 0.1, 1.5),
    "reduce": lambda x: tf.reduce_max(x, [1, 2]) - tf.reduce_sum(x, [1, 2]),
    "resize_aligned": lambda x: tf.compat.v1.image.resize_bilinear(x, [9, 13], align_corners=True),
    "resize_nearest": lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, [9, 13]),
    "reverse": lambda x: tf.reverse(x, [1, 2]),
    "rfft": lambda x: tf.abs(tf.signal.rfft(x[:, :, :, 0], [16])),
    "rfft_2d": lambda x: tf.math.imag(tf.signal.rfft2d(x[:, :, :, 0], [4, 16])),
    "rsqrt": lambda x: tf.math.rsqrt(tf.square(x) + 1),
    "scatter_nd": lambda x: tf.scatter_nd([[3], [1], [3]], x[0, :3], [5, 8, 4]),
    "segment_sum": lambda x: tf.math.segment_sum(x[0], [0, 0, 1, 1, 1, 2]),
    "slice": lambda x: tf.slice(x, [0, 1, 0, 2], [1, 3, -1, 2]),
    "softmax": tf.nn.softmax,
    "space_to_depth": lambda x: tf.nn.space_to_depth(x, 2),
    "split": lambda x: tf.concat(tf.split(x, 2, axis=3)[::-1], 3),
    "split_v": lambda x: tf.split(x, [1, 3], axis=3)[1] * 2,
    "squared_difference": lambda x: tf.math.squared_difference(x, 0.5),
    "strided_slice": lambda x: x[:, ::2, 1:, ::-1] + 0.0,
    "sub_div": lambda x: (x - 0.25) / 1.5,
    "tanh": tf.tanh,
    "tile": lambda x: tf.tile(x, [1, 1, 2, 1]),
    "top_k": lambda x: tf.math.top_k(x, 2)[0],
    "transpose": lambda x: tf.transpose(x, [0, 3, 1, 2]),
    "while": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5 - 0.1), (0, x))[1],
    "while_open": lambda x: tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) < 1e4, lambda y: (y * 2.0,), (x,))[0],
}


def models():
    """Names and makers of the networks."""
    for make in (cnn, keywords, sensors, segmenter):
        yield make.__name__, make
    yield from RECURRENT.items()
    for name, function in FUNCTIONS.items():
        yield name, lambda function=function: single((6, 8, 4), function)


# Functions that the converter does not quantize.
FLOATS = {"bucketize", "cond", "conv_3d", "conv_3d_transpose", "cumsum", "matrix_diag", "one_hot", "rfft", "rfft_2d",
          "scatter_nd", "segment_sum", "while", "while_open"}


def forms(name):
    """Forms to which a network is converted."""
    if name in RECURRENT or name in FLOATS:
        return ("f32",)
    if name == "segmenter":
        # The converter does not support a 16-bit PRelu.
        return ("f32", "f16", "i8")
    return ("f32", "i8") if name in FUNCTIONS else ("f32", "f16", "i8", "i16")


def sample(model, generator):
    return generator.normal(0, 1, model.inputs[0].shape).astype(np.float32)


def converted(model, form):
    """Writes the file, in float (`f32`), with 16-bit weights (`f16`), with 8-bit integers (`i8`), or with 16-bit
    activations and 8-bit weights (`i16`).
    """
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if form == "f16":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = [tf.float16]
    if form in ("i8", "i16"):
        generator = np.random.default_rng(1)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([sample(model, generator)] for _ in range(16))
        wide = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        ops = tf.lite.OpsSet.TFLITE_BUILTINS_INT8 if form == "i8" else wide
        converter.target_spec.supported_ops = [ops]
        element = tf.int8 if form == "i8" else tf.int16
        converter.inference_input_type = converter.inference_output_type = element
    return converter.convert()


KERNELS = {
    "XNNPACK": tf.lite.experimental.OpResolverType.AUTO,
    "reference": tf.lite.experimental.OpResolverType.BUILTIN_REF,
}


def interpreted(content, kernels, array):
    """Returns the name of the input, and the interpreter's results by the names of the outputs' tensors; empty if that
    set of kernels does not support the file.
    """
    try:
        interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=KERNELS[kernels])
        interpreter.allocate_tensors()
    except ValueError:
        return None
    detail = interpreter.get_input_details()[0]
    if detail["dtype"] != np.float32:
        scale, zero = detail["quantization"]
        info = np.iinfo(detail["dtype"])
        array = np.clip(np.rint(array / scale) + zero, info.min, info.max).astype(detail["dtype"])
    interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    outputs = {one["name"]: interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()}
    return {detail["name"]: array}, outputs


def apart(found, expected):
    """Returns the largest difference and the share of different elements."""
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return difference.max(initial=0), np.count_nonzero(difference) / max(1, difference.size)


def compare(npu, name, model, form):
    """Tests one file; returns a text, and raises an error if it differs from the interpreter."""
    content = converted(model, form)
    path = npu.folder / f"{name}.tflite"
    path.write_bytes(content)
    array = sample(model, np.random.default_rng(2))
    said = {kernels: interpreted(content, kernels, array) for kernels in KERNELS}
    said = {kernels: given for kernels, given in said.items() if given}
    inputs, _ = next(iter(said.values()))
    outputs, _ = npu.outputs("eval", path, inputs)
    results = []
    for place, found in enumerate(outputs.values()):
        expected = {kernels: list(given.values())[place] for kernels, (_, given) in said.items()}
        want = next(iter(expected.values()))
        if found.shape != want.shape:
            raise AssertionError(f"shape {found.shape} instead of {want.shape}")
        if form != "i8" or not np.issubdtype(want.dtype, np.integer):
            error = apart(found, want)[0] / max(1e-30, np.abs(want.astype(np.float64)).max(initial=0))
            if error > (TOLERANCE_16 if form == "i16" else TOLERANCE):
                raise AssertionError(f"off by {error:.2e} of the largest")
            results.append(f"{error:.0e}")
            continue
        by_kernels = {kernels: apart(found, want) for kernels, want in expected.items()}
        largest, share = min(by_kernels.values())
        their_largest, their_share = apart(want, list(expected.values())[-1])
        if largest > max(1, their_largest) or share > max(SHARE, their_share):
            raise AssertionError(f"integers differ: {by_kernels}")
        results.append(
            ", ".join(f"{kernels} {steps:.0f} ({share:.1%})" for kernels, (steps, share) in by_kernels.items())
        )
    return "; ".join(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of files, with * and ?")
    parser.add_argument("--quick", action="store_true", help="only the last form of single functions")
    arguments = parser.parse_args()
    npu, passed, failed = Npu(arguments.npu), 0, 0
    for name, make in models():
        tf.keras.utils.set_random_seed(1)
        model = None
        for form in forms(name)[-1:] if arguments.quick and name in FUNCTIONS else forms(name):
            text = f"{name} {form}"
            if not any(fnmatch.fnmatch(text, pattern) for pattern in arguments.patterns):
                continue
            model = model or make()
            try:
                print(f"{text}: {compare(npu, name, model, form)}")
                passed += 1
            except (AssertionError, RuntimeError, Crash, Refusal) as error:
                print(f"FAILED {text}: {error}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
