"""Tests the nine light models of the `onnx` package: import, evaluation, compilation.

    pip install -r requirements-onnx.txt
    python light_models.py [--npu COMMAND] [--target TARGET] [MODEL ...]

The package contains the models as graphs whose weights are made by ConstantOfShape nodes with equal values, so that
most outputs are 0.001. Each is therefore tested twice:

- as shipped, with the package's own input and expected output;
- with random weights in place of the equal ones, up to the operand of its closing Softmax, on random input, compared
  with ONNX Runtime.

Then `npu compile` compiles the model for the target, or `npu check` lists every unsupported node. REFUSED lists the
allowed unsupported operators.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from npu import Npu, Refusal, add_arguments

FOLDER = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# Operators that `npu check` may report, by model. `model` is the program as a whole, if its constants do not fit the
# target's memory.
REFUSED = {
    "bvlc_alexnet": {"LRN"},
    "densenet121": set(),
    "inception_v1": {"LRN"},
    "inception_v2": set(),
    "resnet50": set(),
    "shufflenet": set(),
    "squeezenet": set(),
    "vgg19": {"model"},
    "zfnet512": {"LRN"},
}

# Maximum difference, as a share of the reference's largest value, for single precision sums in another order, over up
# to 121 convolutions.
BOUND = 1e-4


def shipped_input(value):
    """Input of the package's own runner for its light models."""
    shape = sizes(value)
    count = np.prod(shape)
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def sizes(value):
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


def seeded(model, generator):
    """Returns the model with random weights, up to its closing Softmax."""
    graph = model.graph
    consumers = {name: (node, index) for node in graph.node for index, name in enumerate(node.input)}
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        user, operand = user_of(node.output[0], consumers)
        shape = [int(size) for size in shapes[node.input[0]]]
        weights = draw(user, operand, shape, generator)
        graph.initializer.append(numpy_helper.from_array(weights, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    if graph.node[-1].op_type == "Softmax":
        logits = graph.node[-1].input[0]
        graph.node.pop()
        del graph.output[:]
        graph.output.append(helper.make_tensor_value_info(logits, onnx.TensorProto.FLOAT, None))
    return model


def user_of(name, consumers):
    """Returns the node that uses a weight, and the operand's position; some weights are reshaped before."""
    user, operand = consumers[name]
    reshaped = user.op_type in ("Unsqueeze", "Reshape")
    return user_of(user.output[0], consumers) if reshaped else (user, operand)


def draw(user, operand, shape, generator):
    """Random weights under which activations neither vanish nor explode."""
    if user.op_type in ("Conv", "Gemm") and operand == 1:
        inputs = np.prod(shape[1:]) if user.op_type == "Conv" else shape[-1]
        return (generator.standard_normal(shape) * np.sqrt(2 / inputs)).astype(np.float32)
    if user.op_type in ("Conv", "Gemm", "Add") or (user.op_type == "BatchNormalization" and operand in (2, 3)):
        return (0.1 * generator.standard_normal(shape)).astype(np.float32)
    return generator.uniform(0.5, 1.0, shape).astype(np.float32)  # scales and variances


def reference(path, inputs):
    """Results of ONNX Runtime for a model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # hides warnings about unused initializers
    return onnxruntime.InferenceSession(path, options).run(None, inputs)


def difference(found, wanted):
    """Largest difference as a share of the largest value; infinite if the shapes differ."""
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def evaluate(npu, name, problems):
    """Tests a model as shipped and with random weights; returns both differences and the seconds."""
    path = FOLDER / f"light_{name}.onnx"
    model = onnx.load(path)
    held = {tensor.name for tensor in model.graph.initializer}
    image = next(value for value in model.graph.input if value.name not in held)

    expected = onnx.TensorProto()
    expected.ParseFromString((FOLDER / f"light_{name}_output_0.pb").read_bytes())
    found, _ = npu.outputs("eval", path, {image.name: shipped_input(image)})
    shipped = difference(found[model.graph.output[0].name], numpy_helper.to_array(expected))

    generator = np.random.default_rng(20)
    image_array = generator.standard_normal(sizes(image)).astype(np.float32)
    model = seeded(model, generator)
    path = npu.folder / f"{name}.onnx"
    onnx.save(model, path)
    wanted = reference(path, {image.name: image_array})[0]
    found, report = npu.outputs("eval", path, {image.name: image_array})
    path.unlink()
    drawn = difference(found[model.graph.output[0].name], wanted)
    if np.ptp(wanted) < 0.1 * np.abs(wanted).max():
        problems.append(f"{name}: the outputs with seeded weights are nearly equal, so the comparison is meaningless")
    for what, value in [("as shipped", shipped), ("with seeded weights", drawn)]:
        if not value <= BOUND:
            problems.append(f"{name}: {what}, outputs differ by {value:.1e} of the largest; the limit is {BOUND:.0e}")
    return shipped, drawn, report["seconds"]


def compile_or_explain(npu, name, target, problems):
    """Outcome of a model on a target, as text."""
    path = FOLDER / f"light_{name}.onnx"
    try:
        compiled = npu.run("compile", path, "--target", target, "--output", npu.folder / name)
    except Refusal:
        return explain(npu, name, target, problems)
    steps = ", ".join(step["op"] for step in compiled["host_steps"]) or "none"
    return f"compiled in {compiled['seconds']:.1f} s: {compiled['cycles']['estimator']:,} cycles, host steps: {steps}"


def explain(npu, name, target, problems):
    """Reasons of `npu check` for a model that is not compiled."""
    try:
        npu.run("check", FOLDER / f"light_{name}.onnx", "--target", target)
        problems.append(f"{name}: not compiled, although `npu check` reports no problem")
        return "not compiled"
    except Refusal as refusal:
        found = (refusal.report or {}).get("problems", [])
    for problem in found:
        if not (problem["node"] and problem["reason"] and problem["hint"]):
            problems.append(f"{name}: a refusal without an explanation: {problem}")
    operators = {problem["op"] for problem in found}
    if not operators or not operators <= REFUSED[name]:
        problems.append(f"{name}: refused for {sorted(operators)}, expected only {sorted(REFUSED[name])}")
    first = found[0] if found else {"op": "?", "reason": "no reason", "hint": "none"}
    return f"refused for {len(found)} nodes, as {first['op']}: {first['reason']} (help: {first['hint']})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--target", default="tcu:ultra96v2")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=" ".join(REFUSED))
    arguments = parser.parse_intermixed_args()
    npu, problems = Npu(arguments.npu), []
    for name in arguments.models or REFUSED:
        try:
            shipped, drawn, seconds = evaluate(npu, name, problems)
            print(f"{name}: evaluates within {shipped:.1e} as shipped, {drawn:.1e} with seeded weights ({seconds:.1f} s)")
        except Refusal as refusal:
            problems.append(f"{name}: not evaluated: {refusal}")
        print(f"{name}: {compile_or_explain(npu, name, arguments.target, problems)}", flush=True)
    for problem in problems:
        print(f"error: {problem[:1000]}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
