"""Graphs of one or two layers, with random parameters, for `tensorflow_networks.py`.

`cases()` lists them; a new one is a line or a function here. Each is frozen by TensorFlow and compared with
TensorFlow's results. TensorFlow has no NCHW kernels for CPUs, so NCHW graphs are compared with the same layers in NHWC.
"""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

raw = tf.raw_ops


@dataclasses.dataclass
class Case:
    """A graph and its inputs."""

    # Name of the case and its files.
    name: str
    # Returns the function to freeze; draws its parameters from the generator.
    make: typing.Callable
    # For each input, a function that draws it from the generator.
    inputs: list
    # Whether to freeze the first axis of the inputs as unknown.
    open_batch: bool = False
    # For graphs that TensorFlow cannot run: converts the function to one that computes its outputs.
    reference: typing.Callable | None = None


def floats(*shape, low=-2.0, high=2.0):
    """Draws an input."""
    return lambda generator: generator.uniform(low, high, shape).astype(np.float32)


def integers(*shape, low=-9, high=9, dtype=np.int32):
    """Draws an input of integers."""
    return lambda generator: generator.integers(low, high, shape).astype(dtype)


def truth(*shape):
    """Draws an input of truth values."""
    return lambda generator: generator.integers(0, 2, shape).astype(bool)


def constant(generator, *shape, low=-1.0, high=1.0):
    """Draws a parameter."""
    return tf.constant(generator.uniform(low, high, shape).astype(np.float32))


def plain(name, function, *inputs, **others):
    """A case without parameters."""
    return Case(name, lambda generator: function, list(inputs), **others)


def convolutions():
    """Conv2D, DepthwiseConv2dNative and Conv2DBackpropInput."""
    listed = []

    def conv(name, image, kernel, strides=(1, 1), padding="SAME", dilations=(1, 1), explicit=()):
        def make(generator):
            weights = constant(generator, *kernel)
            return lambda x: raw.Conv2D(
                input=x,
                filter=weights,
                strides=[1, *strides, 1],
                padding=padding,
                dilations=[1, *dilations, 1],
                explicit_paddings=list(explicit),
            )

        listed.append(Case(name, make, [floats(*image)]))

    # SAME puts the odd row and column at the end; strides, sizes and kernels of both kinds.
    for size in (7, 8):
        for kernel in (1, 2, 3, 4, 5):
            for stride in (1, 2, 3):
                name = f"conv_same_{size}_k{kernel}_s{stride}"
                conv(name, (1, size, size + 1, 3), (kernel, kernel, 3, 4), (stride, stride))
    conv("conv_valid", (2, 9, 8, 3), (3, 2, 3, 5), (2, 1), "VALID")
    conv("conv_dilated_same", (1, 11, 10, 3), (3, 3, 3, 4), dilations=(2, 3))
    conv("conv_dilated_valid", (1, 11, 10, 3), (3, 2, 3, 4), padding="VALID", dilations=(3, 2))
    conv("conv_explicit", (1, 8, 8, 3), (3, 3, 3, 4), (2, 2), "EXPLICIT", explicit=[0, 0, 1, 2, 0, 3, 0, 0])

    def depthwise(name, image, kernel, stride=1, padding="SAME", dilation=1):
        def make(generator):
            weights = constant(generator, *kernel)
            return lambda x: tf.nn.depthwise_conv2d(
                x, weights, [1, stride, stride, 1], padding, dilations=[dilation, dilation]
            )

        listed.append(Case(name, make, [floats(*image)]))

    for stride in (1, 2):
        for multiplier in (1, 3):
            depthwise(f"depthwise_s{stride}_m{multiplier}", (1, 7, 8, 4), (3, 3, 4, multiplier), stride)
    depthwise("depthwise_valid", (1, 7, 8, 4), (2, 3, 4, 2), 2, "VALID")
    depthwise("depthwise_dilated", (1, 9, 9, 4), (3, 3, 4, 1), dilation=2)

    for padding in ("SAME", "VALID"):
        for kernel in (1, 2, 3, 4):
            for stride in (1, 2, 3):
                listed.append(keras(
                    f"conv_transpose_{padding.lower()}_k{kernel}_s{stride}",
                    lambda k=kernel, s=stride, p=padding: tf.keras.layers.Conv2DTranspose(5, k, s, p),
                    (5, 4, 3),
                ))
    listed.append(keras("conv_transpose_output", lambda: tf.keras.layers.Conv2DTranspose(
        5, 3, 2, "same", output_padding=1), (5, 4, 3)))

    def transposed(name, result, kernel, stride, explicit):
        def make(generator):
            weights = constant(generator, kernel, kernel, 2, 3)
            forward = tf.nn.conv2d(tf.zeros(result), weights, stride, [[0, 0], *explicit, [0, 0]])
            flat = [0, 0, *explicit[0], *explicit[1], 0, 0]
            x = constant(generator, *forward.shape)
            return lambda scale: raw.Conv2DBackpropInput(
                input_sizes=result, filter=weights, out_backprop=x * scale,
                strides=[1, stride, stride, 1], padding="EXPLICIT", explicit_paddings=flat)

        listed.append(Case(name, make, [floats()]))

    transposed("conv_transpose_explicit", [1, 9, 8, 2], 3, 2, [[1, 0], [2, 1]])
    return listed


def keras(name, make_layer, shape, **others):
    """A Keras layer with random weights, on a batch of two."""

    def make(generator):
        layer = make_layer()
        layer.build((None, *shape))
        for variable in layer.weights:
            positive = "variance" in variable.name
            low = 0.5 if positive else -1.0
            variable.assign(generator.uniform(low, 1.5, variable.shape).astype(np.float32))
        return lambda x: layer(x, training=False) if accepts_training(layer) else layer(x)

    return Case(name, make, [floats(2, *shape)], open_batch=True, **others)


def accepts_training(layer):
    """Whether the layer behaves differently in training."""
    return isinstance(layer, (tf.keras.layers.BatchNormalization, tf.keras.layers.Dropout))


def keras_layers():
    """Layers in the form in which Keras freezes them today."""
    k = tf.keras.layers
    listed = {
        "conv2d": (lambda: k.Conv2D(4, 3, padding="same", activation="relu"), (8, 8, 3)),
        "conv2d_dilated": (lambda: k.Conv2D(4, 3, padding="same", dilation_rate=2), (9, 8, 3)),
        "conv2d_dilated_valid": (lambda: k.Conv2D(4, 3, dilation_rate=(2, 3)), (11, 12, 3)),
        "conv1d": (lambda: k.Conv1D(4, 3, 2, padding="same"), (9, 3)),
        "conv1d_dilated": (lambda: k.Conv1D(4, 3, padding="same", dilation_rate=2), (9, 3)),
        "conv1d_causal": (lambda: k.Conv1D(4, 3, padding="causal", dilation_rate=2), (9, 3)),
        "conv1d_transpose": (lambda: k.Conv1DTranspose(4, 3, 2, padding="same"), (9, 3)),
        "separable": (lambda: k.SeparableConv2D(5, 3, depth_multiplier=2), (8, 8, 3)),
        "separable1d": (lambda: k.SeparableConv1D(5, 3, padding="same"), (8, 3)),
        "depthwise": (lambda: k.DepthwiseConv2D(3, 2, padding="same"), (8, 7, 3)),
        "depthwise_dilated": (lambda: k.DepthwiseConv2D(3, padding="same", dilation_rate=2), (8, 7, 3)),
        "depthwise1d": (lambda: k.DepthwiseConv1D(3, padding="same"), (8, 3)),
        "dense": (lambda: k.Dense(6, activation="softmax"), (5,)),
        "dense_on_images": (lambda: k.Dense(6), (4, 3, 5)),
        "einsum_dense": (lambda: k.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d"), (5, 3)),
        "batch_norm": (lambda: k.BatchNormalization(), (4, 5, 3)),
        "batch_norm_of_vectors": (lambda: k.BatchNormalization(), (7,)),
        "batch_norm_of_rows": (lambda: k.BatchNormalization(), (4, 3)),
        "batch_norm_unscaled": (lambda: k.BatchNormalization(scale=False, center=False), (4, 5, 3)),
        "layer_norm": (lambda: k.LayerNormalization(), (4, 6)),
        "group_norm": (lambda: k.GroupNormalization(2), (4, 3, 6)),
        "unit_norm": (lambda: k.UnitNormalization(), (4, 6)),
        "max_pool_same": (lambda: k.MaxPooling2D(3, 2, "same"), (8, 7, 3)),
        "max_pool_valid": (lambda: k.MaxPooling2D(2), (7, 8, 3)),
        "average_pool_same": (lambda: k.AveragePooling2D(3, 2, "same"), (8, 7, 3)),
        "average_pool_valid": (lambda: k.AveragePooling2D((2, 3)), (7, 8, 3)),
        "max_pool1d": (lambda: k.MaxPooling1D(2, padding="same"), (7, 3)),
        "average_pool1d": (lambda: k.AveragePooling1D(3), (7, 3)),
        "global_average_pool": (lambda: k.GlobalAveragePooling2D(), (6, 5, 3)),
        "global_average_pool_kept": (lambda: k.GlobalAveragePooling2D(keepdims=True), (6, 5, 3)),
        "global_max_pool": (lambda: k.GlobalMaxPooling2D(), (6, 5, 3)),
        "flatten": (lambda: k.Flatten(), (3, 4, 2)),
        "reshape": (lambda: k.Reshape((-1, 6)), (3, 4, 2)),
        "permute": (lambda: k.Permute((3, 1, 2)), (3, 4, 2)),
        "repeat": (lambda: k.RepeatVector(3), (5,)),
        "crop": (lambda: k.Cropping2D(((1, 2), (0, 1))), (6, 5, 2)),
        "zero_pad": (lambda: k.ZeroPadding2D(((1, 2), (0, 1))), (6, 5, 2)),
        "zero_pad1d": (lambda: k.ZeroPadding1D((1, 2)), (6, 5)),
        "upsample_nearest": (lambda: k.UpSampling2D(2), (4, 3, 2)),
        "upsample_bilinear": (lambda: k.UpSampling2D((2, 3), interpolation="bilinear"), (4, 3, 2)),
        "upsample1d": (lambda: k.UpSampling1D(2), (4, 3)),
        "resizing": (lambda: k.Resizing(5, 7), (4, 3, 2)),
        "rescaling": (lambda: k.Rescaling(1 / 127.5, -1), (4, 3, 2)),
        "leaky_relu": (lambda: k.LeakyReLU(0.1), (4, 3, 2)),
        "prelu": (lambda: k.PReLU(shared_axes=[1, 2]), (4, 3, 2)),
        "elu_alpha": (lambda: k.ELU(0.7), (4, 3, 2)),
        "relu_bounded": (lambda: k.ReLU(6.0, 0.1, 0.5), (4, 3, 2)),
        "thresholded_relu": (lambda: k.ThresholdedReLU(0.5), (4, 3, 2)),
        "softmax_over_rows": (lambda: k.Softmax(axis=1), (4, 3)),
        "dropout": (lambda: k.Dropout(0.5), (4, 3)),
    }
    listed = [keras(f"keras_{name}", make, shape) for name, (make, shape) in listed.items()]
    activations = """
        elu exponential gelu hard_sigmoid linear log_softmax mish relu selu sigmoid softmax softplus
        softsign swish tanh
    """.split()
    listed += [
        keras(f"keras_{name}", lambda name=name: k.Activation(name), (5, 4)) for name in activations
    ]
    attention = lambda x: k.Dot(axes=2)([x, x])
    listed.append(plain("keras_dot", attention, floats(2, 5, 3), open_batch=True))

    def attend(generator):
        layer = tf.keras.layers.MultiHeadAttention(2, 4)
        layer(tf.zeros((1, 5, 6)), tf.zeros((1, 5, 6)))
        for variable in layer.weights:
            variable.assign(generator.uniform(-1, 1, variable.shape).astype(np.float32))
        return lambda x: layer(x, x)

    listed.append(Case("keras_multi_head_attention", attend, [floats(2, 5, 6)], open_batch=True))
    return listed


def element_wise():
    """Functions of one, two and three elements."""
    listed = []
    anywhere = "Abs Atan Asinh Ceil Cos Cosh Elu Erf Erfc Exp Floor Neg Relu Relu6 Rint Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh Identity StopGradient Snapshot".split()
    positive = "Log Log1p Sqrt Rsqrt Reciprocal Inv Acosh".split()
    small = "Acos Asin Atanh".split()
    for names, draw in ((anywhere, floats(3, 5)), (positive, floats(3, 5, low=1.1)), (small, floats(3, 5, low=-0.9, high=0.9))):
        for name in names:
            operator = getattr(raw, name)
            argument = {"Elu": "features", "Relu": "features", "Relu6": "features", "Selu": "features", "Softplus": "features", "Softsign": "features", "Identity": "input", "StopGradient": "input", "Snapshot": "input"}.get(name, "x")
            listed.append(plain(f"unary_{name}", lambda x, o=operator, a=argument: o(**{a: x}), draw))
    listed.append(plain("leaky_relu", lambda x: raw.LeakyRelu(features=x, alpha=0.3), floats(3, 5)))
    listed.append(plain("check_numerics", lambda x: raw.CheckNumerics(tensor=x, message="no"), floats(3, 5)))
    listed.append(plain("prevent_gradient", lambda x: raw.PreventGradient(input=x, message="no"), floats(3)))
    listed.append(plain("clip_by_value", lambda x: tf.clip_by_value(x, -0.5, 0.75), floats(3, 5)))
    listed.append(plain("clip_op", lambda x: raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.75), floats(3, 5)))
    binary = "Add AddV2 Sub Mul RealDiv Div Maximum Minimum SquaredDifference FloorDiv FloorMod DivNoNan MulNoNan TruncateMod".split()
    for name in binary:
        operator = getattr(raw, name)
        listed.append(plain(f"binary_{name}", lambda x, y, o=operator: o(x=x, y=y), floats(2, 1, 5), floats(3, 1)))
        listed.append(Case(
            f"constant_{name}",
            lambda generator, o=operator: lambda x, c=constant(generator, 5): o(x=x, y=c),
            [floats(2, 3, 5)],
        ))
    listed.append(plain("binary_Pow", lambda x, y: raw.Pow(x=x, y=y), floats(3, 4, low=0.1), floats(4)))
    zeros = lambda x, y: raw.DivNoNan(x=x, y=tf.nn.relu(y))
    listed.append(plain("div_no_nan_zeros", zeros, floats(3, 4), floats(3, 4)))
    for name in "FloorDiv FloorMod TruncateDiv TruncateMod".split():
        operator = getattr(raw, name)
        divide = lambda x, y, o=operator: o(x=x, y=tf.where(y == 0, 3, y))
        listed.append(plain(f"integers_{name}", divide, integers(3, 4), integers(3, 4)))
    for name in "Equal NotEqual Less LessEqual Greater GreaterEqual".split():
        operator = getattr(raw, name)
        compare = lambda x, y, o=operator: tf.cast(o(x=x, y=y), tf.float32)
        listed.append(plain(f"compare_{name}", compare, integers(3, 4, low=0, high=3), integers(4, low=0, high=3)))
    for name in "LogicalAnd LogicalOr".split():
        operator = getattr(raw, name)
        listed.append(plain(f"logic_{name}", lambda x, y, o=operator: o(x=x, y=y), truth(3, 4), truth(4)))
    listed.append(plain("logic_LogicalNot", lambda x: raw.LogicalNot(x=x), truth(3, 4)))
    listed.append(plain("select_v2", lambda c, x, y: raw.SelectV2(condition=c, t=x, e=y), truth(3, 1), floats(3, 4), floats(4)))
    listed.append(plain("select_rows", lambda c, x, y: raw.Select(condition=c, x=x, y=y), truth(3), floats(3, 4), floats(3, 4)))
    listed.append(plain("add_n", lambda x, y: tf.add_n([x, y, x]), floats(3, 4), floats(3, 4)))
    listed.append(plain("identity_n", lambda x, y: raw.IdentityN(input=[x, y]), floats(3, 4), integers(2)))
    for dtype in (tf.int32, tf.int64, tf.bool, tf.float16, tf.float64, tf.uint8, tf.int8):
        cast = lambda x, d=dtype: tf.cast(tf.cast(x, d), tf.float32)
        listed.append(plain(f"cast_{dtype.name}", cast, floats(3, 4, low=0, high=90)))
    return listed


def products():
    """Matrices."""
    listed = []
    for a in (False, True):
        for b in (False, True):
            shape = (6, 5) if b else (5, 6)
            listed.append(Case(
                f"matmul_{a:d}{b:d}",
                lambda generator, a=a, b=b, shape=shape: lambda x, c=constant(generator, *shape): raw.MatMul(
                    a=x, b=c, transpose_a=a, transpose_b=b),
                [floats(5, 4) if a else floats(4, 5)],
            ))
            multiply = lambda x, y, a=a, b=b: raw.BatchMatMulV2(x=x, y=y, adj_x=a, adj_y=b)
            left = floats(2, 1, 5, 4) if a else floats(2, 1, 4, 5)
            listed.append(plain(f"batch_matmul_{a:d}{b:d}", multiply, left, floats(3, *shape)))
    multiply = lambda x, y: raw.BatchMatMul(x=x, y=y)
    listed.append(plain("batch_matmul_v1", multiply, floats(2, 4, 5), floats(2, 5, 3)))
    equations = ["ij,jk->ik", "bij,bjk->bik", "bthd,bshd->bhts", "ij->ji", "bij->bj", "bi,bi->b", "i,j->ij", "...ij,jk->...ik", "bhts,bshd->bthd"]
    sizes = dict(b=2, h=3, t=4, s=5, d=6, i=3, j=4, k=5)
    for number, equation in enumerate(equations):
        operands = equation.split("->")[0].replace("...", "bh").split(",")
        draws = [floats(*[sizes[label] for label in operand]) for operand in operands]
        listed.append(plain(f"einsum_{number}", lambda *x, e=equation: tf.einsum(e, *x), *draws))
        listed.append(plain(f"einsum_op_{number}", lambda *x, e=equation: raw.Einsum(inputs=list(x), equation=e), *draws))
    return listed


def pools_and_images():
    """Pools, normalizations, resizing, blocks."""
    listed = []
    for padding in ("SAME", "VALID"):
        for size in (7, 8):
            for kernel, stride in ((2, 2), (3, 2), (3, 1), (2, 3)):
                tail = f"{padding.lower()}_{size}_k{kernel}_s{stride}"
                options = dict(ksize=[1, kernel, kernel, 1], strides=[1, stride, stride, 1], padding=padding)
                listed.append(plain(f"max_pool_{tail}", lambda x, o=options: raw.MaxPool(input=x, **o), floats(1, size, size + 1, 3)))
                listed.append(plain(f"avg_pool_{tail}", lambda x, o=options: raw.AvgPool(value=x, **o), floats(1, size, size + 1, 3)))
    listed.append(plain("max_pool_v2", lambda x: raw.MaxPoolV2(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="SAME"), floats(1, 8, 7, 3)))
    listed.append(plain("max_pool_explicit", lambda x: raw.MaxPool(input=x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0]), floats(1, 8, 7, 3)))
    for version in ("", "V2", "V3"):
        def normalize(generator, version=version):
            scale, offset, mean = (constant(generator, 3) for _ in range(3))
            variance = constant(generator, 3, low=0.2, high=2.0)
            operator = getattr(raw, f"FusedBatchNorm{version}")
            return lambda x: operator(x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3, is_training=False)[0]
        listed.append(Case(f"fused_batch_norm{version}", normalize, [floats(2, 4, 5, 3)]))

    def by_hand(generator):
        gamma, beta, mean = (constant(generator, 3) for _ in range(3))
        variance = constant(generator, 3, low=0.2, high=2.0)
        return lambda x: tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)

    listed.append(Case("decomposed_batch_norm", by_hand, [floats(2, 4, 5, 3)]))
    listed.append(Case("bias_add", lambda generator: lambda x, c=constant(generator, 3): raw.BiasAdd(value=x, bias=c), [floats(2, 4, 3)]))
    listed.append(Case("bias_add_nchw", lambda generator: lambda x, c=constant(generator, 4): raw.BiasAdd(value=x, bias=c, data_format="NCHW"), [floats(2, 4, 3, 5)]))
    for radius in (1, 2, 5):
        listed.append(plain(f"lrn_{radius}", lambda x, r=radius: raw.LRN(input=x, depth_radius=r, bias=1.5, alpha=0.3, beta=0.75), floats(1, 3, 4, 7)))
    for operator in (raw.ResizeBilinear, raw.ResizeNearestNeighbor):
        for align, half in ((False, False), (True, False), (False, True)):
            for height, width in ((10, 6), (7, 9), (3, 2), (1, 1), (5, 3), (13, 29)):
                name = f"resize_{'bilinear' if operator is raw.ResizeBilinear else 'nearest'}_{align:d}{half:d}_{height}x{width}"
                listed.append(plain(name, lambda x, o=operator, a=align, h=half, s=(height, width): o(images=x, size=s, align_corners=a, half_pixel_centers=h), floats(2, 5, 3, 4)))
    for block in (2, 3):
        listed.append(plain(f"depth_to_space_{block}", lambda x, b=block: raw.DepthToSpace(input=x, block_size=b), floats(2, 3, 4, 2 * block * block)))
        listed.append(plain(f"space_to_depth_{block}", lambda x, b=block: raw.SpaceToDepth(input=x, block_size=b), floats(2, 2 * block, 3 * block, 5)))
    listed.append(plain("space_to_batch_alone", lambda x: raw.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=[[1, 0], [2, 1]]), floats(2, 5, 6, 3)))
    listed.append(plain("space_to_batch_v1", lambda x: raw.SpaceToBatch(input=x, block_size=2, paddings=[[1, 0], [1, 1]]), floats(2, 5, 6, 3)))
    listed.append(plain("batch_to_space_alone", lambda x: raw.BatchToSpaceND(input=x, block_shape=[2, 3], crops=[[1, 0], [2, 1]]), floats(12, 5, 6, 3)))
    listed.append(plain("batch_to_space_v1", lambda x: raw.BatchToSpace(input=x, block_size=2, crops=[[1, 0], [1, 1]]), floats(8, 5, 6, 3)))

    def blocks(generator, kernel=(3, 3, 3, 4), depthwise=False, crops=((0, 1), (0, 0))):
        weights = constant(generator, *kernel)
        def run(x):
            cut = raw.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=[[2, 3], [3, 3]])
            if depthwise:
                y = raw.DepthwiseConv2dNative(input=cut, filter=weights, strides=[1, 1, 1, 1], padding="VALID")
            else:
                y = raw.Conv2D(input=cut, filter=weights, strides=[1, 1, 1, 1], padding="VALID")
            return raw.BatchToSpaceND(input=y, block_shape=[2, 3], crops=[list(crop) for crop in crops])
        return run

    listed.append(Case("dilated_by_blocks", blocks, [floats(2, 9, 9, 3)]))
    listed.append(Case("dilated_by_blocks_cropped", lambda g: blocks(g, crops=((3, 1), (0, 4))), [floats(2, 9, 9, 3)]))
    listed.append(Case("depthwise_by_blocks", lambda g: blocks(g, (3, 3, 3, 2), True), [floats(2, 9, 9, 3)]))
    return listed


def shapes():
    """Reductions, padding, and operators that move elements."""
    listed = []
    for name in "Mean Sum Max Min Prod".split():
        operator = getattr(raw, name)
        for keep in (False, True):
            for axes in ([1, 2], [0], [-1], [1, 3], []):
                tail = "_".join(str(axis).replace("-", "m") for axis in axes)
                listed.append(plain(f"reduce_{name}_{keep:d}_{tail}", lambda x, o=operator, a=axes, k=keep: o(input=x, axis=np.array(a, np.int32), keep_dims=k), floats(2, 3, 4, 5)))
    listed.append(plain("reduce_all", lambda x: raw.All(input=x, axis=[1]), truth(3, 2)))
    listed.append(plain("reduce_any", lambda x: raw.Any(input=x, axis=[1]), truth(3, 2)))
    for axis in (0, -1):
        for dtype in (tf.int32, tf.int64):
            listed.append(plain(f"arg_max_{axis == 0:d}_{dtype.name}", lambda x, a=axis, d=dtype: raw.ArgMax(input=x, dimension=a, output_type=d), floats(4, 5)))
    listed.append(plain("arg_min", lambda x: raw.ArgMin(input=x, dimension=1), floats(4, 5)))
    pads = [[0, 0], [1, 2], [2, 0], [0, 0]]
    listed.append(plain("pad", lambda x: raw.Pad(input=x, paddings=pads), floats(1, 4, 5, 2)))
    listed.append(plain("pad_v2", lambda x: raw.PadV2(input=x, paddings=pads, constant_values=-1.5), floats(1, 4, 5, 2)))
    for mode in ("REFLECT", "SYMMETRIC"):
        listed.append(plain(f"mirror_pad_{mode.lower()}", lambda x, m=mode: raw.MirrorPad(input=x, paddings=pads, mode=m), floats(1, 4, 5, 2)))
    slices = {
        "half": lambda x: x[..., 2:], "element": lambda x: x[1], "last": lambda x: x[:, -1], "steps": lambda x: x[:, ::2, ::-1],
        "new": lambda x: x[:, None, ..., None, 0], "back": lambda x: x[:, 3:0:-2], "beyond": lambda x: x[:, -9:9],
        "middle": lambda x: x[:, 1:-1, ..., :2], "ellipsis": lambda x: x[..., 0, :], "whole": lambda x: x[:, :],
        "all": lambda x: x[0, 1, 2, 3], "empty_end": lambda x: x[:, :, -1:, :],
    }
    for name, take in slices.items():
        listed.append(plain(f"strided_slice_{name}", take, floats(2, 4, 3, 4)))
    listed.append(plain("slice", lambda x: tf.slice(x, [0, 1, 0], [2, 2, -1]), floats(2, 4, 3)))
    listed.append(plain("pack", lambda x, y: tf.stack([x, y, x], axis=1), floats(2, 3), floats(2, 3)))
    listed.append(plain("pack_last", lambda x, y: tf.stack([x, y], axis=-1), floats(2, 3), floats(2, 3)))
    listed.append(plain("unpack", lambda x: [part * 2 for part in tf.unstack(x, axis=1)], floats(2, 3, 4)))
    listed.append(plain("concat", lambda x, y: tf.concat([x, y, x], -1), floats(2, 3), floats(2, 5)))
    listed.append(plain("concat_v1", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]), floats(2, 3), floats(2, 5)))
    listed.append(plain("split", lambda x: [part * 2 for part in tf.split(x, 3, axis=1)], floats(2, 6)))
    listed.append(plain("split_v", lambda x: [part * 2 for part in raw.SplitV(value=x, size_splits=[1, -1, 2], axis=1, num_split=3)], floats(2, 6)))
    listed.append(plain("second_result", lambda x: tf.split(x, 3, axis=1)[1], floats(2, 6)))
    listed.append(plain("tile", lambda x: tf.tile(x, [2, 1, 3]), floats(2, 3, 4)))
    listed.append(plain("broadcast_to", lambda x: tf.broadcast_to(x, [2, 3, 4]), floats(3, 1)))
    listed.append(plain("fill", lambda x: x + tf.fill(tf.shape(x), 1.5), floats(2, 3)))
    listed.append(plain("zeros_like", lambda x: x + raw.OnesLike(x=x) + raw.ZerosLike(x=x), floats(2, 3)))
    listed.append(plain("range", lambda x: x * tf.cast(tf.range(tf.shape(x)[1]), tf.float32), floats(2, 3)))
    listed.append(plain("range_floats", lambda x: x * tf.range(0.5, 2.0, 0.5), floats(2, 3)))
    listed.append(plain("gather", lambda x: tf.gather(x, [2, 0], axis=1), floats(2, 3, 4)))
    listed.append(plain("gather_v1", lambda x: raw.Gather(params=x, indices=[1, 1, 0]), floats(2, 3, 4)))
    listed.append(plain("gather_by_input", lambda x, i: tf.gather(x, i, axis=0), floats(5, 3), integers(2, 2, low=0, high=5)))
    listed.append(plain("transpose", lambda x: tf.transpose(x, [2, 0, 1]), floats(2, 3, 4)))
    listed.append(plain("transpose_computed", lambda x: tf.transpose(x, tf.range(tf.rank(x))[::-1]), floats(2, 3, 4)))
    listed.append(plain("expand_dims", lambda x: tf.expand_dims(x, -2), floats(2, 3)))
    listed.append(plain("squeeze", lambda x: tf.squeeze(x, [1, -1]), floats(2, 1, 3, 1)))
    listed.append(plain("squeeze_all", lambda x: tf.squeeze(x), floats(1, 2, 1, 3, 1)))
    listed.append(plain("reshape", lambda x: tf.reshape(x, [4, -1]), floats(2, 6, 3)))
    listed.append(plain("reshape_by_shape", lambda x: tf.reshape(x, [tf.shape(x)[0], tf.size(x) // tf.shape(x)[0]]), floats(2, 6, 3), open_batch=True))
    listed.append(plain("softmax", lambda x: raw.Softmax(logits=x), floats(3, 4)))
    listed.append(plain("log_softmax", lambda x: raw.LogSoftmax(logits=x), floats(3, 4, low=-40, high=40)))
    listed.append(plain("shape_values", lambda x: (tf.shape(x) + 0, tf.size(x) + tf.rank(x), x), floats(2, 3)))
    listed.append(plain("placeholder_with_default", lambda x: x + tf.compat.v1.placeholder_with_default(tf.constant([1.0, 2.0, 3.0]), [3]), floats(2, 3)))
    listed.append(plain("control_inputs", controlled, floats(2, 3)))
    for dtype in (np.float64, np.float16, np.int64, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_):
        values = np.arange(6).reshape(2, 3) % 5
        listed.append(plain(f"constant_{np.dtype(dtype).name}", lambda x, v=values.astype(dtype): x + tf.cast(tf.constant(v), tf.float32), floats(2, 3)))
        repeated = np.full((2, 3), 3).astype(dtype)
        listed.append(plain(f"constant_repeated_{np.dtype(dtype).name}", lambda x, v=repeated: x + tf.cast(tf.constant(v), tf.float32), floats(2, 3)))
    listed.append(plain("constant_bfloat16", lambda x: x + tf.cast(tf.constant([1.5, -2.25, 3.0], tf.bfloat16), tf.float32), floats(2, 3)))
    return listed


def controlled(x):
    """A result that waits for an assertion and for a node without results."""
    check = tf.debugging.Assert(tf.reduce_all(x < 100.0), [x])
    with tf.control_dependencies([check, tf.no_op()]):
        return tf.identity(x) * 2


def nchw():
    """Graphs in NCHW, compared with the same layers in NHWC."""
    listed = []
    to_nchw, to_nhwc = (lambda x: tf.transpose(x, [0, 3, 1, 2])), (lambda x: tf.transpose(x, [0, 2, 3, 1]))

    def case(name, make):
        """`make` returns a function of an image and its layout."""
        def frozen(generator):
            function = make(generator)
            in_nchw = lambda x: function(x, "NCHW")
            in_nchw.in_nhwc = lambda x: function(x, "NHWC")
            return in_nchw

        reference = lambda function: lambda x: [to_nchw(function.in_nhwc(to_nhwc(x)))]
        listed.append(Case(name, frozen, [floats(2, 3, 8, 7)], reference=reference))

    order = lambda layout, h, w: [1, h, w, 1] if layout == "NHWC" else [1, 1, h, w]
    def conv(g):
        c = constant(g, 3, 2, 3, 4)
        return lambda x, f: raw.Conv2D(input=x, filter=c, strides=order(f, 2, 1), padding="SAME", dilations=order(f, 1, 2), data_format=f)
    def depthwise(g):
        c = constant(g, 3, 2, 3, 2)
        return lambda x, f: raw.DepthwiseConv2dNative(input=x, filter=c, strides=order(f, 2, 2), padding="SAME", data_format=f)
    def transposed(g):
        c = constant(g, 3, 3, 5, 3)
        size = lambda f: [2, 16, 14, 5] if f == "NHWC" else [2, 5, 16, 14]
        return lambda x, f: raw.Conv2DBackpropInput(input_sizes=size(f), filter=c, out_backprop=x, strides=order(f, 2, 2), padding="SAME", data_format=f)
    def norm(g):
        a, b, m, v = constant(g, 3), constant(g, 3), constant(g, 3), constant(g, 3, low=0.3)
        return lambda x, f: raw.FusedBatchNormV3(x=x, scale=a, offset=b, mean=m, variance=v, is_training=False, data_format=f)[0]
    case("nchw_conv", conv)
    case("nchw_depthwise", depthwise)
    case("nchw_conv_transpose", transposed)
    case("nchw_batch_norm", norm)
    case("nchw_max_pool", lambda g: lambda x, f: raw.MaxPool(input=x, ksize=order(f, 3, 2), strides=order(f, 2, 2), padding="SAME", data_format=f))
    case("nchw_avg_pool", lambda g: lambda x, f: raw.AvgPool(value=x, ksize=order(f, 3, 2), strides=order(f, 2, 2), padding="SAME", data_format=f))
    case("nchw_space_to_depth", lambda g: lambda x, f: raw.SpaceToDepth(input=x[:, :, :6, :6] if f == "NCHW" else x[:, :6, :6, :], block_size=2, data_format=f))
    return listed


def others():
    """Composed operators, conditions and loops."""
    x, y = floats(2, 5, 4), floats(1, 6, 7, 2)

    def volume(op, **attributes):
        def make(generator):
            weights = constant(generator, 2, 3, 2, 3, 4)
            return lambda x: op(x, weights, **attributes)

        return Case("volume_" + attributes["padding"].lower(), make, [floats(1, 4, 5, 6, 3)])

    def loop(x):
        return tf.while_loop(lambda i, _: i < 4, lambda i, y: (i + 1, y * 0.5 + tf.cast(i, tf.float32)), (0, x))[1]

    def branches(x):
        inner = lambda: tf.cond(tf.reduce_max(x) > 1.5, lambda: x * 3, lambda: -x)
        return tf.cond(tf.reduce_sum(x) > 0, inner, lambda: x - 1)

    def recurrent(name, layer):
        return dataclasses.replace(keras(name, lambda: layer, (5, 4)), open_batch=False)

    layers = tf.keras.layers
    return [
        plain("top_k", lambda x: tf.math.top_k(x, 2), x),
        plain("cumsum", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), x),
        plain("cumprod", lambda x: tf.math.cumprod(x, -1), x),
        plain("gather_nd", lambda x: tf.gather_nd(x, [[1, 4], [0, 0]]), x),
        plain("scatter_nd", lambda x: tf.scatter_nd([[3], [1]], x, [6, 5, 4]), x),
        plain("scatter_update", lambda x: tf.tensor_scatter_nd_update(x, [[1, 2]], [[5.0] * 4]), x),
        plain("scatter_add", lambda x: tf.tensor_scatter_nd_add(x, [[1], [1]], tf.ones([2, 5, 4])), x),
        plain("one_hot", lambda x: tf.one_hot(tf.cast(x, tf.int32), 3, axis=1), x),
        plain("reverse", lambda x: tf.reverse(x, [0, -1]), x),
        plain("reverse_sequence", lambda x: tf.reverse_sequence(x, [2, 5], seq_axis=1), x),
        plain("roll", lambda x: tf.roll(x, [7, -1], [1, 2]), x),
        plain("is_nan", lambda x: tf.where(tf.math.is_nan(tf.math.log(x)), 0.0, x), x),
        plain("is_finite", lambda x: tf.where(tf.math.is_finite(1 / tf.nn.relu(x)), x, 7.0), x),
        plain("bicubic", lambda x: tf.image.resize(x, [9, 5], "bicubic"), y),
        plain("bicubic_v1", lambda x: tf.compat.v1.image.resize_bicubic(x, [11, 10]), y),
        plain("bicubic_aligned", lambda x: tf.compat.v1.image.resize_bicubic(x, [11, 4], align_corners=True), y),
        plain("area", lambda x: tf.image.resize(x, [4, 5], "area"), y),
        plain("area_larger", lambda x: tf.image.resize(x, [9, 14], "area"), y),
        plain("fake_quant", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.3, 1.7), x),
        plain("fake_quant_4", lambda x: tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 1.5, 4, True), x),
        plain("fake_quant_channels", lambda x: tf.quantization.fake_quant_with_min_max_vars_per_channel(
            x, [-1.0, -2.0, -0.5, 0.0], [1.0, 0.5, 0.5, 2.0]), x),
        plain("segment_sum", lambda x: tf.math.segment_sum(x[0], [0, 0, 2, 2, 3]), x),
        plain("unsorted_segments", lambda x: tf.math.unsorted_segment_max(x[0], [1, 0, 2, 2, 1], 3), x),
        plain("matrix_diag", lambda x: tf.linalg.diag(x), x),
        plain("matrix_set_diag", lambda x: tf.linalg.set_diag(x, tf.ones([2, 4])), x),
        plain("bucketize", lambda x: raw.Bucketize(input=x, boundaries=[-0.5, 0.0, 1.0]), x),
        volume(tf.nn.conv3d, strides=[1, 2, 1, 1, 1], padding="SAME"),
        volume(tf.nn.conv3d, strides=[1, 1, 1, 2, 1], padding="VALID"),
        plain("max_pool_3d", lambda x: tf.nn.max_pool3d(x, [2, 3, 2], 2, "SAME"), floats(1, 4, 5, 6, 3)),
        plain("average_pool_3d", lambda x: tf.nn.avg_pool3d(x, [2, 3, 2], 2, "SAME"), floats(1, 4, 5, 6, 3)),
        keras("conv_transpose_3d", lambda: layers.Conv3DTranspose(4, 3, 2, "same"), (2, 3, 4, 2)),
        plain("loop", loop, x),
        plain("branches_1", branches, floats(2, 5, low=0.0, high=1.0)),
        plain("branches_2", branches, floats(2, 5, low=1.0, high=3.0)),
        plain("branches_3", branches, floats(2, 5, low=-3.0, high=-1.0)),
        recurrent("lstm", layers.LSTM(6, return_sequences=True)),
        recurrent("gru", layers.GRU(6)),
        recurrent("rnn", layers.SimpleRNN(6, return_sequences=True)),
        recurrent("bidirectional", layers.Bidirectional(layers.LSTM(3, return_sequences=True))),
    ]


def cases():
    """Returns all cases."""
    listed = convolutions() + keras_layers() + element_wise() + products() + pools_and_images() + shapes() + nchw()
    return listed + others()
