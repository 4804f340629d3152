"""Compares recurrent layers, control flow and contrib operators with ONNX Runtime.

    pip install -r requirements-onnx.txt
    python control_flow.py [--npu COMMAND] [PATTERN ...]

Every case is a small model with random weights, in one or a few lines below. `npu eval` must return the shapes, types
and values of ONNX Runtime. Models that neither supports are not included.
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

# Maximum difference, as a share of the largest value, for sums in another order.
BOUND = 2e-5

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
CONTRIB = "com.microsoft"


class Case:
    """A model under construction, and arrays for its inputs."""

    def __init__(self, name, opset=17):
        self.name, self.opset = name, opset
        self.generator = np.random.default_rng(sum(map(ord, name)))
        self.nodes, self.initializers, self.inputs, self.outputs, self.arrays = [], [], [], [], {}
        self.options, self.bound = [], BOUND

    def random(self, *shape, scale=1.0):
        """Returns random floats."""
        return self.generator.normal(0, scale, shape).astype(np.float32)

    def input(self, name, array):
        """Adds an input with the array."""
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        self.arrays[name] = array
        return name

    def constant(self, name, array):
        """Adds an initializer."""
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator, operands, outputs, domain="", **attributes):
        """Adds a node."""
        self.nodes.append(helper.make_node(operator, operands, outputs, domain=domain, **attributes))

    def output(self, *names, kind=FLOAT):
        """Adds outputs of any shape."""
        self.outputs.extend(helper.make_tensor_value_info(name, kind, None) for name in names)
        return self

    def model(self):
        """Returns the model."""
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
    """Layers of all kinds, each with its specific features."""
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


def quantized_lstm(name, directions=1, kind=np.int8, by_column=False, initial=False, silent=False):
    """DynamicQuantizeLSTM, as ONNX Runtime's quantizer writes it."""
    case, steps, batch, size, hidden = Case(name), 4, 2, 8, 16
    x = case.input("x", case.random(steps, batch, size, scale=0.0 if silent else 1.0))
    # On processors without VNNI, ONNX Runtime adds two products of an unsigned and a signed byte in 16 bits, which
    # overflows for larger signed weights. Unsigned weights use the full range.
    low, high = (-63, 64) if kind is np.int8 else (0, 256)
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


def quantized_layers():
    """Recurrent layers with quantized weights."""
    yield quantized_lstm("quantized_lstm")
    yield quantized_lstm("quantized_lstm_unsigned", kind=np.uint8, initial=True)
    yield quantized_lstm("quantized_lstm_by_column", by_column=True, directions=2)
    yield quantized_lstm("quantized_lstm_silence", silent=True)


def value(name, kind=FLOAT, shape=None):
    """A value of a nested graph."""
    return helper.make_tensor_value_info(name, kind, shape)


def constant_node(name, array):
    """A Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array), name))


def choice(name, fixed=False, same=True):
    """An If whose condition is an input, or a comparison of an input fixed by `--const`."""
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
        case.options = ["--const", "rate=16000"]
    return case.output("y")


def repeated(name, rounds=4, computed=False, condition=None, stacked=True):
    """A Loop that doubles and accumulates a captured value."""
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
    """A Scan that accumulates values."""
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
    """A Softmax of scores and a mask, followed by the guard against NaN that exporters add."""
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


def activations():
    """Gelu and its variants."""
    for operator, biased in (("Gelu", 0), ("FastGelu", 0), ("FastGelu", 1), ("QuickGelu", 0), ("BiasGelu", 1)):
        case = Case(f"{operator.lower()}_{biased}")
        operands = [case.input("x", case.random(2, 8))]
        operands += [case.constant("b", case.random(8))] if biased else []
        case.node(operator, operands, ["y"], CONTRIB)
        yield case.output("y")


def products():
    """Products with fused operators."""
    shapes = {"plain": ((2, 3, 4), (2, 4, 5), {}), "transposed": ((2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1}),
              "batches": ((3, 2, 4), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1}),
              "all": ((4, 2, 3), (5, 2, 4), {"transA": 1, "transB": 1, "transBatchA": 1, "transBatchB": 1})}
    for name, (left, right, attributes) in shapes.items():
        case = Case(f"fused_matmul_{name}")
        operands = [case.input("a", case.random(*left)), case.input("b", case.random(*right))]
        case.node("FusedMatMul", operands, ["y"], CONTRIB, alpha=0.25, **attributes)
        yield case.output("y")
    for activation, attributes in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2})):
        case = Case(f"fused_gemm_{activation.lower()}")
        operands = [case.input("a", case.random(3, 4)), case.constant("b", case.random(5, 4)),
                    case.constant("c", case.random(5))]
        case.node("FusedGemm", operands, ["y"], CONTRIB, transB=1, alpha=0.5, activation=activation, **attributes)
        yield case.output("y")
    for activation, values, summed in (("Relu", [], True), ("Clip", [-0.5, 1.0], False), ("HardSigmoid", [0.2, 0.5], False),
                                       ("Tanh", [], False), ("LeakyRelu", [0.1], True)):
        case = Case(f"fused_conv_{activation.lower()}")
        operands = [case.input("x", case.random(1, 3, 6, 6)), case.constant("w", case.random(4, 3, 3, 3, scale=0.3)),
                    case.constant("b", case.random(4))]
        operands += [case.input("z", case.random(1, 4, 6, 6))] if summed else []
        values = {"activation_params": values} if values else {}
        case.node("FusedConv", operands, ["y"], CONTRIB, pads=[1] * 4, activation=activation, **values)
        yield case.output("y")


def normalizations():
    """Normalizations of sums."""
    for biased, shown in ((False, False), (True, True)):
        for operator in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
            case = Case(f"{operator.lower()}_{'bias' if biased else 'plain'}")
            operands = [case.input("x", case.random(2, 3, 8)), case.input("s", case.random(2, 3, 8)),
                        case.constant("g", case.random(8))]
            if operator == "SkipLayerNormalization":
                operands.append(case.constant("b", case.random(8)))
            operands += [case.constant("bias", case.random(8))] if biased else []
            case.node(operator, operands, ["y", "", "", "sum"] if shown else ["y"], CONTRIB, epsilon=1e-5)
            yield case.output("y", *(["sum"] if shown else []))
    for segments in (False, True):
        case = Case(f"embed_{'segments' if segments else 'words'}")
        words = case.input("words", case.generator.integers(0, 11, (2, 5)).astype(np.int32))
        operands = [words, case.input("segments", case.generator.integers(0, 2, (2, 5)).astype(np.int32)) if segments else "",
                    case.constant("w", case.random(11, 8)), case.constant("p", case.random(9, 8)),
                    case.constant("t", case.random(2, 8)) if segments else "", case.constant("g", case.random(8)),
                    case.constant("b", case.random(8))]
        case.node("EmbedLayerNormalization", operands, ["y", "count"], CONTRIB, epsilon=1e-5)
        yield case.output("y")


def attention(name, mask=None, past=0, bias=False, **attributes):
    """Attention including its projections."""
    case, batch, sequence, heads, head = Case(name), 2, 5, 2, 4
    hidden = heads * head
    operands = [case.input("x", case.random(batch, sequence, 6)), case.constant("w", case.random(6, 3 * hidden, scale=0.5)),
                case.constant("b", case.random(3 * hidden))]
    keys = sequence + past
    shown = {"lengths": lambda: np.array([sequence, 3], np.int32),
             "keys": lambda: (case.generator.uniform(size=(batch, keys)) > 0.3).astype(np.int32),
             "pairs": lambda: (case.generator.uniform(size=(batch, sequence, keys)) > 0.3).astype(np.int32)}
    operands.append(case.input("mask", shown[mask]()) if mask else "")
    operands.append(case.input("past", case.random(2, batch, heads, past, head)) if past else "")
    operands.append(case.input("bias", case.random(batch, heads, sequence, keys)) if bias else "")
    case.node("Attention", operands, ["y", "present"] if past else ["y"], CONTRIB, num_heads=heads, **attributes)
    return case.output("y", *(["present"] if past else []))


def multi_head(name, past=0, mask=False, bias=False, cross=False, added=False, prompt=False, **attributes):
    """MultiHeadAttention."""
    case, batch, sequence, heads, head = Case(name), 2, 4, 2, 4
    hidden, keys = heads * head, 6 if cross else 4
    operands = [case.input("q", case.random(batch, sequence, hidden)), case.input("k", case.random(batch, keys, hidden)),
                case.input("v", case.random(batch, keys, hidden)),
                case.constant("b", case.random(3 * hidden)) if bias else "",
                case.input("mask", np.array([[1] * keys, [1] * (keys - 1) + [0]], np.int32)) if mask else "",
                case.input("bias", case.random(batch, heads, sequence, keys + past)) if added else ""]
    has_past = past > 0 or prompt
    operands += [case.input(which, case.random(batch, heads, past, head)) if has_past else "" for which in ("pk", "pv")]
    results = ["y", "keys", "values"] if has_past else ["y"]
    case.node("MultiHeadAttention", operands, results, CONTRIB, num_heads=heads, **attributes)
    return case.output(*results)


def grouped(name, past=None, packed=False, rotary=False, sequence=4, sink=False, batch=1, **attributes):
    """GroupQueryAttention, where all texts are as long as their cache."""
    case, heads, shared, head = Case(name), 4, 2, 16
    if packed:
        operands = [case.input("q", case.random(batch, sequence, (heads + 2 * shared) * head)), "", ""]
    else:
        operands = [case.input(which, case.random(batch, sequence, count * head))
                    for which, count in (("q", heads), ("k", shared), ("v", shared))]
    shape, has_past = (batch, shared, past or 0, head), past is not None
    past = past or 0
    operands += [case.input(which, case.random(*shape)) if has_past else "" for which in ("pk", "pv")]
    operands.append(case.input("lengths", np.full(batch, past + sequence - 1, np.int32)))
    operands.append(case.constant("total", np.array(past + sequence, np.int32)))
    if rotary:
        angles = np.outer(np.arange(32), 1 / 100 ** (np.arange(head // 2) / (head // 2))).astype(np.float32)
        operands += [case.constant("cos", np.cos(angles)), case.constant("sin", np.sin(angles))]
    if sink:
        operands += [""] * (11 - len(operands)) + [case.constant("sink", case.random(heads))]
    case.node("GroupQueryAttention", operands, ["y", "keys", "values"], CONTRIB, num_heads=heads, kv_num_heads=shared,
              do_rotary=int(rotary), **attributes)
    return case.output("y", "keys", "values")


def of_bytes(name, mask=False, past=0, by_column=False, **attributes):
    """QAttention."""
    case, batch, sequence, heads, head = Case(name), 2, 3, 2, 4
    hidden = heads * head
    codes = case.generator.integers
    operands = [case.input("x", codes(0, 256, (batch, sequence, hidden)).astype(np.uint8)),
                case.constant("w", codes(-63, 64, (hidden, 3 * hidden)).astype(np.int8)),
                case.constant("b", case.random(3 * hidden)), case.constant("xs", np.array(0.02, np.float32)),
                case.constant("ws", case.generator.uniform(0.01, 0.03, 3 * hidden if by_column else ()).astype(np.float32)),
                case.input("mask", np.array([2, 3], np.int32)) if mask else "",
                case.constant("xz", np.array(120, np.uint8)),
                case.constant("wz", np.zeros(3 * hidden if by_column else (), np.int8))]
    operands += [case.input("past", case.random(2, batch, heads, past, head))] if past else []
    results = ["y", "present"] if past else ["y"]
    case.node("QAttention", operands, results, CONTRIB, num_heads=heads, **attributes)
    return case.output(*results)


def rotated(name, by_head=False, offset=False, **attributes):
    """RotaryEmbedding of ONNX Runtime."""
    case, batch, sequence, heads, head = Case(name), 2, 3, 2, 8
    x = case.input("x", case.random(*((batch, heads, sequence, head) if by_head else (batch, sequence, heads * head))))
    places = np.array([4], np.int64) if offset else case.generator.integers(0, 16, (batch, sequence))
    operands = [x, case.input("places", places), case.constant("cos", case.random(16, head // 2)),
                case.constant("sin", case.random(16, head // 2))]
    case.node("RotaryEmbedding", operands, ["y"], CONTRIB, **attributes)
    return case.output("y")


def attentions():
    """Attention in its forms."""
    yield attention("attention")
    for mask in ("lengths", "keys", "pairs"):
        yield attention(f"attention_{mask}", mask=mask)
    yield attention("attention_past", past=3, unidirectional=1)
    yield attention("attention_bias", bias=True, scale=0.3)
    yield multi_head("multi_head")
    yield multi_head("multi_head_bias", bias=True, added=True)
    yield multi_head("multi_head_mask", mask=True, cross=True)
    yield multi_head("multi_head_past", past=3, unidirectional=1)
    yield grouped("grouped")
    yield grouped("grouped_packed_rotary", packed=True, rotary=True)
    yield grouped("grouped_past_rotary", past=5, rotary=True, sequence=1)
    yield grouped("grouped_window", local_window_size=2)
    yield grouped("grouped_window_past", past=5, sequence=1, local_window_size=4)
    yield grouped("grouped_window_short", past=2, sequence=1, local_window_size=8, rotary=True)
    yield grouped("grouped_window_chunk", past=5, sequence=3, local_window_size=3)
    yield grouped("grouped_window_batch", past=6, sequence=1, batch=3, local_window_size=2)
    yield grouped("grouped_smooth", smooth_softmax=1)
    yield grouped("grouped_smooth_past", past=5, sequence=1, smooth_softmax=1)
    yield grouped("grouped_sink", past=5, sequence=1, sink=True, batch=2)
    yield grouped("grouped_sink_window", past=5, sequence=1, sink=True, smooth_softmax=1, local_window_size=3)
    yield grouped("grouped_prompt", past=0)
    yield grouped("grouped_prompt_rotary", past=0, rotary=True, local_window_size=2)
    yield grouped("grouped_all", causal=0)
    yield grouped("grouped_neutral", kv_cache_bit_width=0, qk_output=0, k_quant_type="NONE", sliding_window_cache=0)
    yield multi_head("multi_head_prompt", prompt=True, unidirectional=1)
    yield of_bytes("of_bytes")
    yield of_bytes("of_bytes_mask", mask=True)
    yield of_bytes("of_bytes_past", past=4, unidirectional=1)
    yield of_bytes("of_bytes_columns", by_column=True)
    yield grouped("grouped_cap", softcap=2.0, rotary=True, rotary_interleaved=1)
    yield rotated("rotary")
    yield rotated("rotary_by_head", by_head=True, interleaved=1)
    yield rotated("rotary_offset", offset=True)


def bits(name, rows=12, columns=64, block=32, width=4, zeros=None, bias=False, order=None):
    """MatMulNBits."""
    case, count = Case(name), -(-columns // block)
    operands = [case.input("x", case.random(2, 3, columns)),
                case.constant("w", case.generator.integers(0, 256, (rows, count, block * width // 8)).astype(np.uint8)),
                case.constant("scales", case.generator.uniform(0.01, 0.1, rows * count).astype(np.float32))]
    if zeros == "bytes":
        packed = rows * -(-count * width // 8)
        operands.append(case.constant("zeros", case.generator.integers(0, 256, packed).astype(np.uint8)))
    elif zeros == "floats":
        operands.append(case.constant("zeros", case.generator.uniform(6, 9, (rows, count)).astype(np.float32)))
    elif bias or order:
        operands.append("")
    groups = np.arange(columns) // block
    if order == "shuffled":
        groups = case.generator.permutation(groups)
    if order:
        operands.append(case.constant("order", groups.astype(np.int32)))
    elif bias:
        operands.append("")
    operands += [case.constant("bias", case.random(rows))] if bias else []
    case.node("MatMulNBits", operands, ["y"], CONTRIB, K=columns, N=rows, bits=width, block_size=block)
    return case.output("y")


def rows(name, kind=TensorProto.UINT4, shape=(10, 32), block=16, zeros=False, gather=0, quantize=1, indices=(7, 0, -1), **attributes):
    """GatherBlockQuantized."""
    case, bits = Case(name), attributes.get("bits", 4)
    per_byte = 8 // bits if kind == TensorProto.UINT8 else 1
    stored = list(shape)
    stored[-1] //= per_byte
    blocks = list(shape)
    blocks[quantize] = -(-blocks[quantize] // block)

    def codes(name, dims):
        count = int(np.prod(dims)) // (1 if kind == TensorProto.UINT8 else 2)
        raw = case.generator.integers(0, 256, count).astype(np.uint8).tobytes()
        case.initializers.append(helper.make_tensor(name, kind, dims, raw, raw=True))
        return name

    operands = [codes("table", stored), case.input("i", np.array(indices, np.int64)),
                case.constant("scales", case.generator.uniform(0.01, 0.1, blocks).astype(np.float32))]
    if zeros:
        packed = list(blocks)
        packed[-1] = -(-packed[-1] // per_byte)
        operands.append(codes("zeros", packed))
    case.node("GatherBlockQuantized", operands, ["y"], CONTRIB, gather_axis=gather, quantize_axis=quantize,
              block_size=block, **attributes)
    return case.output("y")


def bytes_to_floats(name, weights=np.uint8, bias=False, zeros=True, by_column=False, dynamic=False):
    """MatMulIntegerToFloat and DynamicQuantizeMatMul."""
    case, rows, inner, columns = Case(name), 5, 16, 6
    low, high = (0, 128) if weights == np.uint8 else (-63, 64)
    w = case.constant("w", case.generator.integers(low, high, (inner, columns)).astype(weights))
    ws = case.constant("ws", case.generator.uniform(0.01, 0.03, columns if by_column else ()).astype(np.float32))
    zero = case.constant("wz", np.full(columns if by_column else (), 7, weights)) if zeros else ""
    last = [case.constant("b", case.random(columns))] if bias else []
    if dynamic:
        operands = [case.input("x", case.random(2, rows, inner)), w, ws, zero] + last
    else:
        x = case.input("x", case.generator.integers(0, 256, (2, rows, inner)).astype(np.uint8))
        own = case.constant("xz", np.array(120, np.uint8)) if zeros else ""
        operands = [x, w, case.constant("xs", np.array(0.03, np.float32)), ws, own, zero] + last
    case.node("DynamicQuantizeMatMul" if dynamic else "MatMulIntegerToFloat", operands, ["y"], CONTRIB)
    return case.output("y")


def narrow():
    """Operators with weights of a few bits."""
    yield bits("bits_order", order="plain")
    yield bits("bits_shuffled", order="shuffled", columns=128)
    # Not with zero points in bytes: with an order, ONNX Runtime reads those as floats.
    yield bits("bits_shuffled_zeros", order="shuffled", zeros="floats", columns=96, bias=True)
    yield rows("rows_plain")
    yield rows("rows_signed", kind=TensorProto.INT4, zeros=True)
    yield rows("rows_zeros", zeros=True)
    yield rows("rows_across", shape=(32, 10), quantize=0, gather=1, zeros=True)
    yield rows("rows_deep", shape=(4, 6, 32), quantize=2, gather=1, zeros=True, indices=(5, 0, -6))
    yield rows("rows_first", shape=(6, 32, 4), quantize=1, gather=0, indices=(5, -1))
    for width in (2, 4, 8):
        yield rows(f"rows_bytes_{width}", kind=TensorProto.UINT8, bits=width)
        yield rows(f"rows_bytes_zeros_{width}", kind=TensorProto.UINT8, bits=width, zeros=True, shape=(10, 48))
    for dynamic in (False, True):
        own = "dynamic" if dynamic else "integer"
        yield bytes_to_floats(f"{own}_product", dynamic=dynamic)
        yield bytes_to_floats(f"{own}_product_bias", np.int8, bias=True, dynamic=dynamic)
        yield bytes_to_floats(f"{own}_product_plain", np.int8, zeros=False, dynamic=dynamic)
        yield bytes_to_floats(f"{own}_product_columns", np.int8, by_column=True, bias=True, dynamic=dynamic)
    yield bits("bits_plain")
    yield bits("bits_zeros", zeros="bytes", columns=96)
    yield bits("bits_floats", zeros="floats")
    yield bits("bits_bias", bias=True)
    yield bits("bits_uneven", columns=80)
    yield bits("bits_rows", block=64)
    yield bits("bits_eight", width=8)


FAMILIES = [recurrent_layers, quantized_layers, control, masks, activations, products, normalizations, attentions, narrow]


def judge(npu, case):
    """Runs a case; returns a text, and whether it succeeded."""
    path = npu.folder / f"{case.name}.onnx"
    onnx.save(case.model(), path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        wanted = onnxruntime.InferenceSession(path, options).run(None, case.arrays)
    except Exception as error:  # the binding has one exception class per error code
        return f"ONNX Runtime: {error}", False
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
