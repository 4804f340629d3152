"""Trains a perceptron on the digits of `npu demo`, for targets without image operators.

    .venv/bin/python models/digits/train_mlp.py

Data, split and seed are those of train.py; the held-out images are the ones it writes. One hidden layer of 32
rectified units, Adam, seeded and single-threaded.
"""

import argparse
from pathlib import Path

from train import ASSETS, SEED, accuracy, data, loss_slope

import numpy as np
import onnxruntime
from onnx import TensorProto, checker, helper, numpy_helper

HIDDEN = 32
EPOCHS = 120
BATCH = 64
RATE = 4e-3
WEIGHT_DECAY = 1e-2


def train(images, labels):
    """Weights and biases of both layers."""
    rng = np.random.default_rng(SEED)
    sizes = [(64, HIDDEN), (HIDDEN, 10)]
    params = []
    for rows, columns in sizes:
        params.append(rng.normal(0, np.sqrt(2 / rows), (rows, columns)).astype(np.float32))
        params.append(np.zeros(columns, np.float32))
    first, second = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params]
    step, x = 0, images.reshape(len(images), -1)
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            w1, b1, w2, b2 = params
            hidden = np.maximum(x[batch] @ w1 + b1, 0)
            slope = loss_slope(hidden @ w2 + b2, labels[batch])
            back = (slope @ w2.T) * (hidden > 0)
            grads = [x[batch].T @ back, back.sum(axis=0), hidden.T @ slope, slope.sum(axis=0)]
            step += 1
            scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for p, g, m, v in zip(params, grads, first, second):
                m += np.float32(0.1) * (g - m)
                v += np.float32(0.001) * (g * g - v)
                p -= np.float32(scale) * m / (np.sqrt(v) + np.float32(1e-8))
                if p.ndim > 1:
                    p *= np.float32(1 - rate * WEIGHT_DECAY)
    return params


def model(params):
    """The ONNX model; input `image` [batch,1,8,8], output `logits` [batch,10]."""
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
    names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    constants = [numpy_helper.from_array(array, name) for name, array in zip(names, params)]
    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"], name="/flat", axis=1),
        helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], name="/fc1"),
        helper.make_node("Relu", ["fc1"], ["relu1"], name="/relu1"),
        helper.make_node("Gemm", ["relu1", "fc2.weight", "fc2.bias"], ["logits"], name="/logits"),
    ]
    graph = helper.make_graph(nodes, "digits_mlp", [image], [logits], constants)
    opsets = [helper.make_opsetid("", 13)]
    result = helper.make_model(graph, producer_name="npukit", opset_imports=opsets, ir_version=8)
    checker.check_model(result, full_check=True)
    return result


def main():
    parser = argparse.ArgumentParser(description="Trains the digits perceptron.")
    parser.add_argument("-o", "--output", type=Path, default=ASSETS, help="folder to write to")
    output = parser.parse_args().output
    train_images, images, train_labels, labels = data()
    serialized = model(train(train_images, train_labels)).SerializeToString(deterministic=True)
    session = onnxruntime.InferenceSession(serialized, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"image": images})
    right = accuracy(found, labels)
    print(f"{len(images)} held-out images, float accuracy {right:.4f}, logits to {abs(found).max():.2f}")
    if right < 0.95:
        raise SystemExit("not good enough: nothing written")
    output.mkdir(parents=True, exist_ok=True)
    (output / "digits_mlp.onnx").write_bytes(serialized)


if __name__ == "__main__":
    main()
