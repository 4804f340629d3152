"""Times a language model on pccx's bit-exact machine next to llama.cpp, both with two threads.

    pip install -r requirements-llama.txt
    python llama_speed.py MODEL.gguf [--npu COMMAND] [--rounds N] [--forms 4,8]

A round times llama.cpp, then `npu generate` with each form of the weights, and both decode the same number of tokens. The
best rounds are compared: other work on the cores only makes a round slower. Times of `npu` are differences between two runs,
so that opening and compiling the model do not count: a longer answer to the same prompt gives the time of a token, a longer
prompt that of its tokens. Where llama.cpp decodes less than 60 tokens per second, the cores are busy, and nothing counts.

The table has the bytes of weights per token, the bandwidth of memory measured in the same run, and the share of it that
each program reaches. The script fails if a form is slower than its bar. It is not part of `.ci/run`.
"""

import argparse
import concurrent.futures
import os
import sys
import time

import llama_cpp
import numpy as np

from npu import Npu, add_arguments

THREADS = 2

# Tokens of the short and of the long prompt, and of the answers: the time of a token is measured over 64.
SHORT, LONG, FIRST, LAST = 8, 264, 1, 65

# Tokens per second that llama.cpp decodes with two free cores.
UNDISTURBED = 60

# Least speed of a form of the weights as a share of llama.cpp's: decoding, prompt. Bytes of a weight.
BARS = {"4": (0.5, 0.25, 0.5), "8": (0.3, 0.25, 1.0)}

# Number of bytes that are read to measure the bandwidth: much more than a cache holds.
STREAM = 1 << 28


def seconds(work):
    """Seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bandwidth(rounds):
    """Bytes per second that all threads read."""
    parts = np.array_split(np.ones(STREAM // 8, np.uint64), THREADS)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return STREAM / min(seconds(lambda: list(pool.map(np.bitwise_xor.reduce, parts))) for _ in range(rounds))


def tokens(count):
    """A prompt as token numbers: any tokens take the same time."""
    return [1000 + 37 * i % 20000 for i in range(count)]


class LlamaCpp:
    """The model in llama.cpp."""

    def __init__(self, path):
        self.llama = llama_cpp.Llama(
            model_path=path, n_ctx=512, n_batch=512, n_threads=THREADS, n_threads_batch=THREADS, verbose=False
        )
        self.weights = llama_cpp.llama_model_n_params(self.llama.model)
        self.bytes = llama_cpp.llama_model_size(self.llama.model)

    def round(self):
        """Seconds of a decoded token, and of a token of a prompt."""
        self.llama.reset()
        prompt = seconds(lambda: self.llama.eval(tokens(LONG - SHORT)))
        self.llama.reset()
        self.llama.eval(tokens(SHORT))
        answer = seconds(lambda: [self.llama.eval([token]) for token in tokens(LAST - FIRST)])
        return answer / (LAST - FIRST), prompt / (LONG - SHORT)


class Machine:
    """The model on the bit-exact machine, with one form of the weights."""

    def __init__(self, npu, path, form):
        self.npu, self.path, self.form = npu, path, form
        self.best = {}

    def generate(self, prompt, answer):
        """Runs the command; keeps the least seconds of these numbers of tokens."""
        ids = ",".join(map(str, tokens(prompt)))
        model = ["--model", self.path, "--target", "pccx", "--option", f"weights={self.form}"]
        report = self.npu.run("generate", "--ids", ids, *model, "--tokens", answer)
        if report["tokens"] != answer:
            raise SystemExit(f"error: the model ended its answer after {report['tokens']} of {answer} tokens")
        key = prompt, answer
        self.best[key] = min(report["seconds"], self.best.get(key, float("inf")))

    def round(self):
        """Times a short prompt with a short and a long answer, and a long prompt."""
        self.generate(SHORT, FIRST)
        self.generate(SHORT, LAST)
        self.generate(LONG, FIRST)

    def token(self):
        """Seconds of a decoded token, and of a token of a prompt, in the best rounds."""
        start = self.best[SHORT, FIRST]
        decoded = (self.best[SHORT, LAST] - start) / (LAST - FIRST)
        return decoded, (self.best[LONG, FIRST] - start) / (LONG - SHORT)


def row(name, token, size, stream):
    """A line of the table: tokens per second, and the bandwidth that the weights of a decoded token take."""
    decoded, prompt = token
    rate = size / decoded
    return f"{name:20} {1 / decoded:8.1f} {1 / prompt:8.1f} {size / 1e6:10.1f} {rate / 1e9:8.2f} {rate / stream:8.0%}"


def main():
    """Runs the rounds, prints the table, and returns the number of missed bars."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_arguments(parser)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each program (5)")
    parser.add_argument("--forms", default="4,8", help="forms of the weights, as `--option weights=` names them (4,8)")
    arguments = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(THREADS)
    llama = LlamaCpp(arguments.model)
    npu = Npu(arguments.npu)
    machines = [Machine(npu, arguments.model, form) for form in arguments.forms.split(",")]
    rounds = []
    for number in range(arguments.rounds):
        rounds.append(llama.round())
        for machine in machines:
            machine.round()
        print(f"round {number + 1}: llama.cpp decodes {1 / rounds[-1][0]:.1f} tokens per second", flush=True)
    stream = bandwidth(arguments.rounds)
    theirs = tuple(min(times) for times in zip(*rounds))
    print(f"memory: {stream / 1e9:.1f} GB/s in {THREADS} threads")
    print(f"{'':20} {'decode/s':>8} {'prompt/s':>8} {'MB a token':>10} {'GB/s':>8} {'share':>8}")
    print(row("llama.cpp", theirs, llama.bytes, stream))
    missed = 0
    for machine in machines:
        ours = machine.token()
        decoding, prompt, size = BARS.get(machine.form, (0, 0, 0.5))
        print(row(f"pccx, weights={machine.form}", ours, size * llama.weights, stream))
        shares = [their / our for their, our in zip(theirs, ours)]
        print(f"{'':20} decoding {shares[0]:.2f} x (bar {decoding}), prompt {shares[1]:.2f} x (bar {prompt})")
        missed += sum(share < bar for share, bar in zip(shares, (decoding, prompt)))
    if 1 / theirs[0] < UNDISTURBED:
        print(f"llama.cpp decodes less than {UNDISTURBED} tokens per second: the cores are busy, and nothing counts")
        return 0
    return missed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
