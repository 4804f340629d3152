"""Runs the node-test cases of the `onnx` package with `npu eval`.

    pip install -r requirements-onnx.txt
    python node_cases.py [--npu COMMAND] [--bless] [--verbose] [PATTERN ...]

The package makes its cases in process: a model of one node, inputs and expected outputs. For operators that the
standard defines by others, there is also the expanded model. Every case has one of these verdicts:

- passed: the outputs have the expected names, types and shapes, and the values agree within the case's own tolerance
  (integers and truth values: exactly);
- refused: the command gave a reason;
- outside: inputs or outputs that a graph of tensors cannot hold (strings, sequences);
- wrong: anything else. One wrong case fails the script.

The limit applies to the share of passed cases among all cases, including those outside. `node_cases.json` pins the
number of passing cases of each operator: fewer is a failure, more needs `--bless`, which never lowers a number.
PATTERNs select cases by name; then nothing is compared with the pins.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import time
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from npu import Crash, Npu, Refusal, add_arguments

PINS = pathlib.Path(__file__).with_suffix(".json")

# Minimum share of all cases that must pass.
BAR = 0.90

# Operands, by their names in the standard, that are parameters of a node rather than data. They become initializers, as
# exporters write them. All other operands stay inputs, including weights.
PARAMETERS = {
    "AffineGrid": ["size"],
    "BlackmanWindow": ["size"],
    "CenterCropPad": ["shape"],
    "Clip": ["min", "max"],
    "Col2Im": ["image_shape", "block_shape"],
    "ConstantOfShape": ["input"],
    "CumProd": ["axis"],
    "CumSum": ["axis"],
    "DFT": ["dft_length", "axis"],
    "DequantizeLinear": ["x_scale", "x_zero_point"],
    "Dropout": ["ratio", "training_mode"],
    "Expand": ["shape"],
    "HammingWindow": ["size"],
    "HannWindow": ["size"],
    "If": ["cond"],
    "Loop": ["M"],
    "MaxUnpool": ["output_shape"],
    "MelWeightMatrix": [
        "num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"
    ],
    "OneHot": ["depth"],
    "Pad": ["pads", "constant_value", "axes"],
    "QuantizeLinear": ["y_scale", "y_zero_point"],
    "Range": ["start", "limit", "delta"],
    "Reshape": ["shape"],
    "Resize": ["roi", "scales", "sizes"],
    "STFT": ["frame_step", "frame_length"],
    "Slice": ["starts", "ends", "axes", "steps"],
    "Split": ["split"],
    "Squeeze": ["axes"],
    "Tile": ["repeats"],
    "TopK": ["K"],
    "Trilu": ["k"],
    "Unsqueeze": ["axes"],
    "Upsample": ["scales"],
    **{f"Reduce{kind}": ["axes"] for kind in """
        L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare
    """.split()},
}

# Operands whose values determine the size of the result. Shapes are fixed when a model is read, so these become
# initializers too, although exporters would not write them so. The summary prints the number of these cases.
DECIDING = {
    "Compress": ["condition"],
    "NonMaxSuppression": [
        "boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"
    ],
    "NonZero": ["X"],
    "Unique": ["X"],
}

# Element types without a name in NumPy's files. Such a value is passed as float32 with a Cast at inputs and outputs.
# float32 represents all of their values, so nothing is lost.
UNNAMED = {
    value
    for name, value in TensorProto.DataType.items()
    if name == "BFLOAT16" or name.startswith("FLOAT8") or name.endswith(("INT4", "INT2", "E2M1"))
}

# Precision of two units in the last place, as in the package's own runner.
BFLOAT16_RTOL = 2**-6

# Precision of expanded cases in half precision. Each of their nodes rounds, and the accumulation of sums is not
# defined.
FLOAT16_RTOL = 2**-9


def cases():
    """Returns the package's cases, each with its operator; expanded cases have the operator that was expanded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their NumPy code overflows on purpose
        found = collect_testcases()
    named = {case.name: case for case in found}
    for case in found:
        plain = re.sub("_expanded(_ver[0-9]+)?$", "", case.name)
        yield Case(case, named.get(plain, case))


class Case:
    """A case of the package."""

    def __init__(self, case, plain):
        self.name, self.model, self.data_sets = case.name, case.model, case.data_sets
        self.rtol, self.atol = case.rtol, case.atol
        self.node, self.opsets = plain.model.graph.node[0], plain.model.opset_import
        self.is_expanded = case is not plain
        self.operator = self.node.op_type + (" (expanded)" if self.is_expanded else "")

    def constants(self, table):
        """Names of the inputs in `table` that become initializers."""
        if self.node.domain not in ("", "ai.onnx") or self.node.op_type not in table:
            return []
        version = next(opset.version for opset in self.opsets if opset.domain in ("", "ai.onnx"))
        formal = [operand.name for operand in onnx.defs.get_schema(self.node.op_type, version).inputs]
        given = {value.name for value in self.model.graph.input}
        wanted = table[self.node.op_type]
        return [name for name, operand in zip(self.node.input, formal) if name in given and operand in wanted]


def outside(model):
    """Reason why a case is outside; `None` if it is inside."""
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return f"{kind.removesuffix('_type')} types are no tensors"
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            return "strings"
    return None


def array(value):
    """Converts a tensor of a case to an array."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def prepare(case, inputs):
    """Returns the case's model with its parameters as initializers, and the remaining inputs by name."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    arrays = dict(zip([value.name for value in graph.input], map(array, inputs), strict=True))
    constant = case.constants(PARAMETERS) + case.constants(DECIDING)
    kept = [value for value in graph.input if value.name not in constant]
    del graph.input[:]
    graph.input.extend(kept)
    for name in constant:
        graph.initializer.append(numpy_helper.from_array(arrays.pop(name), name))
    for value in graph.input:
        if value.type.tensor_type.elem_type in UNNAMED:
            arrays[value.name] = arrays[value.name].astype(np.float32)
            enter(graph, value)
    for value in graph.output:
        if value.type.tensor_type.elem_type in UNNAMED:
            leave(graph, value)
    return model, arrays


def enter(graph, value):
    """Inserts a Cast from float32 between an input and the nodes."""
    kind, inside = value.type.tensor_type.elem_type, f"{value.name}/cast"
    for node in graph.node:
        operands = [inside if name == value.name else name for name in node.input]
        del node.input[:]
        node.input.extend(operands)
    saturate = {"saturate": 0} if TensorProto.DataType.Name(kind).startswith("FLOAT8") else {}
    graph.node.insert(0, helper.make_node("Cast", [value.name], [inside], to=kind, **saturate))
    value.type.tensor_type.elem_type = TensorProto.FLOAT


def leave(graph, value):
    """Inserts a Cast to float32 between the node and an output."""
    inside = f"{value.name}/cast"
    node = next(node for node in graph.node if value.name in node.output)
    node.output[list(node.output).index(value.name)] = inside
    graph.node.append(helper.make_node("Cast", [inside], [value.name], to=TensorProto.FLOAT))
    value.type.tensor_type.elem_type = TensorProto.FLOAT


def judge(npu, case):
    """Runs a case: ("passed" | "refused" | "wrong", reason)."""
    for number, (inputs, expected) in enumerate(case.data_sets):
        name = f"{case.name}.{number}"
        model, arrays = prepare(case, inputs)
        path = npu.folder / f"{name}.onnx"
        onnx.save(model, path)
        try:
            found, _ = npu.outputs("eval", path, arrays, name=name)
        except Refusal as refusal:
            return "refused", str(refusal)
        except Crash as crash:
            return "wrong", str(crash)
        finally:
            path.unlink()
        outputs = [value.name for value in model.graph.output]
        why = difference(case, outputs, found, exact(case, inputs) or [array(value) for value in expected])
        if why:
            return "wrong", why
    return "passed", ""


def exact(case, inputs):
    """Outputs in double precision, if the package's own have a rounding error: NumPy's inverse transform of float32
    leaves 2e-7 where the value is 0, which exceeds the tolerance of the case, 1e-7. `None` for other cases.
    """
    attributes = {item.name: item.i for item in case.node.attribute}
    if case.node.op_type != "DFT" or not attributes.get("inverse") or attributes.get("onesided"):
        return None
    x = array(inputs[0]).astype(np.float64)
    axis = attributes.get("axis", 1) if len(inputs) == 1 else int(array(inputs[-1]))
    y = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=axis)
    return [np.stack([y.real, y.imag], axis=-1).astype(np.float32)]


def difference(case, names, found, expected):
    """Describes the differences of the outputs; empty if they agree."""
    if sorted(found) != sorted(names):
        return f"outputs {sorted(found)} instead of {sorted(names)}"
    for name, wanted in zip(names, expected, strict=True):
        rtol = max(case.rtol, FLOAT16_RTOL) if wanted.dtype == np.float16 and case.is_expanded else case.rtol
        why = array_difference(found[name], wanted, rtol, case.atol)
        if why:
            return f"output {name}: {why}"
    return ""


def array_difference(found, wanted, rtol, atol):
    """Describes the differences of two arrays; empty if they agree."""
    is_exact = wanted.dtype.kind in "biu" or wanted.dtype.name.startswith(("int", "uint"))
    rtol = max(rtol, BFLOAT16_RTOL) if wanted.dtype.name == "bfloat16" else rtol
    if helper.np_dtype_to_tensor_dtype(wanted.dtype) in UNNAMED:
        wanted = wanted.astype(np.float32)
    if found.dtype != wanted.dtype:
        return f"elements of {found.dtype} instead of {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    try:
        if is_exact:
            np.testing.assert_array_equal(found, wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def run(npu, chosen):
    """Runs every case on all cores: (case, verdict, reason) in the package's order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda case: judge(npu, case), chosen))
    return [(case, *verdict) for case, verdict in zip(chosen, verdicts, strict=True)]


def table(results):
    """Prints a row for each operator; returns the numbers of passing cases."""
    counts = collections.defaultdict(collections.Counter)
    for case, verdict, _ in results:
        counts[case.operator][verdict] += 1
    print(f"{'operator':<36}{'passed':>8}{'refused':>8}{'wrong':>8}{'cases':>8}")
    total = sum(counts.values(), collections.Counter())
    for name, row in [*sorted(counts.items()), ("all", total)]:
        cells = [row["passed"], row["refused"], row["wrong"], row.total()]
        print(f"{name:<36}" + "".join(f"{cell:>8}" for cell in cells))
    return {name: row["passed"] for name, row in sorted(counts.items())}


def listing(results, left_out, verbose):
    """Prints the refused, wrong and outside cases with reasons."""
    for wanted in ["refused", "wrong", *(["passed"] if verbose else [])]:
        for case, verdict, why in results:
            if verdict == wanted:
                print(f"{verdict} {case.name}: {why}"[: None if verbose else 400])
    for case, why in left_out:
        print(f"outside {case.name}: {why}")


def compare_with_pins(passed, bless):
    """Compares the numbers with the pinned ones, or pins them; returns the failures."""
    pinned = json.loads(PINS.read_text()) if PINS.exists() else {"passed": {}}
    old = pinned["passed"]
    fewer = [f"{name}: {passed.get(name, 0)} cases pass, {count} are pinned"
             for name, count in old.items() if passed.get(name, 0) < count]
    more = [name for name, count in passed.items() if count > old.get(name, 0)]
    if bless and not fewer:
        content = {"onnx": onnx.__version__, "passed": passed}
        PINS.write_text(json.dumps(content, indent=1) + "\n")
    elif more:
        print(f"note: more cases pass than pinned: {' '.join(more)}; pin them with --bless")
    return fewer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--bless", action="store_true", help="pin the numbers of passing cases")
    parser.add_argument("--verbose", action="store_true", help="also print passed cases and complete reasons")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="parts of the names of cases")
    arguments = parser.parse_intermixed_args()

    start = time.monotonic()
    chosen = [case for case in cases()
              if not arguments.patterns or any(part in case.name for part in arguments.patterns)]
    reasons = {case.name: outside(case.model) for case in chosen}
    judged = [case for case in chosen if reasons[case.name] is None]
    results = run(Npu(arguments.npu), judged)

    listing(results, [(case, reasons[case.name]) for case in chosen if reasons[case.name]], arguments.verbose)
    passed = table(results)
    total, decided = sum(passed.values()), sum(bool(case.constants(DECIDING)) for case in judged)
    share = total / max(len(chosen), 1)
    print(f"{total} of all {len(chosen)} cases pass, {share:.1%} (the limit is {BAR:.0%}); {decided} of those judged "
          f"have constants as operands that decide shapes; {len(chosen) - len(judged)} cases are outside; "
          f"{time.monotonic() - start:.0f} s")
    problems = [f"{case.name} is wrong" for case, verdict, _ in results if verdict == "wrong"]
    if not arguments.patterns:
        problems += compare_with_pins(passed, arguments.bless)
        if share < BAR:
            problems.append(f"{share:.1%} of the cases pass; the limit is {BAR:.0%}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
