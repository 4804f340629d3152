"""The digits network in FP16BP8, rounded and saturated after every multiply-accumulate.

A check on the trained network, written apart from npukit's own arithmetic: 16 bits with 8 of them
fraction, products summed one at a time into 16 bits, ties rounded to even. The batch
normalization is folded into the convolution before it, as a compiler does.
"""

import numpy as np

FRACTION_BITS = 8
ONE = 1 << FRACTION_BITS
MIN, MAX = -(1 << 15), (1 << 15) - 1


class Machine:
    """An array of `lanes` inputs a pass. Counts the results that had to be saturated."""

    def __init__(self, lanes):
        self.lanes = lanes
        self.saturated = 0

    def clamp(self, wide):
        narrow = np.clip(wide, MIN, MAX)
        self.saturated += int(np.count_nonzero(narrow != wide))
        return narrow

    def raw(self, values):
        """Floats to raw integers."""
        return self.clamp(np.floor(values.astype(np.float64) * ONE + 0.5).astype(np.int64))

    def mac(self, x, y, z):
        """x * y + z, rounded once to the nearest raw value, ties to even."""
        wide = x * y + (z << FRACTION_BITS)
        quotient, rest = wide >> FRACTION_BITS, wide & (ONE - 1)
        up = (rest > ONE // 2) | ((rest == ONE // 2) & (quotient & 1 == 1))
        return self.clamp(quotient + up)

    def product(self, x, w, bias):
        """x [m, k] times w [k, n] plus bias [n], in passes of `lanes` rows of w."""
        total = None
        for start in range(0, len(w), self.lanes):
            first = bias if total is None else np.zeros_like(bias)
            part = np.broadcast_to(first, (len(x), len(bias)))
            for k in range(start, min(start + self.lanes, len(w))):
                part = self.mac(x[:, k, None], w[k], part)
            total = part if total is None else self.clamp(total + part)
        return total

    def conv_relu(self, x, w, bias):
        """x [n, c, h, w] by w [o, c, 3, 3] with a border of zeros, then Relu."""
        n, _, h, width = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        total = None
        for i in range(3):
            for j in range(3):
                tap = padded[:, :, i : i + h, j : j + width].transpose(0, 2, 3, 1)
                tap_bias = bias if total is None else np.zeros_like(bias)
                part = self.product(tap.reshape(n * h * width, -1), w[:, :, i, j].T, tap_bias)
                total = part if total is None else self.clamp(total + part)
        return np.maximum(total, 0).reshape(n, h, width, -1).transpose(0, 3, 1, 2)


def max_pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def logits(net, images, machine):
    """The logits of `images` as raw integers."""
    scale = net.bn1.gamma / np.sqrt(net.bn1.var + 1e-5)
    w1 = net.conv1.w * scale[:, None, None, None]
    b1 = (net.conv1.b - net.bn1.mean) * scale + net.bn1.beta
    raw = machine.raw
    x = max_pool(machine.conv_relu(raw(images), raw(w1), raw(b1)))
    x = machine.conv_relu(x, raw(net.conv2.w), raw(net.conv2.b))
    return machine.product(x.reshape(len(x), -1), raw(net.fc.w).T, raw(net.fc.b))
