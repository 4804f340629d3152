"""Tests decoders as exporters write them, with and without a cache of keys and values.

    pip install -r requirements-onnx.txt
    python decoders.py [--npu COMMAND] [--target TARGET] [--option KEY=VALUE] [PATTERN ...]

Small networks with random weights in three styles:

- `llama`: RMS normalization as Pow, ReduceMean, Add, Sqrt, Div and Mul; rotation by slices, with angles computed from
  positions; keys repeated for groups of heads by Expand; a causal mask by Range and comparison; SiLU;
- `gpt`: layer normalization, learned positions, one matrix for queries, keys and values, a triangular mask by Trilu,
  the tanh form of GELU as arithmetic;
- `standard`: RMSNormalization, RotaryEmbedding and Attention of opset 23.

Batch, sequence and past are open dimensions, set by `--dim`. Each network is compared with ONNX Runtime (or the
standard's reference, if that lacks an operator), once as a prompt without a past and once with one more token after a
past. Both must agree with a prompt of all tokens.

With `--target` (`pccx`, `pccx:extended`), each is also compiled and run there. The weights are exact in 4 bits with one
scale per output, so that only the machine's own rounding remains: blocks of 8 bits, BF16, and 4-bit keys and values
unless `--option kv=host`.
"""

import argparse
import fnmatch
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from npu import Crash, Npu, Refusal, add_arguments

VOCABULARY, LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FEED_FORWARD, CONTEXT = 11, 2, 32, 4, 2, 8, 48, 16
PROMPT, BATCH = 5, 2

# Maximum difference, as a share of the largest value, for sums in another order.
BOUND = 2e-5
# Maximum root mean square error on a machine, as a share of the values': rounding of two layers, and of 4-bit keys and
# values.
MACHINE, MACHINE_KV = 0.1, 0.35


class Exporter:
    """A graph under construction."""

    def __init__(self, opset, cached, seed):
        self.opset, self.cached, self.generator = opset, cached, np.random.default_rng(seed)
        self.nodes, self.initializers, self.presents = [], [], []

    def node(self, operator, operands, **attributes):
        """Adds a node; returns the name of its result."""
        return self.several(operator, operands, 1, **attributes)[0]

    def several(self, operator, operands, count, **attributes):
        name = f"/{operator}_{len(self.nodes)}"
        results = [f"{name}_output_{index}" for index in range(count)]
        self.nodes.append(helper.make_node(operator, operands, results, name, **attributes))
        return results

    def constant(self, value, kind=np.int64):
        return self.node("Constant", [], value=numpy_helper.from_array(np.array(value, kind)))

    def weights(self, *shape, mean=0.0):
        name = f"weight_{len(self.initializers)}"
        deviation = 0.1 if len(shape) == 1 else np.sqrt(1 / shape[0])
        values = self.generator.normal(mean, deviation, shape).astype(np.float32)
        if len(shape) == 2:
            scale = np.abs(values).max(axis=0) / np.float32(7)
            values = np.clip(np.rint(values / scale), -7, 7).astype(np.float32) * scale
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def linear(self, x, inputs, outputs):
        return self.node("MatMul", [x, self.weights(inputs, outputs)])

    def size(self, x, axis):
        """Returns a size of x, as a scalar."""
        return self.node("Gather", [self.node("Shape", [x]), self.constant(axis)], axis=0)

    def shape(self, x, *sizes):
        """Returns a shape of numbers and sizes of `x`; the latter are strings."""
        parts = []
        for size in sizes:
            part = self.constant([size]) if isinstance(size, int) else self.unsqueeze(self.size(x, int(size)), 0)
            parts.append(part)
        return self.node("Concat", parts, axis=0)

    def reshape(self, x, *sizes):
        """Adds a Reshape to numbers and sizes of `x` itself."""
        return self.node("Reshape", [x, self.shape(x, *sizes)])

    def unsqueeze(self, x, *axes):
        return self.node("Unsqueeze", [x, self.constant(list(axes))])

    def slice(self, x, axis, start, end, step=1):
        return self.node("Slice", [x, *(self.constant([number]) for number in (start, end, axis, step))])

    def heads(self, x, count):
        """Converts [batch, sequence, hidden] to heads."""
        split = self.reshape(x, "0", "1", count, HEAD)
        return self.node("Transpose", [split], perm=[0, 2, 1, 3])

    def past(self, layer, part, own):
        """Appends to the past, and outputs the result."""
        name = f"{layer}.{part}"
        joined = self.node("Concat", [f"past.{name}", own], axis=2) if self.cached else own
        self.presents.append((self.node("Identity", [joined]), f"present.{name}"))
        return joined

    def scores(self, q, k):
        products = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        return self.node("Div", [products, self.constant(np.sqrt(HEAD), np.float32)])

    def seen(self, scores, v):
        x = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), v])
        x = self.node("Transpose", [x], perm=[0, 2, 1, 3])
        return self.reshape(x, "0", "1", HEADS * HEAD)

    def model(self, logits):
        shaped, kind = helper.make_tensor_value_info, TensorProto.FLOAT
        cache = lambda stem, length: [
            shaped(f"{stem}.{layer}.{part}", kind, ["batch", KV_HEADS if self.grouped else HEADS, length, HEAD])
            for layer in range(LAYERS) for part in ("key", "value")]
        self.nodes.append(helper.make_node("Identity", [logits], ["logits"], "last"))
        for inside, name in self.presents:
            next(node for node in self.nodes if inside in node.output).output[0] = name
        inputs = [shaped(name, TensorProto.INT64, ["batch", "sequence"]) for name in ("tokens", "positions")]
        inputs += cache("past", "past") if self.cached else []
        outputs = [shaped("logits", kind, ["batch", "sequence", VOCABULARY]), *cache("present", "total")]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        onnx.checker.check_model(model)
        return model


# --- llama ---


def rms(e, x):
    square = e.node("Pow", [x, e.constant(2.0, np.float32)])
    mean = e.node("ReduceMean", [square, e.constant([-1])]) if e.opset >= 18 else e.node("ReduceMean", [square], axes=[-1])
    root = e.node("Sqrt", [e.node("Add", [mean, e.constant(1e-6, np.float32)])])
    one = e.constant(1.0, np.float32)
    return e.node("Mul", [e.weights(HIDDEN, mean=1.0), e.node("Mul", [x, e.node("Div", [one, root])])])


def angles(e):
    """Returns cosines and sines [batch, 1, sequence, head] of the positions."""
    frequencies = e.constant(10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)[None, None], np.float32)
    positions = e.node("Cast", [e.unsqueeze("positions", 2)], to=TensorProto.FLOAT)
    turns = e.node("MatMul", [positions, frequencies])
    turns = e.node("Concat", [turns, turns], axis=-1)
    return [e.unsqueeze(e.node(function, [turns]), 1) for function in ("Cos", "Sin")]


def rotate(e, x, cos, sin):
    first, second = e.slice(x, 3, 0, HEAD // 2), e.slice(x, 3, HEAD // 2, 2**63 - 1)
    turned = e.node("Concat", [e.node("Neg", [second]), first], axis=-1)
    return e.node("Add", [e.node("Mul", [x, cos]), e.node("Mul", [turned, sin])])


def repeat(e, x):
    """Repeats each head of keys for its group of heads."""
    group = HEADS // KV_HEADS
    wide = e.node("Expand", [e.unsqueeze(x, 2), e.shape(x, "0", KV_HEADS, group, "2", HEAD)])
    return e.node("Reshape", [wide, e.shape(x, "0", HEADS, "2", HEAD)])


def causal(e, q, k):
    """Whether a key is not later than the query, [queries, keys]."""
    zero, one = e.constant(0), e.constant(1)
    queries, keys = e.size(q, 2), e.size(k, 2)
    before = e.node("Sub", [keys, queries])
    rows = e.node("Add", [e.node("Range", [zero, queries, one]), before])
    return e.node("LessOrEqual", [e.node("Range", [zero, keys, one]), e.unsqueeze(rows, 1)])


def llama(e):
    e.grouped = True
    x = e.node("Gather", [e.weights(VOCABULARY, HIDDEN), "tokens"], axis=0)
    cos, sin = angles(e)
    for layer in range(LAYERS):
        normal = rms(e, x)
        q = rotate(e, e.heads(e.linear(normal, HIDDEN, HEADS * HEAD), HEADS), cos, sin)
        k = rotate(e, e.heads(e.linear(normal, HIDDEN, KV_HEADS * HEAD), KV_HEADS), cos, sin)
        v = e.heads(e.linear(normal, HIDDEN, KV_HEADS * HEAD), KV_HEADS)
        k, v = e.past(layer, "key", k), e.past(layer, "value", v)
        hidden = e.constant(np.finfo(np.float32).min, np.float32)
        scores = e.scores(q, repeat(e, k))
        scores = e.node("Where", [causal(e, q, k), scores, hidden])
        x = e.node("Add", [x, e.linear(e.seen(scores, repeat(e, v)), HEADS * HEAD, HIDDEN)])
        normal = rms(e, x)
        gate = e.linear(normal, HIDDEN, FEED_FORWARD)
        gate = e.node("Mul", [gate, e.node("Sigmoid", [gate])])
        up = e.node("Mul", [gate, e.linear(normal, HIDDEN, FEED_FORWARD)])
        x = e.node("Add", [x, e.linear(up, FEED_FORWARD, HIDDEN)])
    return e.linear(rms(e, x), HIDDEN, VOCABULARY)


# --- gpt ---


def layer_norm(e, x):
    return e.node("LayerNormalization", [x, e.weights(HIDDEN, mean=1.0), e.weights(HIDDEN)], axis=-1, epsilon=1e-5)


def biased(e, x, inputs, outputs):
    return e.node("Add", [e.linear(x, inputs, outputs), e.weights(outputs)])


def gelu(e, x):
    number = lambda value: e.constant(value, np.float32)
    cube = e.node("Mul", [number(0.044715), e.node("Pow", [x, number(3.0)])])
    inner = e.node("Mul", [e.node("Add", [x, cube]), number(np.sqrt(2 / np.pi))])
    gate = e.node("Add", [e.node("Tanh", [inner]), number(1.0)])
    return e.node("Mul", [e.node("Mul", [x, number(0.5)]), gate])


def gpt(e):
    e.grouped = False
    x = e.node("Gather", [e.weights(VOCABULARY, HIDDEN), "tokens"], axis=0)
    x = e.node("Add", [x, e.node("Gather", [e.weights(CONTEXT, HIDDEN), "positions"], axis=0)])
    for layer in range(LAYERS):
        joint = biased(e, layer_norm(e, x), HIDDEN, 3 * HEADS * HEAD)
        parts = e.several("Split", [joint, e.constant([HEADS * HEAD] * 3)], 3, axis=2)
        q, k, v = (e.heads(part, HEADS) for part in parts)
        k, v = e.past(layer, "key", k), e.past(layer, "value", v)
        scores = e.scores(q, k)
        ones = e.node("ConstantOfShape", [e.node("Concat", [e.unsqueeze(e.size(q, 2), 0), e.unsqueeze(e.size(k, 2), 0)], axis=0)],
                      value=numpy_helper.from_array(np.array([-1e9], np.float32)))
        diagonal = e.node("Add", [e.node("Sub", [e.size(k, 2), e.size(q, 2)]), e.constant(1)])
        scores = e.node("Add", [scores, e.node("Trilu", [ones, diagonal], upper=1)])
        x = e.node("Add", [x, biased(e, e.seen(scores, v), HEADS * HEAD, HIDDEN)])
        up = gelu(e, biased(e, layer_norm(e, x), HIDDEN, FEED_FORWARD))
        x = e.node("Add", [x, biased(e, up, FEED_FORWARD, HIDDEN)])
    return e.linear(layer_norm(e, x), HIDDEN, VOCABULARY)


# --- standard ---


def standard(e):
    e.grouped = True
    norm = lambda x: e.node("RMSNormalization", [x, e.weights(HIDDEN, mean=1.0)], axis=-1, epsilon=1e-6)
    turns = np.arange(CONTEXT)[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    cos, sin = e.constant(np.cos(turns), np.float32), e.constant(np.sin(turns), np.float32)
    x = e.node("Gather", [e.weights(VOCABULARY, HIDDEN), "tokens"], axis=0)
    for layer in range(LAYERS):
        normal = norm(x)
        rotary = lambda x, heads: e.node("RotaryEmbedding", [x, cos, sin, "positions"], num_heads=heads)
        q = rotary(e.linear(normal, HIDDEN, HEADS * HEAD), HEADS)
        k = rotary(e.linear(normal, HIDDEN, KV_HEADS * HEAD), KV_HEADS)
        v = e.linear(normal, HIDDEN, KV_HEADS * HEAD)
        past = ["", f"past.{layer}.key", f"past.{layer}.value"] if e.cached else []
        seen, key, value = e.several("Attention", [q, k, v, *past], 3, is_causal=1, q_num_heads=HEADS, kv_num_heads=KV_HEADS)
        e.presents += [(e.node("Identity", [key]), f"present.{layer}.key"), (e.node("Identity", [value]), f"present.{layer}.value")]
        x = e.node("Add", [x, e.linear(seen, HEADS * HEAD, HIDDEN)])
        up = e.linear(norm(x), HIDDEN, FEED_FORWARD)
        up = e.node("Gelu", [up], approximate="tanh")
        x = e.node("Add", [x, e.linear(up, FEED_FORWARD, HIDDEN)])
    return e.linear(norm(x), HIDDEN, VOCABULARY)


NETWORKS = [(llama, 14), (llama, 18), (gpt, 18), (standard, 23)]


# --- tests ---


def expected(model, inputs):
    """Returns the expected outputs by name."""
    names = [output.name for output in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # a missing operator, for which it raises several types of errors
        return dict(zip(names, ReferenceEvaluator(model).run(None, inputs), strict=True))
    return dict(zip(names, session.run(names, inputs), strict=True))


def difference(found, wanted):
    """Returns the largest difference as a share of the largest value, over all outputs."""
    assert sorted(found) == sorted(wanted), f"outputs {sorted(found)} instead of {sorted(wanted)}"
    share = lambda name: np.abs(found[name] - wanted[name]).max() / np.abs(wanted[name]).max()
    return max(share(name) for name in wanted)


def evaluated(npu, name, network, opset, cached, inputs, machine):
    """Returns the outputs, their error, and the machine's error."""
    exporter = Exporter(opset, cached, seed=7)
    model = exporter.model(network(exporter))
    path = npu.folder / f"{name}.onnx"
    onnx.save(model, path)
    sizes = {"batch": BATCH, "sequence": inputs["tokens"].shape[1]}
    sizes |= {"past": inputs["past.0.key"].shape[2]} if cached else {}
    options = [part for key, size in sizes.items() for part in ("--dim", f"{key}={size}")]
    found, _ = npu.outputs("eval", path, inputs, *options, name=name)
    wanted = expected(model, inputs)
    if not machine:
        return found, difference(found, wanted), 0.0
    ours, _ = npu.outputs("run", path, inputs, *options, *machine, name=name)
    share = lambda name: np.sqrt(np.mean((ours[name] - wanted[name]) ** 2) / np.mean(wanted[name] ** 2))
    return found, difference(found, wanted), max(share(name) for name in wanted)


def judge(npu, network, opset, machine, most):
    """Tests a prompt and one more token: returns (text, success)."""
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, PROMPT + 1))
    positions = np.tile(np.arange(PROMPT + 1), (BATCH, 1))
    name = f"{network.__name__}_opset{opset}"
    run = lambda part, cached, inputs: evaluated(npu, f"{name}.{part}", network, opset, cached, inputs, machine)
    try:
        whole, first, prompt = run("prompt", False, {"tokens": tokens, "positions": positions})
        inputs = {"tokens": tokens[:, -1:], "positions": positions[:, -1:]}
        past = {key.replace("present", "past"): value[:, :, :-1] for key, value in whole.items() if key != "logits"}
        step, second, further = run("step", True, inputs | past)
    except (Refusal, Crash, AssertionError) as error:
        return str(error), False
    step_by_step = difference({"logits": step["logits"]}, {"logits": whole["logits"][:, -1:]})
    worst = max(first, second, step_by_step)
    text = f"prompt {first:.1e}, step {second:.1e}, step and prompt {step_by_step:.1e} (at most {BOUND:.0e})"
    if machine:
        text += f"; machine: prompt {prompt:.3f}, step {further:.3f} (at most {most})"
    return text, worst <= BOUND and max(prompt, further) <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--target", help="target on which to run them too")
    parser.add_argument("--option", action="append", default=[], help="option of the target, for example `kv=host`")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `llama_*`")
    arguments = parser.parse_intermixed_args()
    onnxruntime.set_default_logger_severity(4)
    npu, failed = Npu(arguments.npu), 0
    machine = ["--target", arguments.target] if arguments.target else []
    machine += [part for option in arguments.option for part in ("--option", option)]
    most = MACHINE if "kv=host" in arguments.option else MACHINE_KV
    for network, opset in NETWORKS:
        name = f"{network.__name__}_opset{opset}"
        if arguments.patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
            continue
        text, good = judge(npu, network, opset, machine, most)
        print(f"{'ok  ' if good else 'FAIL'} {name}: {text}", flush=True)
        failed += not good
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
