"""The digits network in NumPy: layers with their derivatives, and the order they run in.

Activations are [n, channels, rows, columns] as ONNX has them; all arithmetic is float32.
A layer keeps what its derivative needs between `forward` and `backward`, and lists its trained
arrays in `params` and their derivatives, in the same order, in `grads`.
"""

import numpy as np

BN_EPSILON = np.float32(1e-5)
BN_MOMENTUM = np.float32(0.9)


class Conv:
    """A 3x3 convolution over an image with a border of one zero pixel, with a bias per channel."""

    def __init__(self, rng, channels_in, channels_out):
        scale = np.sqrt(2.0 / (9 * channels_in))
        self.w = rng.normal(0.0, scale, (channels_out, channels_in, 3, 3)).astype(np.float32)
        self.b = np.zeros(channels_out, np.float32)
        self.params = [self.w, self.b]

    def forward(self, x, training):
        self.shape = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        n, c, h, w = x.shape
        self.patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        y = self.patches @ self.w.reshape(len(self.b), -1).T + self.b
        return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, c, h, w = self.shape
        rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(self.b))
        self.grads = [(rows.T @ self.patches).reshape(self.w.shape), rows.sum(axis=0)]
        taps = (rows @ self.w.reshape(len(self.b), -1)).reshape(n, h, w, c, 3, 3)
        dx = np.zeros((n, c, h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                dx[:, :, i : i + h, j : j + w] += taps[..., i, j].transpose(0, 3, 1, 2)
        return dx[:, :, 1:-1, 1:-1]


class BatchNorm:
    """Normalizes every channel to mean 0 and variance 1, then scales and shifts it."""

    def __init__(self, channels):
        self.gamma = np.ones(channels, np.float32)
        self.beta = np.zeros(channels, np.float32)
        self.mean = np.zeros(channels, np.float32)
        self.var = np.ones(channels, np.float32)
        self.params = [self.gamma, self.beta]

    def forward(self, x, training):
        mean, var = self.mean, self.var
        if training:
            mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
            self.mean = BN_MOMENTUM * self.mean + (1 - BN_MOMENTUM) * mean
            self.var = BN_MOMENTUM * self.var + (1 - BN_MOMENTUM) * var
        self.inv = 1 / np.sqrt(var + BN_EPSILON)
        self.unit = (x - mean[:, None, None]) * self.inv[:, None, None]
        return self.unit * self.gamma[:, None, None] + self.beta[:, None, None]

    def backward(self, dy):
        dgamma, dbeta = (dy * self.unit).sum(axis=(0, 2, 3)), dy.sum(axis=(0, 2, 3))
        self.grads = [dgamma, dbeta]
        count = np.float32(dy.size / len(self.gamma))
        centered = dy - (dbeta[:, None, None] + self.unit * dgamma[:, None, None]) / count
        return centered * (self.gamma * self.inv)[:, None, None]


class Relu:
    """Negative values become zero."""

    params, grads = (), ()

    def forward(self, x, training):
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy):
        return dy * self.positive


class MaxPool:
    """The largest of every 2x2 block."""

    params, grads = (), ()

    def forward(self, x, training):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max(axis=(3, 5))
        self.chosen = blocks == y[:, :, :, None, :, None]
        return y

    def backward(self, dy):
        share = dy / self.chosen.sum(axis=(3, 5))
        n, c, h, w = dy.shape
        return (self.chosen * share[:, :, :, None, :, None]).reshape(n, c, 2 * h, 2 * w)


class Dense:
    """Everything flattened, times a matrix [outputs, inputs], plus a bias per output."""

    def __init__(self, rng, size_in, size_out):
        scale = np.sqrt(1.0 / size_in)
        self.w = rng.normal(0.0, scale, (size_out, size_in)).astype(np.float32)
        self.b = np.zeros(size_out, np.float32)
        self.params = [self.w, self.b]

    def forward(self, x, training):
        self.shape = x.shape
        self.flat = x.reshape(len(x), -1)
        return self.flat @ self.w.T + self.b

    def backward(self, dy):
        self.grads = [dy.T @ self.flat, dy.sum(axis=0)]
        return (dy @ self.w).reshape(self.shape)


class Network:
    """Conv, BatchNorm, Relu, MaxPool, Conv, Relu, Dense: 1x8x8 pixels to ten logits."""

    def __init__(self, rng):
        self.conv1, self.bn1 = Conv(rng, 1, 16), BatchNorm(16)
        self.conv2, self.fc = Conv(rng, 16, 32), Dense(rng, 32 * 4 * 4, 10)
        self.layers = [self.conv1, self.bn1, Relu(), MaxPool()]
        self.layers += [self.conv2, Relu(), self.fc]

    def forward(self, x, training=False):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, dy):
        for layer in reversed(self.layers):
            dy = layer.backward(dy)

    def trained(self):
        """Pairs of an array to train and its derivative."""
        for layer in self.layers:
            yield from zip(layer.params, layer.grads)
