"""Trains the digits network of `npu demo` and writes it with its held-out images.

    python3 -m venv .venv && .venv/bin/pip install -r models/digits/requirements.txt
    .venv/bin/python models/digits/train.py

Data: the 1797 handwritten digits that come with scikit-learn (8x8 pixels, values 0..16), a fifth
of them, drawn evenly over the classes, held out and never trained on. Layers, shifts and weight
decay were chosen by five-fold cross validation over the others. Seeded and single-threaded, so that
the same machine writes the same bytes again.
"""

import argparse
import os
from pathlib import Path

# One thread: sums then have one order. To be said before NumPy is loaded.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import export
import fixed_point
from network import Network

SEED = 20
EPOCHS = 80
BATCH = 64
RATE = 3e-3
WEIGHT_DECAY = 1e-2
ARRAY_LANES = (4, 8, 16, 32)
CALIBRATION = 64
ASSETS = Path(__file__).resolve().parents[2] / "crates" / "npukit" / "assets"


def data():
    """Training and held-out images [n,1,8,8] in 0..1, and their classes."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    return train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=SEED)


def shifted(images, rng):
    """The images, about half of them moved by up to one pixel in each direction."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = rng.random((len(images), 1)) < 0.5
    offsets = np.where(moved, rng.integers(0, 3, (len(images), 2)), 1)
    return np.stack([p[:, i : i + 8, j : j + 8] for p, (i, j) in zip(padded, offsets)])


def loss_slope(logits, labels):
    """The derivative of the mean cross entropy with respect to the logits."""
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    slope = exp / exp.sum(axis=1, keepdims=True)
    slope[np.arange(len(labels)), labels] -= 1
    return slope / np.float32(len(labels))


class Adam:
    """Adam with decoupled weight decay; moments are kept per trained array."""

    def __init__(self):
        self.moments, self.step_count = {}, 0

    def step(self, net, rate):
        self.step_count += 1
        decay = np.float32(1 - rate * WEIGHT_DECAY)
        rate *= np.sqrt(1 - 0.999**self.step_count) / (1 - 0.9**self.step_count)
        for key, (param, grad) in enumerate(net.trained()):
            first, second = self.moments.get(key, (np.zeros_like(param), np.zeros_like(param)))
            first = np.float32(0.9) * first + np.float32(0.1) * grad
            second = np.float32(0.999) * second + np.float32(0.001) * grad * grad
            self.moments[key] = first, second
            param -= np.float32(rate) * first / (np.sqrt(second) + np.float32(1e-8))
            if param.ndim > 1:
                param *= decay


def train(images, labels):
    """A trained network: the rate falls to zero along a half cosine."""
    rng = np.random.default_rng(SEED)
    net, optimizer = Network(rng), Adam()
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(images))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            logits = net.forward(shifted(images[batch], rng), training=True)
            net.backward(loss_slope(logits, labels[batch]))
            optimizer.step(net, rate)
    return net


def accuracy(logits, labels):
    return float((logits.argmax(axis=1) == labels).mean())


def fixed_logits(net, images, lanes):
    """Raw FP16BP8 logits on an array of `lanes` lanes, and how many results saturated."""
    machine = fixed_point.Machine(lanes)
    return fixed_point.logits(net, images, machine), machine.saturated


def report(net, serialized, images, labels):
    """Prints accuracy in float (ONNX Runtime) and in FP16BP8; both must be good enough to ship."""
    session = onnxruntime.InferenceSession(serialized, providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"image": images})
    in_float = accuracy(logits, labels)
    print(f"{len(images)} held-out images, float accuracy {in_float:.4f}, logits to {abs(logits).max():.2f}")
    good = in_float >= 0.98
    for lanes in ARRAY_LANES:
        fixed, saturated = fixed_logits(net, images, lanes)
        in_fixed, error = accuracy(fixed, labels), abs(logits - fixed / fixed_point.ONE).max()
        good &= in_fixed >= in_float - 0.005 and saturated == 0
        print(f"{lanes:2} lanes: accuracy {in_fixed:.4f}, max error {error:.4f}, {saturated} saturated")
    if not good:
        raise SystemExit("not good enough: nothing written")


def main():
    parser = argparse.ArgumentParser(description="Trains the digits network.")
    parser.add_argument("-o", "--output", type=Path, default=ASSETS, help="folder to write to")
    output = parser.parse_args().output
    train_images, images, train_labels, labels = data()
    net = train(train_images, train_labels)
    serialized = export.model(net).SerializeToString(deterministic=True)
    report(net, serialized, images, labels)
    output.mkdir(parents=True, exist_ok=True)
    (output / "digits.onnx").write_bytes(serialized)
    np.save(output / "digits_images.npy", images)
    np.save(output / "digits_labels.npy", labels)
    np.save(output / "digits_calibration.npy", train_images[:CALIBRATION])


if __name__ == "__main__":
    main()
