"""Recurrent layers, control flow and contrib operators, evaluated like ONNX Runtime.

    pip install -r requirements-onnx.txt
    python control_flow.py [--npu COMMAND] [PATTERN ...]

Every case is a small model with seeded weights, a row or a few lines below. `npu eval` must give the shapes, types and
values of ONNX Runtime; what neither takes is no case.
"""

import argparse
import concurrent.futures
import fnmatch
import itertools
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from npu import Crash, Npu, Refusal, add_arguments

# Largest difference, as a share of the largest value: sums in another order.
BOUND = 2e-5

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
CONTRIB = "com.microsoft"


class Case:
    """A model in the making, and arrays for its inputs."""

    def __init__(self, name, opset=17):
        self.name, self.opset = name, opset
        self.generator = np.random.default_rng(sum(map(ord, name)))
        self.nodes, self.initializers, self.inputs, self.outputs, self.arrays = [], [], [], [], {}
        self.options, self.bound = [], BOUND

    def random(self, *shape, scale=1.0):
        """Seeded floats."""
        return self.generator.normal(0, scale, shape).astype(np.float32)

    def input(self, name, array):
        """An input, given the array."""
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        self.arrays[name] = array
        return name

    def constant(self, name, array):
        """An initialiser."""
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator, operands, outputs, domain="", **attributes):
        """A node."""
        self.nodes.append(helper.make_node(operator, operands, outputs, domain=domain, **attributes))

    def output(self, *names, kind=FLOAT):
        """Outputs of any shape."""
        self.outputs.extend(helper.make_tensor_value_info(name, kind, None) for name in names)
        return self

    def model(self):
        """The model."""
        graph = helper.make_graph(self.nodes, "case", self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(name, operator, steps=5, batch=2, size=3, hidden=4, *, direction="forward", bias=True, lengths=None,
              initial=False, peepholes=False, outputs=None, **attributes):
    """A recurrent layer."""
    case = Case(name)
    directions, width = 2 if direction == "bidirectional" else 1, GATES[operator] * hidden
    first = attributes.get("layout", 0)
    x = case.input("x", case.random(*((batch, steps) if first else (steps, batch)), size))
    operands = [x, case.constant("w", case.random(directions, width, size, scale=0.7)),
                case.constant("r", case.random(directions, width, hidden, scale=0.7)),
                case.constant("b", case.random(directions, 2 * width, scale=0.5)) if bias else ""]
    if lengths == "computed":
        operands.append(case.input("lengths", np.array([steps, 2], np.int32)))
    else:
        operands.append(case.constant("lengths", np.array(lengths, np.int32)) if lengths else "")
    shape = (batch, directions, hidden) if first else (directions, batch, hidden)
    states = 2 if operator == "LSTM" else 1
    for state in ("h", "c")[:states]:
        operands.append(case.input(state, case.random(*shape)) if initial else "")
    if peepholes:
        operands.append(case.constant("p", case.random(directions, 3 * hidden)))
    while not operands[-1]:
        operands.pop()
    results = outputs or ["y", "y_h", "y_c"][: 1 + states]
    case.node(operator, operands, results, hidden_size=hidden, direction=direction, **attributes)
    return case.output(*filter(None, results))


def recurrent_layers():
    """Layers of all kinds, each with what only it has."""
    yield recurrent("simple_lstm", "LSTM", bias=False)
    for operator, direction in itertools.product(GATES, ("forward", "reverse", "bidirectional")):
        name = f"{operator.lower()}_{direction}"
        yield recurrent(name, operator, direction=direction)
        yield recurrent(f"{name}_states", operator, direction=direction, initial=True)
        yield recurrent(f"{name}_lengths", operator, direction=direction, lengths=[5, 3], initial=True)
        yield recurrent(f"{name}_lengths_computed", operator, direction=direction, lengths="computed")
    yield recurrent("lstm_peepholes", "LSTM", peepholes=True, initial=True, direction="bidirectional")
    yield recurrent("lstm_peepholes_zero", "LSTM", peepholes=True)
    yield recurrent("lstm_input_forget", "LSTM", input_forget=1, initial=True)
    yield recurrent("lstm_clip", "LSTM", clip=0.3, initial=True)
    yield recurrent("gru_clip", "GRU", clip=0.3, initial=True)
    yield recurrent("rnn_clip", "RNN", clip=0.3, initial=True)
    yield recurrent("gru_reset_after", "GRU", linear_before_reset=1, initial=True)
    yield recurrent("gru_reset_after_bidirectional", "GRU", linear_before_reset=1, direction="bidirectional")
    yield recurrent("gru_reset_after_bare", "GRU", linear_before_reset=1, bias=False)
    yield recurrent("lstm_last_only", "LSTM", outputs=["", "y_h", "y_c"])
    yield recurrent("lstm_sequence_only", "LSTM", outputs=["y"])
    yield recurrent("lstm_one_step", "LSTM", steps=1, batch=1, initial=True)
    yield recurrent("lstm_activations", "LSTM", activations=["HardSigmoid", "Softsign", "Relu"], initial=True)
    yield recurrent("gru_activations", "GRU", activations=["Sigmoid", "LeakyRelu"], activation_alpha=[0.2])
    yield recurrent("rnn_elu", "RNN", activations=["Elu"], activation_alpha=[0.5])
    yield recurrent("rnn_scaled_tanh", "RNN", activations=["ScaledTanh"], activation_alpha=[0.7], activation_beta=[0.4])
    yield recurrent("rnn_affine", "RNN", activations=["Affine"], activation_alpha=[0.7], activation_beta=[0.4])
    yield recurrent("rnn_bidirectional_two", "RNN", direction="bidirectional", activations=["Tanh", "HardSigmoid"],
                    activation_alpha=[0.3], activation_beta=[0.4])


def quantised_lstm(name, directions=1, kind=np.int8, by_column=False, initial=False):
    """DynamicQuantizeLSTM, as ONNX Runtime's quantiser writes it."""
    case, steps, batch, size, hidden = Case(name), 4, 2, 8, 16
    x = case.input("x", case.random(steps, batch, size))
    low, high = (-127, 128) if kind is np.int8 else (0, 256)
    draw = lambda *shape: case.generator.integers(low, high, shape).astype(kind)
    scales = (directions, 4 * hidden) if by_column else (directions,)
    scale = lambda: case.generator.uniform(0.004, 0.006, scales).astype(np.float32)
    zero = np.full(scales, 0 if kind is np.int8 else 128, kind)
    operands = [x, case.constant("w", draw(directions, size, 4 * hidden)),
                case.constant("r", draw(directions, hidden, 4 * hidden)),
                case.constant("b", case.random(directions, 8 * hidden, scale=0.2)), ""]
    operands += [case.input(state, case.random(directions, batch, hidden)) if initial else "" for state in ("h", "c")]
    operands += ["", case.constant("ws", scale()), case.constant("wz", zero), case.constant("rs", scale()),
                 case.constant("rz", zero)]
    direction = "bidirectional" if directions == 2 else "forward"
    case.node("DynamicQuantizeLSTM", operands, ["y", "y_h", "y_c"], CONTRIB, hidden_size=hidden, direction=direction)
    return case.output("y", "y_h", "y_c")


def quantised_layers():
    """Recurrent layers of bytes."""
    yield quantised_lstm("quantised_lstm")
    yield quantised_lstm("quantised_lstm_unsigned", kind=np.uint8, initial=True)
    yield quantised_lstm("quantised_lstm_by_column", by_column=True, directions=2)


def value(name, kind=FLOAT, shape=None):
    """A value of a graph within a node."""
    return helper.make_tensor_value_info(name, kind, shape)


def constant_node(name, array):
    """A Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array), name))


def choice(name, fixed=False, same=True):
    """An If whose condition is an input, or a comparison of one that is fixed by `--set`."""
    case = Case(name)
    x = case.input("x", case.random(2, 4))
    rate = case.input("rate", np.array(16000 if fixed else 8000, np.int64))
    case.constant("limit", np.array(16000, np.int64))
    case.node("Equal", [rate, "limit"], ["fast"])
    shape = [2, 4] if same else None
    then = helper.make_graph([helper.make_node("Sigmoid", [x], ["t"])], "then", [], [value("t", shape=shape)])
    other = [helper.make_node("Neg", [x], ["n"]), helper.make_node("Add", ["n", x], ["m"])]
    if not same:
        other.append(helper.make_node("Concat", ["n", "m"], ["e"], axis=0))
    other = helper.make_graph(other, "else", [], [value("m" if same else "e", shape=shape)])
    case.node("If", ["fast"], ["y"], then_branch=then, else_branch=other)
    if fixed:
        case.options = ["--set", "rate=16000"]
    return case.output("y")


def repeated(name, rounds=4, computed=False, condition=None, stacked=True):
    """A Loop that doubles and adds up a captured value."""
    case = Case(name)
    x, start = case.input("x", case.random(3)), case.input("start", case.random(3))
    number = np.array(rounds, np.int64)
    limit = case.input("rounds", number) if computed else case.constant("rounds", number)
    if rounds is None:
        limit = ""
    body = [helper.make_node("Mul", ["s", x], ["p"]), helper.make_node("Tanh", ["p"], ["q"]),
            helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Add", ["q", "f"], ["n"])]
    if condition == "known":
        body += [constant_node("two", np.int64(2)), helper.make_node("Less", ["i", "two"], ["go"])]
    elif condition == "computed":
        body += [helper.make_node("ReduceSum", ["n"], ["sum"], keepdims=0), constant_node("most", np.float32(6)),
                 helper.make_node("Less", ["sum", "most"], ["go"])]
    else:
        body.append(helper.make_node("Identity", ["c"], ["go"]))
    results = [value("go", BOOL, []), value("n", shape=[3])]
    if stacked:
        body.append(helper.make_node("Neg", ["n"], ["out"]))
        results.append(value("out", shape=[3]))
    inputs = [value("i", INT64, []), value("c", BOOL, []), value("s", shape=[3])]
    case.constant("true", np.array(True))
    case.node("Loop", [limit, "true", start], ["last", "all"] if stacked else ["last"],
              body=helper.make_graph(body, "body", inputs, results))
    return case.output("last", *(["all"] if stacked else []))


def scanned(name, **attributes):
    """A Scan that adds up."""
    case = Case(name)
    axis = attributes.get("scan_input_axes", [0])[0]
    x, start = case.input("x", case.random(4, 3) if axis == 0 else case.random(3, 4)), case.input("s", case.random(3))
    body = [helper.make_node("Add", ["a", "b"], ["n"]), helper.make_node("Relu", ["n"], ["o"])]
    body = helper.make_graph(body, "body", [value("a", shape=[3]), value("b", shape=[3])],
                             [value("n", shape=[3]), value("o", shape=[3])])
    case.node("Scan", [start, x], ["last", "all"], body=body, num_scan_inputs=1, **attributes)
    return case.output("last", "all")


def control():
    """If, Loop and Scan."""
    yield choice("if_computed")
    yield choice("if_set", fixed=True)
    yield choice("if_set_shapes", fixed=True, same=False)
    yield repeated("loop_known")
    yield repeated("loop_none", rounds=0)
    yield repeated("loop_known_end", condition="known")
    yield repeated("loop_long", rounds=20000, stacked=True)
    yield repeated("loop_computed_end", rounds=9, condition="computed", stacked=False)
    yield repeated("loop_computed_rounds", computed=True, stacked=False)
    yield repeated("loop_while", rounds=np.iinfo(np.int64).max, condition="computed", stacked=False)
    yield scanned("scan")
    yield scanned("scan_backwards", scan_input_directions=[1], scan_output_directions=[1])
    yield scanned("scan_axes", scan_input_axes=[1], scan_output_axes=[1])


def masked(name, mask, computed=False):
    """A Softmax of scores and a mask, and the guard against NaN that exporters put behind it."""
    case = Case(name, 20)
    scores = case.input("scores", case.random(2, 4, 4))
    mask = case.input("mask", mask) if computed else case.constant("mask", mask)
    case.constant("zero", np.float32(0))
    case.constant("hidden", np.float32(-np.inf))
    case.node("Where", [mask, "zero", "hidden"], ["bias"])
    case.node("Add", [scores, "bias"], ["masked"])
    case.node("Softmax", ["masked"], ["share"], axis=-1)
    case.node("IsNaN", ["share"], ["nan"])
    case.node("Where", ["nan", "zero", "share"], ["y"])
    return case.output("y")


def masks():
    """Masks as PyTorch's exporter writes them."""
    causal, hidden = np.tril(np.ones((4, 4), bool)), np.tril(np.ones((4, 4), bool), -1)
    yield masked("mask_causal", causal)
    yield masked("mask_hidden_row", hidden)
    yield masked("mask_computed", hidden, computed=True)


FAMILIES = [recurrent_layers, quantised_layers, control, masks]


def judge(npu, case):
    """What to print of a case, and whether all is well."""
    path = npu.folder / f"{case.name}.onnx"
    onnx.save(case.model(), path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = onnxruntime.InferenceSession(path, options).run(None, case.arrays)
    fixed = {option.split("=")[0] for option in case.options}
    given = {name: array for name, array in case.arrays.items() if name not in fixed}
    try:
        found, _ = npu.outputs("eval", path, given, *case.options, name=case.name)
    except (Refusal, Crash) as error:
        return f"{type(error).__name__.lower()}: {error}", False
    worst = 0.0
    for output, expected in zip(case.outputs, wanted, strict=True):
        array = found[output.name]
        if array.shape != expected.shape or array.dtype != expected.dtype:
            return f"{output.name} is {array.dtype}{array.shape}, not {expected.dtype}{expected.shape}", False
        if expected.size:
            worst = max(worst, np.abs(array - expected).max() / max(np.abs(expected).max(), 1e-6))
    return f"difference {worst:.1e}", bool(worst <= case.bound)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `lstm_*`")
    arguments = parser.parse_intermixed_args()
    npu, failed = Npu(arguments.npu), 0
    wanted = lambda name: not arguments.patterns or any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns)
    cases = [case for family in FAMILIES for case in family() if wanted(case.name)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, (text, good) in zip(cases, pool.map(lambda case: judge(npu, case), cases)):
            print(f"{'ok  ' if good else 'FAIL'} {case.name}: {text}", flush=True)
            failed += not good
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
