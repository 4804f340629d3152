"""Compares networks frozen by TensorFlow, compiled and run, with the float evaluator.

    pip install -r requirements-tensorflow.txt
    python tensorflow_networks.py FOLDER [--full]
    python compiled_networks.py FOLDER [--npu COMMAND] [PATTERN ...]

Takes the networks that the first script wrote to FOLDER, as `.pb` and as `.onnx`, compiles each for TARGETS, runs the
program on random images and compares it with `npu eval`. The allowed error is that of the number format (see
`format_error`). It is checked at the outputs and at intermediate values: the format's own error accumulates in deep
networks, so early values reveal a wrong program more clearly.

Then the compilation of ResNet-50 and MobileNetV2 is measured, on one core.
"""

import argparse
import fnmatch
import pathlib
import sys

import numpy as np
import onnx

import programs
from npu import Npu, Refusal, add_arguments

# Number of images to run. Small networks get more, as their few outputs carry little information.
SMALL, SAMPLES = 32, (8, 2)

# Positions of intermediate values, in eighths of the convolutions. At later positions, the format's own error is too
# large to compare, as branches of a residual network are much smaller than their sum.
TAPS = (1, 2, 4)

# Opset of the exported form that is tested; the other script evaluates both.
OPSET = 17

# Maximum compilation time in seconds. Maximum memory: four times the file and 500 MB.
SECONDS = {"resnet50v2": 10, "mobilenet_v2": 5}


def images(shape, seed):
    """Makes smooth images. Unlike noise, they still differ after averaging."""
    generator, (count, height, width, channels), grid = np.random.default_rng(seed), shape, 4
    coarse = generator.normal(0, 1, (count, grid, grid, channels))

    def stretched(array, axis, size):
        at = np.linspace(0, grid - 1, size)
        low = np.minimum(at.astype(int), grid - 2)
        share = (at - low).reshape([-1 if i == axis else 1 for i in range(4)])
        return np.take(array, low, axis) * (1 - share) + np.take(array, low + 1, axis) * share

    return stretched(stretched(coarse, 1, height), 2, width).astype(np.float32)


def tapped(path, folder):
    """Writes the model with additional intermediate outputs; returns the file and the names of all outputs."""
    model = onnx.load(path)
    ours = [node.output[0] for node in model.graph.node if node.op_type == "Conv"]
    taps = [ours[len(ours) * eighths // 8] for eighths in TAPS]
    outputs = [output.name for output in model.graph.output]
    for name in taps:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    onnx.save(model, folder / path.name)
    return folder / path.name, outputs + taps


def judge(npu, pb):
    """Tests both forms of a network; yields name, text and success."""
    exported = pb.with_name(f"{pb.stem}_opset{OPSET}.onnx")
    with np.load(pb.with_suffix(".npz")) as arrays:
        shape = arrays["in.x"].shape[1:]
    array = images((SAMPLES[shape[0] > SMALL], *shape), seed=sum(pb.stem.encode()))
    reference, outputs = tapped(exported, npu.folder)
    name = onnx.load(exported, load_external_data=False).graph.input[0].name
    predicted = programs.predict(reference, {name: array})
    plain = len(outputs) - len(TAPS)
    for target in programs.TARGETS:
        yield (f"{exported.name} {target}", *programs.judge(npu, reference, {name: array}, predicted, target))
        frozen = ["--outputs", ",".join(output.removesuffix(":0") for output in outputs[:plain])]
        yield (f"{pb.name} {target}", *programs.judge(npu, pb, {"x": array}, predicted[:plain], target, *frozen))


def measure(npu, path, target, seconds):
    """Compiles on one core; returns a text, and whether the limits are met."""
    try:
        _, used, memory = npu.measured("compile", path, "--target", target, "--output", npu.folder / "measured")
    except Refusal as refusal:
        return f"refused: {refusal}", False
    megabytes, most = memory / 1e6, 4 * path.stat().st_size / 1e6 + 500
    text = f"compiled in {used:.1f} s (the bar is {seconds}), {megabytes:.0f} MB (the bar is {most:.0f})"
    return text, used <= seconds and megabytes <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("folder", type=pathlib.Path, help="what tensorflow_networks.py made")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `mobilenet*`")
    arguments = parser.parse_intermixed_args()
    npu, failed = Npu(arguments.npu), 0

    def report(what, text, good):
        nonlocal failed
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {text}", flush=True)

    # Networks have both forms, single layers do not.
    networks = [path for path in sorted(arguments.folder.glob("*.pb"))
                if path.with_name(f"{path.stem}_opset{OPSET}.onnx").exists()]
    patterns = arguments.patterns or ["*"]
    networks = [path for path in networks if any(fnmatch.fnmatch(path.stem, pattern) for pattern in patterns)]
    for path in networks:
        for result in judge(npu, path):
            report(*result)
    for path in networks:
        seconds = SECONDS.get(path.stem.rpartition("_")[0])
        for form in [path, path.with_name(f"{path.stem}_opset{OPSET}.onnx")] if seconds else []:
            for target in programs.TARGETS:
                report(f"{form.name} {target}", *measure(npu, form, target, seconds))
    print(f"{failed} failed of {len(networks)} networks")
    return 1 if failed or not networks else 0


if __name__ == "__main__":
    sys.exit(main())
