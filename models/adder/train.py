"""Trains the adder of `npu generate` and writes it with its held-out sums.

    python3 -m venv .venv && .venv/bin/pip install -r models/adder/requirements.txt
    .venv/bin/python models/adder/train.py

The adder is a decoder of 99,520 weights that adds two numbers written as text. A line of its text is

    123+456= 579

and a line feed: operands and sum have spaces before them up to 3 and 4 characters, and the model makes the
five characters behind the sign of equality, most significant digit first.

NumPy only: layers have their gradients written out. In the last part of the training every other step
computes with what the NPU holds in 4 bits (weights by row, keys and values by token) rounded as it will be,
and passes the gradient straight through: one set of weights then serves both arithmetics. Seeded and
single-threaded, so that the same machine writes the same bytes again.
"""

import argparse
import os
import time
from pathlib import Path

# One thread: sums then have one order. To be said before NumPy is loaded.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from safetensors.numpy import save_file

SEED = 2026
STEPS = 3000
BATCH = 256
RATE = 4e-3
QUANTIZED_FROM = 0.6  # share of the steps before rounding begins
ASSETS = Path(__file__).resolve().parents[2] / "crates" / "npukit" / "assets"

ALPHABET = "\n +=0123456789"
LAYERS, HIDDEN, FEED_FORWARD = 2, 64, 192
HEADS, KV_HEADS, HEAD = 4, 2, 32
THETA, EPSILON = 100.0, 1e-6
PROMPT, ANSWER = 8, 5  # characters of "123+456=" and of " 579\n"
LENGTH = PROMPT + ANSWER - 1  # the model never reads the line feed
HELD_OUT = 1000
SHOWN = 8  # held-out lines whose logits are written down

# What may be rounded: nothing, what the NPU holds in 4 bits, everything it computes.
FLOAT, INT4, NPU = range(3)


# --- text ---


def lines(a, b):
    """The characters of the lines for operands `a` and `b`, as indices into ALPHABET: `[n, 13]`."""

    def number(values, width):
        digits = values[:, None] // 10 ** np.arange(width - 1, -1, -1)
        codes = ALPHABET.index("0") + digits % 10
        return np.where((digits == 0) & (np.arange(width) < width - 1), ALPHABET.index(" "), codes)

    def mark(character):
        return np.full((len(a), 1), ALPHABET.index(character))

    return np.concatenate([number(a, 3), mark("+"), number(b, 3), mark("="), number(a + b, 4), mark("\n")], 1)


def text(codes):
    return "".join(ALPHABET[code] for code in codes)


# --- parameters: one vector, seen as matrices by name ---


def shapes():
    yield "embedding", (len(ALPHABET), HIDDEN)
    for layer in range(LAYERS):
        yield f"layers.{layer}.attention_norm", (HIDDEN,)
        yield f"layers.{layer}.query", (HEADS * HEAD, HIDDEN)
        yield f"layers.{layer}.key", (KV_HEADS * HEAD, HIDDEN)
        yield f"layers.{layer}.value", (KV_HEADS * HEAD, HIDDEN)
        yield f"layers.{layer}.output", (HIDDEN, HEADS * HEAD)
        yield f"layers.{layer}.feed_forward_norm", (HIDDEN,)
        yield f"layers.{layer}.up", (FEED_FORWARD, HIDDEN)
        yield f"layers.{layer}.down", (HIDDEN, FEED_FORWARD)
    yield "final_norm", (HIDDEN,)


def views(vector):
    named, start = {}, 0
    for name, shape in shapes():
        size = int(np.prod(shape))
        named[name] = vector[start : start + size].reshape(shape)
        start += size
    return named


def initial(rng):
    vector = np.zeros(sum(int(np.prod(shape)) for _, shape in shapes()), np.float32)
    for name, matrix in views(vector).items():
        if matrix.ndim == 1:
            matrix[:] = 1.0
        else:
            depth = 1 / np.sqrt(2 * LAYERS) if name.endswith(("output", "down")) else 1.0
            matrix[:] = rng.standard_normal(matrix.shape) * depth / np.sqrt(matrix.shape[1])
    return vector


# --- the NPU's numbers ---


def int4(x):
    """`x` as integers, -7 to 7, and a scale for each row of the last axis."""
    scale = np.abs(x).max(-1, keepdims=True) / 7
    scale[scale == 0] = 1
    return np.clip(np.rint(x / scale), -7, 7), scale


def rounded(x):
    codes, scale = int4(x)
    return codes * scale


def bfloat16(x):
    """`x` to the nearest number of 8 bits of precision, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def blocks(x):
    """`x` as 32 neighbors share an exponent: 8 bits each, cut off."""
    width = x.shape[-1]
    padded = np.pad(bfloat16(x), [(0, 0)] * (x.ndim - 1) + [(0, -width % 32)])
    parts = padded.reshape(*padded.shape[:-1], -1, 32)
    _, exponent = np.frexp(np.abs(parts).max(-1, keepdims=True))
    step = np.ldexp(np.float32(1), exponent - 7)
    parts = np.clip(np.trunc(parts / step), -127, 127) * step
    return parts.reshape(padded.shape)[..., :width]


# --- layers: each gives its result and a function from the result's gradient to the operands' ---


def rms_norm(x, gain):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(EPSILON))
    normal = x * inverse

    def back(dy):
        d = dy * gain
        dx = inverse * (d - normal * (d * normal).mean(-1, keepdims=True))
        return dx, (dy * normal).reshape(-1, gain.size).sum(0)

    return normal * gain, back


def linear(x, weights, numbers):
    if numbers == NPU:
        return bfloat16(blocks(x) @ weights.T), None

    def back(dy):
        rows = dy.reshape(-1, dy.shape[-1])
        return dy @ weights, rows.T @ x.reshape(-1, x.shape[-1])

    return x @ weights.T, back


def gelu(x):
    root = np.float32(np.sqrt(2 / np.pi))
    square = x * x
    tanh = np.tanh(root * x * (1 + np.float32(0.044715) * square))

    def back(dy):
        slope = root * (1 + np.float32(3 * 0.044715) * square)
        return dy * np.float32(0.5) * (1 + tanh + x * (1 - tanh * tanh) * slope)

    return np.float32(0.5) * x * (1 + tanh), back


def angles():
    frequencies = THETA ** (-2 * np.arange(HEAD // 2) / HEAD)
    turns = np.arange(LENGTH)[:, None] * frequencies
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


COS, SIN = angles()


def rotate(x, first, sign=1):
    """Rotates neighboring features of `x [batch, heads, sequence, HEAD]`, whose positions begin at `first`."""
    positions = slice(first, first + x.shape[2])
    even, odd, cos, sin = x[..., 0::2], x[..., 1::2], COS[positions], sign * SIN[positions]
    out = np.empty_like(x)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out


def attention(q, k, v, first, numbers):
    """Causal attention of queries from position `first` on; neighboring query heads share a key head."""
    batch, queries, length = len(q), q.shape[1], k.shape[1]
    split = lambda x, heads: x.reshape(batch, -1, heads, HEAD).transpose(0, 2, 1, 3)
    merge = lambda x: x.transpose(0, 2, 1, 3).reshape(batch, x.shape[2], -1)
    grouped = lambda x: x.reshape(batch, KV_HEADS, -1, x.shape[-1])
    heads = lambda x: x.reshape(batch, HEADS, queries, x.shape[-1])
    q, k, v = rotate(split(q, HEADS), first), rotate(split(k, KV_HEADS), 0), split(v, KV_HEADS)
    if numbers != FLOAT:
        k, v = rounded(k), rounded(v)
    if numbers == NPU:
        q = blocks(q)
    scale = np.float32(1 / np.sqrt(HEAD))
    scores = heads(grouped(q) @ k.transpose(0, 1, 3, 2)) * scale
    scores += np.triu(np.full((queries, length), -1e9, np.float32), first + 1)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    if numbers == NPU:
        codes, v_scale = int4(v)  # what was rounded once stays; scales go to the probabilities
        out = heads(blocks(grouped(p) * v_scale.transpose(0, 1, 3, 2)) @ codes)
        return bfloat16(merge(out)), None
    out = heads(grouped(p) @ v)

    def back(dy):
        d = grouped(split(dy, HEADS))
        dp = heads(d @ v.transpose(0, 1, 3, 2))
        ds = grouped(p * (dp - (p * dp).sum(-1, keepdims=True)) * scale)
        dq, dk = heads(ds @ k), ds.transpose(0, 1, 3, 2) @ grouped(q)
        dv = grouped(p).transpose(0, 1, 3, 2) @ d
        return merge(rotate(dq, first, -1)), merge(rotate(dk, 0, -1)), merge(dv)

    return merge(out), back


# --- the model ---


def forward(parameters, tokens, first, numbers):
    """Logits of the positions from `first` on, and the gradients' function."""
    p = {name: rounded(w) if numbers != FLOAT and w.ndim == 2 else w for name, w in parameters.items()}
    x = parameters["embedding"][tokens]
    backs = []
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        # What the last layer makes of positions nobody asks for is not computed.
        start = first if layer == LAYERS - 1 else 0
        normal, norm_back = rms_norm(x, p[name + "attention_norm"])
        q, q_back = linear(normal[:, start:], p[name + "query"], numbers)
        k, k_back = linear(normal, p[name + "key"], numbers)
        v, v_back = linear(normal, p[name + "value"], numbers)
        context, attention_back = attention(q, k, v, start, numbers)
        out, out_back = linear(context, p[name + "output"], numbers)
        x = x[:, start:] + out
        normal, ff_norm_back = rms_norm(x, p[name + "feed_forward_norm"])
        up, up_back = linear(normal, p[name + "up"], numbers)
        active, gelu_back = gelu(up)
        down, down_back = linear(active, p[name + "down"], numbers)
        x = x + down
        backs.append((name, start, norm_back, q_back, k_back, v_back, attention_back, out_back, ff_norm_back, up_back, gelu_back, down_back))
    normal, final_back = rms_norm(x, p["final_norm"])
    logits, head_back = linear(normal, p["embedding"], numbers)

    def back(dlogits):
        g = {}
        dx, g["embedding"] = head_back(dlogits)
        dx, g["final_norm"] = final_back(dx)
        for name, start, norm_back, q_back, k_back, v_back, attention_back, out_back, ff_norm_back, up_back, gelu_back, down_back in reversed(backs):
            d, g[name + "down"] = down_back(dx)
            d, g[name + "up"] = up_back(gelu_back(d))
            d, g[name + "feed_forward_norm"] = ff_norm_back(d)
            dx = dx + d
            d, g[name + "output"] = out_back(dx)
            dq, dk, dv = attention_back(d)
            d, g[name + "key"] = k_back(dk)
            d_value, g[name + "value"] = v_back(dv)
            d += d_value
            d_query, g[name + "query"] = q_back(dq)
            d[:, start:] += d_query
            d, g[name + "attention_norm"] = norm_back(d)
            d[:, start:] += dx
            dx = d
        np.add.at(g["embedding"], tokens, dx)
        return g

    return logits, back


def loss(logits, targets):
    """Mean cross entropy in nats and its gradient."""
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    picked = np.take_along_axis(p, targets[..., None], -1)
    gradient = p.copy()
    np.put_along_axis(gradient, targets[..., None], picked - 1, -1)
    return -np.log(picked + 1e-30).mean(), gradient / targets.size


def generate(parameters, prompts, numbers):
    """The prompts with ANSWER more characters, each the likeliest."""
    tokens = prompts
    for _ in range(ANSWER):
        logits, _ = forward(parameters, tokens, tokens.shape[1] - 1, numbers)
        tokens = np.concatenate([tokens, logits[:, -1].argmax(-1)[:, None]], 1)
    return tokens


def accuracy(parameters, a, b, numbers):
    expected = lines(a, b)
    return (generate(parameters, expected[:, :PROMPT], numbers) == expected).all(1).mean()


# --- training ---


def batches(rng, size, held_out):
    """Operands: half of the pairs uniform, some short, some with a carry that runs through the tens."""
    while True:
        a, b = rng.integers(0, 1000, (2, size + size // 8))
        few = len(a) // 8
        a[:few] %= 10 ** rng.integers(1, 4, few)
        b[:few] %= 10 ** rng.integers(1, 4, few)
        chain = slice(few, 3 * few)
        b[chain] = b[chain] // 100 * 100 + (9 - a[chain] // 10 % 10) * 10 + b[chain] % 10
        keep = ~held_out[a * 1000 + b]
        yield a[keep][:size], b[keep][:size]


def train(steps):
    """The trained parameters, and the operands held out."""
    rng = np.random.default_rng(SEED)
    pairs = rng.choice(1_000_000, HELD_OUT, replace=False)
    held_out = np.zeros(1_000_000, bool)
    held_out[pairs] = True
    test = np.divmod(pairs, 1000)
    vector = initial(rng)
    parameters = views(vector)
    first_moment, second_moment = np.zeros_like(vector), np.zeros_like(vector)
    start = time.monotonic()
    for step, (a, b) in zip(range(1, steps + 1), batches(rng, BATCH, held_out)):
        codes = lines(a, b)
        numbers = INT4 if step > QUANTIZED_FROM * steps and step % 2 == 0 else FLOAT
        logits, back = forward(parameters, codes[:, :LENGTH], PROMPT - 1, numbers)
        value, gradient = loss(logits, codes[:, PROMPT:])
        named = back(gradient)
        g = np.concatenate([named[name].ravel() for name, _ in shapes()])
        g *= min(1, 1 / (np.linalg.norm(g) + 1e-12))
        rate = RATE * min(step / 100, 1) * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * step / steps)))
        first_moment += np.float32(0.1) * (g - first_moment)
        second_moment += np.float32(0.01) * (g * g - second_moment)
        correction = np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
        vector -= np.float32(rate * correction) * first_moment / (np.sqrt(second_moment) + np.float32(1e-8))
        if step % 250 == 0:
            print(f"step {step}: loss {value:.4f}, {time.monotonic() - start:.0f} s", flush=True)
    return parameters, test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--output", type=Path, default=ASSETS, help="folder for the files")
    arguments = parser.parse_args()
    parameters, test = train(arguments.steps)
    exact = [accuracy(parameters, *test, numbers) for numbers in (FLOAT, INT4, NPU)]
    print("held-out sums exactly right: float {:.1%}, 4 bits {:.1%}, all of the NPU's numbers {:.1%}".format(*exact))
    if exact[FLOAT] < 0.97 or min(exact) < exact[FLOAT] - 0.02:
        raise SystemExit("not good enough: nothing is written")
    save_file({name: matrix.copy() for name, matrix in parameters.items()}, arguments.output / "adder.safetensors")
    codes = lines(*test)
    held_out = [f"{text(line[:PROMPT])}\t{text(line[PROMPT:-1])}\n" for line in codes]
    (arguments.output / "adder_held_out.txt").write_text("".join(held_out))
    logits, _ = forward(parameters, codes[:SHOWN, :LENGTH], 0, FLOAT)
    np.save(arguments.output / "adder_logits.npy", logits)


if __name__ == "__main__":
    main()
