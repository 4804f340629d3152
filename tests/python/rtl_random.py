"""Random programs on random instances of the TCU: the circuit against the machine and the clock of `npu run`.

Every program is one that the machine accepts. The circuit without the released defects is held against instructions
one after the other (`--sequential`), the circuit with them against what the released hardware computes (`--hardware`),
cycles included; with random stalls of stream and memories values alone. With `--overlap` instances are without some of
the limits of the released circuit; `--keep` writes down how long the circuit takes for each program, which the clock's
tests read without a simulator. `rtl_random.py --npu COMMAND [--overlap [--keep FILE]] [--instances N] [--programs N] [--seed S]`.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

from circuit import FORMATS, ROOT, Circuit, clog2
from npu import add_arguments, default_command
from rtl_vectors import parallel

DRAM_DUMPED = 256
MEMORIES = ("dram0", "dram1", "local", "acc")
SWITCHES = ("overlapped_dram", "double_weights", "pipelined_simd")
NAMES = {"acc": "accumulators"}


class Layout:
    """Widths of fields and operands: section 3.1."""

    def __init__(self, architecture):
        self.local, self.acc = clog2(architecture["local_depth"]), clog2(architecture["accumulator_depth"])
        drams = [clog2(architecture[f"dram{bank}_depth"]) for bank in (0, 1)]
        self.register = clog2(architecture["simd_registers_depth"] + 1)
        self.first = max(self.local, self.acc)
        self.second = max(self.first, *drams)
        third = max(min(self.local, self.acc), *(min(self.local, dram) for dram in drams), 4 + 3 * self.register)
        strides = [clog2(architecture[f"stride{operand}_depth"]) for operand in (0, 1)]
        self.operands = [8 * ((w + 7) // 8) for w in (self.first + strides[0], self.second + strides[1], third)]

    def encode(self, opcode, flags, first=0, second=0, third=0):
        value, low = 0, 0
        for operand, width in zip((first, second, third), self.operands):
            value |= operand << low
            low += width
        return (value | flags << low | opcode << (low + 4)).to_bytes((low + 8) // 8, "little")


class Writer:
    """Writes random programs for an instance."""

    def __init__(self, architecture, chance):
        self.architecture, self.chance, self.layout = architecture, chance, Layout(architecture)
        # What reaches the accumulators, vector by vector: kind (add, overwrite, read) and address.
        self.commands = []

    def run(self, depth, size, strides, low=0):
        """A run of `size` vectors within a depth, as address and stride."""
        stride = self.chance.choice([0, 0, 0, *range(strides)])
        while stride and (size - 1) << stride >= depth - low:
            stride -= 1
        return self.chance.randrange(low, depth - ((size - 1) << stride)), stride

    def note(self, kind, operand, size):
        address = operand & ((1 << self.layout.second) - 1)
        stride = operand >> self.layout.second
        self.commands += [(kind, address + (i << stride)) for i in range(size)]

    def loses_additions(self):
        """Whether the released circuit may lose an addition: a superset, as time may save one."""
        triples = zip([("", 0), *self.commands], self.commands, self.commands[1:])
        for (before, address), (first, middle), (second, last) in triples:
            overtaken = first == "overwrite" and before in ("add", "overwrite") and address == middle
            if second == "add" and middle == last and (first == "add" or overtaken):
                return True
        return False

    def size(self, *depths):
        drawn = [1, 1, 2, 3, self.chance.randrange(1, 40), self.chance.randrange(1, 300)]
        return min(self.chance.choice(drawn), *depths)

    def local(self, size):
        address, stride = self.run(self.architecture["local_depth"], size, self.architecture["stride0_depth"])
        return address | stride << self.layout.first

    def other(self, depth, size):
        address, stride = self.run(depth, size, self.architecture["stride1_depth"])
        return address | stride << self.layout.second

    def accumulators(self, size):
        # Few addresses, so that accumulates meet.
        depth = self.architecture["accumulator_depth"]
        return self.other(min(depth, size + 6) if self.chance.random() < 0.5 else depth, size)

    def matmul(self):
        size = self.size(self.architecture["local_depth"], self.architecture["accumulator_depth"])
        flags = self.chance.choice([0, 0, 1, 1, 2, 3])
        first, second = 0 if flags & 2 else self.local(size), self.accumulators(size)
        self.note("add" if flags & 1 else "overwrite", second, size)
        return self.layout.encode(1, flags, first, second, size - 1)

    def move(self):
        kind = self.chance.choice([0, 0, 1, 1, 2, 2, 3, 3, 0xC, 0xC, 0xD, 0xD, 0xF, 0xF])
        inner = kind >= 0xC
        depth = self.architecture["accumulator_depth"] if inner else DRAM_DUMPED
        size = self.size(self.architecture["local_depth"], depth)
        second = self.accumulators(size) if inner else self.other(depth, size)
        if inner:
            self.note({0xC: "read", 0xD: "overwrite", 0xF: "add"}[kind], second, size)
        return self.layout.encode(2, kind, self.local(size), second, size - 1)

    def load(self):
        lanes = self.architecture["array_size"]
        size = min(self.chance.choice([1, lanes, lanes + 1, lanes + 1, lanes + 3]), self.architecture["local_depth"])
        zeroes = self.chance.random() < 0.2
        return self.layout.encode(3, int(zeroes), 0 if zeroes else self.local(size), size - 1)

    def simd(self):
        registers, width = self.architecture["simd_registers_depth"], self.layout.register
        op = self.chance.randrange(1, 16)
        left, right, to = (self.chance.randrange(registers + 1) for _ in range(3))
        writes = self.chance.random() < 0.7
        reads = op != 1 and (left == 0 or right == 0)
        adds = writes and self.chance.random() < 0.3
        addresses = [self.chance.randrange(min(self.architecture["accumulator_depth"], 8)) for _ in range(2)]
        # One that neither reads nor writes is a command too, which parts others.
        self.commands += [("read", addresses[1])] * (reads or not writes)
        self.commands += [("add" if adds else "overwrite", addresses[0])] * writes
        sub = op << 3 * width | left << 2 * width | right << width | to
        return self.layout.encode(4, int(reads) | writes << 1 | adds << 2, *addresses, sub)

    def configure(self):
        # What changes no value: cache bits, timeout, tracepoint, program counter, unassigned registers.
        register = self.chance.choice([1, 5, 8, 9, 10, 2, 15])
        value = self.chance.randrange(1 << 10) << 4 | register
        masks = [(1 << width) - 1 for width in self.layout.operands]
        parts, low = [], 0
        for width, mask in zip(self.layout.operands, masks):
            parts.append(value >> low & mask)
            low += width
        return self.layout.encode(0xF, 0, *parts)

    def program(self, count):
        nothing = lambda: self.layout.encode(0, 0)
        kinds = [self.matmul] * 5 + [self.move] * 8 + [self.load] * 2 + [self.simd] * 6 + [nothing]
        # Two threads leave three bits for the opcode: Configure cannot be said.
        kinds += [self.configure] if self.architecture["number_of_threads"] == 1 else []
        run = []
        while len(run) < count:
            kind = self.chance.choice(kinds)
            run += [kind() for _ in range(self.chance.choice([1, 1, 1, 3, 6]) if kind == self.simd else 1)]
        return b"".join(run[:count])


def instance(chance):
    """A random architecture and a bus for it."""
    kind = chance.choice(["FP16BP8"] * 3 + ["FP8BP4", "FP18BP10", "FP32BP16"])
    lanes = chance.choice([2, 2, 3, 4, 4, 6, 8, 8, 12, 16])
    bits = lanes * FORMATS[kind][2] * 8
    buses = [bus for bus in (32, 64, 128, 256, 512) if bits % bus == 0]
    while not buses:
        lanes += 1
        bits = lanes * FORMATS[kind][2] * 8
        buses = [bus for bus in (32, 64, 128, 256, 512) if bits % bus == 0]
    depth = lambda low, high: chance.choice([1 << chance.randrange(low, high), chance.randrange(1 << low, 1 << high)])
    architecture = {
        "data_type": kind,
        "array_size": lanes,
        "dram0_depth": chance.choice([1024, 1 << 16, 3000, 1 << 20]),
        "dram1_depth": chance.choice([1024, 1 << 16, 3000]),
        "local_depth": depth(6, 13),
        "accumulator_depth": depth(5, 12),
        "simd_registers_depth": chance.choice([1, 1, 0, 2, 3, 7]),
        "stride0_depth": chance.choice([1, 2, 8, 8]),
        "stride1_depth": chance.choice([1, 2, 5, 8]),
        "number_of_threads": chance.choice([1, 1, 1, 2]),
        "thread_queue_depth": 8,
    }
    return architecture, chance.choice(buses)


def overlap(chance):
    """Limits of the released circuit that an instance is without: half the time all of them."""
    depth = chance.choice([2, 3, 4, 4, 8])
    if chance.random() < 0.5:
        return {"local_queue_depth": depth} | dict.fromkeys(SWITCHES, 1) | {"outstanding_bursts": 8}
    queues = chance.choice([0, depth])
    switches = {key: chance.choice([0, 1]) if queues or key == "pipelined_simd" else 0 for key in SWITCHES}
    return {"local_queue_depth": queues} | switches | {"outstanding_bursts": chance.choice([0, 2, 5])}


def scalars(chance, architecture, vectors):
    """Random raw numbers of a bank: mostly small, some at the ends of the range."""
    bits, _, _ = FORMATS[architecture["data_type"]]
    draw = np.random.default_rng(chance.randrange(1 << 32))
    values = draw.integers(-(1 << (bits - 1)), 1 << (bits - 1), (vectors, architecture["array_size"]))
    return values >> draw.integers(0, bits - 3, (vectors, 1))


def stored(values, architecture):
    """As bytes in DRAM: zero-extended to a scalar's slot."""
    bits, _, slot = FORMATS[architecture["data_type"]]
    return (values & ((1 << bits) - 1)).astype("<u8").view(np.uint8).reshape(*values.shape, 8)[..., :slot].tobytes()


def loaded(content, architecture, name):
    """Raw numbers of a memory that the harness wrote: DRAM in slots, the others sign-extended."""
    bits, _, slot = FORMATS[architecture["data_type"]]
    size = slot if name.startswith("dram") else 1 if bits <= 8 else 2 if bits <= 16 else 4
    return signed(np.frombuffer(content, f"<u{size}").astype(np.int64), bits).reshape(-1, architecture["array_size"])


def signed(values, bits):
    """Numbers of that many bits in two's complement."""
    values = values & ((1 << bits) - 1)
    return np.where(values >> (bits - 1), values - (1 << bits), values)


class Judge:
    """`npu run` on an instance."""

    def __init__(self, npu, folder, architecture, bus):
        self.npu, self.folder, self.architecture = npu, folder, architecture
        self.bus = bus

    def __call__(self, name, program, drams, latency, response, reading):
        system = {"axi_width_bits": self.bus, "dram_latency_cycles": latency, "dram_write_latency_cycles": response}
        target = self.folder / f"{name}.tarch"
        target.write_text(json.dumps(self.architecture | {"system": system}))
        (self.folder / f"{name}.tprog").write_bytes(program)
        command = [self.npu, "run", self.folder / f"{name}.tprog", "--target", f"tcu:{target}", "--json", reading]
        for bank in (0, 1):
            np.save(self.folder / f"{name}.given{bank}.npy", drams[bank])
            command += ["--mem", f"dram{bank}={self.folder / f'{name}.given{bank}.npy'}"]
        depths = (DRAM_DUMPED, DRAM_DUMPED, self.architecture["local_depth"], self.architecture["accumulator_depth"])
        for memory, depth in zip(MEMORIES, depths):
            command += ["--dump", f"{memory}[0:{depth}]={self.folder / f'{name}.{memory}.hex'}"]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{name}: {ran.stderr}")
        memories = {memory: self.read(self.folder / f"{name}.{memory}.hex") for memory in MEMORIES}
        return json.loads(ran.stdout)["cycles"], memories


    def read(self, path):
        """Raw numbers of a dump in hexadecimal."""
        bits, _, _ = FORMATS[self.architecture["data_type"]]
        values = np.array([[int(word, 16) for word in row.split()] for row in path.read_text().splitlines()])
        return signed(values, bits)


def compare(seen, memories, cycles, architecture):
    """What differs: each memory's first vector that does, and the cycles where they are given."""
    found = []
    for memory in MEMORIES:
        name = NAMES.get(memory, memory)
        got = loaded(seen[name], architecture, name)
        wrong = np.argwhere(got != memories[memory].reshape(got.shape))
        if len(wrong):
            vector, lane = wrong[0]
            want = memories[memory].reshape(got.shape)[vector, lane]
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            found.append(f"{memory}[{vector}] lane {lane} is {got[vector, lane]}, not {want}{more}")
    if cycles is not None and seen["total"] != cycles:
        found.append(f"{seen['total']} cycles, not {cycles}")
    return found


def kept(seen, program, latency, response):
    """A program with what the circuit takes for it, as the tests of the clock read it."""
    times = {"total": seen["total"], "accept": list(seen["accept"])}
    return {"latency": latency, "response_latency": response, "program": program.hex()} | times


def judge_instance(number, options, npu, keeps):
    """All programs of an instance; how many runs there were, and what differed."""
    chance = random.Random(options.seed * 1000 + number)
    architecture, bus = instance(chance)
    if options.overlap:
        architecture |= overlap(random.Random(chance.random()))
    # A pipeline loses no additions: there is no circuit with that defect.
    is_pipelined = architecture.get("pipelined_simd", 0)
    more = {"INSTRUCTION_AXI_BITS": 1024}
    circuits = [
        Circuit(f"random{loses}", architecture, bus, LOSES_ADDITIONS=loses, MOVES_WRITES=loses, **more)
        for loses in ((0,) if is_pipelined else (0, 1))
    ]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(npu, pathlib.Path(folder), architecture, bus)

        def run(job):
            name, seed = job
            chance = random.Random(seed)
            writer = Writer(architecture, chance)
            program = writer.program(chance.choice([5, 20, 60]))
            drams = [scalars(chance, architecture, DRAM_DUMPED) for _ in range(2)]
            latency = chance.choice([1, 2, 5, 18, 40])
            response = chance.choice([latency, latency, 1, 30])
            given = [stored(values, architecture) for values in drams]
            times = {"latency": latency, "response_latency": response, "stream_bytes": 128}
            sequential = judge(name + "s", program, drams, latency, response, "--sequential")
            is_timed = is_pipelined or not writer.loses_additions()
            runs = [
                (circuits[0], {}, sequential[1], sequential[0] if is_timed else None),
                (circuits[0], {"stalls": seed % 1000 + 1}, sequential[1], None),
            ]
            if not is_pipelined:
                hardware = judge(name + "h", program, drams, latency, response, "--hardware")
                runs.append((circuits[1], {}, hardware[1], hardware[0]))
            found = []
            for circuit, stalls, memories, cycles in runs:
                seen = circuit.run(program, given, DRAM_DUMPED, **times, **stalls)
                if circuit is circuits[0] and cycles is not None:
                    keeps.append(kept(seen, program, latency, response))
                kind = "stalls" if stalls else circuit.harness.parent.name
                label = f"{name} seed {seed} T={latency},{response} {kind}"
                differences = compare(seen, memories, cycles, architecture)
                found += [f"{label}: {difference}" for difference in differences]
            return found

        jobs = [(f"p{i}", options.seed * 1_000_000 + number * 10_000 + i) for i in range(options.programs)]
        found = [difference for differences in parallel(run, jobs) for difference in differences]
    print(f"{number}: {json.dumps(architecture)} bus {bus}: {(3 - is_pipelined) * len(jobs)} runs, {len(found)} differences", flush=True)
    return architecture, bus, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed, instances = 0, []
    for number in range(options.first, options.first + options.instances):
        programs = []
        architecture, bus, found = judge_instance(number, options, options.npu or default_command(), programs)
        instances.append({"architecture": architecture, "axi_bits": bus, "programs": programs})
        for difference in found:
            print(difference)
            failed += 1
    if options.keep:
        options.keep.write_text(json.dumps(instances) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
