"""Compares the circuit with machine and clock of `npu run`, for random programs on random instances of the TCU.

The machine accepts every program. The circuit without the released defects is compared with sequential execution
(`--sequential`), the circuit with them with the released hardware (`--hardware`), including cycles. With random stalls
of stream and memories, only values are compared. All programs of an instance run in one start of its simulator.

- `--overlap`: instances without some of the limits of the released circuit. `--keep` writes the circuit's cycles of each
  program, which the clock's tests read without a simulator.
- `--page`: instances that follow the page of the instruction set (`+seed`), and programs with its additional features.
- `--packed`: vectors are not whole words of the bus.
- `--lanes`: sizes of the arrays, in turn. `--looped`: their elements are loops, as large arrays take hours to build with
  separate elements.

Usage: `rtl_random.py --npu COMMAND [--float] [--overlap [--keep FILE]] [--page] [--packed] [--lanes N ... [--looped]]
[--instances N] [--programs N] [--seed S] [--alternate]`. Ten thousand programs: `--instances 40 --programs 250
--alternate`.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from circuit import FORMATS, LIBRARY, ROOT, SOURCES, Circuit, Layout
from npu import add_arguments, default_command
from rtl_vectors import parallel

DRAM_DUMPED = 256
MEMORIES = ("dram0", "dram1", "local", "acc")
SWITCHES = ("overlapped_dram", "double_weights", "pipelined_simd")
NAMES = {"acc": "accumulators"}
# Operations with one operand and without one; the others have two.
UNARY, ZERO = (2, 3, 6, 7, 11, 16), 1


class Writer:
    """Writes random programs for an instance."""

    def __init__(self, architecture, chance):
        self.architecture, self.chance, self.layout = architecture, chance, Layout(architecture)
        self.is_page = architecture.get("reading") == "seed"
        # Accesses to the accumulators, vector by vector: kind (add, overwrite, read) and address.
        self.commands = []

    def run(self, depth, size, strides, low=0):
        """Returns a run of `size` vectors within a depth, as address and stride."""
        stride = self.chance.choice([0, 0, 0, *range(strides)])
        while stride and (size - 1) << stride >= depth - low:
            stride -= 1
        return self.chance.randrange(low, depth - ((size - 1) << stride)), stride

    def note(self, kind, operand, size):
        address = operand & ((1 << self.layout.second) - 1)
        stride = operand >> self.layout.second
        self.commands += [(kind, address + (i << stride)) for i in range(size)]

    def loses_additions(self):
        """Whether the released circuit may lose an addition: a superset, as timing may prevent it."""
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
        # Only a few addresses are used, so that accumulating writes collide.
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
        registers = self.architecture["simd_registers_depth"]
        return self.operation(self.chance.randrange(1, 16), *(self.chance.randrange(registers + 1) for _ in range(3)))

    def operation(self, op, left, right, to):
        width = self.layout.register
        writes = self.chance.random() < 0.7
        reads = op != ZERO and (left == 0 or right == 0)
        if self.is_page:
            reads = op != ZERO and (left == 0 or (op not in UNARY and right == 0)) or self.chance.random() < 0.2
        adds = writes and self.chance.random() < 0.3
        addresses = [self.chance.randrange(min(self.architecture["accumulator_depth"], 8)) for _ in range(2)]
        # An instruction without accesses does not use the port through which the others pass one by one, so it does not
        # separate them.
        self.commands += [("read", addresses[1])] * reads
        self.commands += [("add" if adds else "overwrite", addresses[0])] * writes
        sub = op << 3 * width | left << 2 * width | right << width | to
        return self.layout.encode(4, int(reads) | writes << 1 | adds << 2, *addresses, sub)

    def noop(self):
        """A SIMD NoOp that moves a vector out of the accumulators, the array's last one into them, or both."""
        depth = min(self.architecture["accumulator_depth"], self.architecture["local_depth"], 8)
        to, read = (self.chance.randrange(depth) for _ in range(2))
        flags = self.chance.choice([1, 2, 3, 6, 7])
        self.commands += [("read", read)] * (flags & 1)
        self.commands += [("add" if flags & 4 else "overwrite", to)] * (flags >> 1 & 1)
        return self.layout.encode(4, flags, to, read)

    def tables(self):
        """Loads all lookup tables, the index first, of the same size."""
        filled = min(DRAM_DUMPED, self.architecture["local_depth"])
        size = self.size(6, filled, self.architecture["accumulator_depth"])
        if self.is_page:
            size = max(self.architecture["lookup_depth"], 1)
        tables = range(self.architecture["lookup_tables"] + 1)
        place = lambda: self.chance.randrange(filled - size + 1)
        said = 0 if self.is_page else size - 1
        return [self.layout.encode(5, 0, place(), table, said) for table in tables]

    def lookup(self):
        registers, tables = self.architecture["simd_registers_depth"], self.architecture["lookup_tables"]
        source, to = self.chance.randrange(registers + 1), self.chance.randrange(registers + 1 - tables)
        return self.operation(16, source, source, to)

    def configure(self):
        # Settings that change no value: cache bits, timeout, tracepoint, program counter, unassigned registers.
        register = self.chance.choice([1, 5, 8, 9, 10, 2, 15])
        if self.is_page:
            value, first = self.chance.randrange(1 << 32), self.layout.operands[1]
            third = value >> first & (1 << self.layout.operands[2]) - 1
            return self.layout.encode(0xF, 0, register, value & (1 << first) - 1, third)
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
        # Two threads leave three bits for the opcode, so that Configure cannot be encoded.
        kinds += [self.configure] if self.architecture["number_of_threads"] == 1 else []
        kinds += [self.noop] * 4 if self.is_page else []
        run = []
        if self.architecture["lookup_tables"]:
            # Tables are loaded before the first lookup, from a full local memory, and change sometimes.
            filled = min(DRAM_DUMPED, self.architecture["local_depth"])
            run = [self.layout.encode(2, 0, 0, 0, filled - 1), *self.tables()]
        while len(run) < count:
            if self.architecture["lookup_tables"] and self.chance.random() < 0.2:
                run += self.tables() if self.chance.random() < 0.1 else [self.lookup()]
                continue
            kind = self.chance.choice(kinds)
            run += [kind() for _ in range(self.chance.choice([1, 1, 1, 3, 6]) if kind == self.simd else 1)]
        # All tables are loaded together, because keys and values must have the same size.
        return b"".join(run)


def instance(chance, data_type=None, size=None, packed=False):
    """Returns a random architecture and a bus for it, of a data type and a size if these are given.

    Vectors are whole words of the bus or, if `packed`, never whole words.
    """
    kind = chance.choice(["FP16BP8"] * 3 + ["FP8BP4", "FP18BP10", "FP32BP16"])
    kind = data_type or kind
    lanes = chance.choice([2, 2, 3, 4, 4, 6, 8, 8, 12, 16])
    lanes = size or lanes
    buses = buses_of(lanes, kind, packed)
    while not buses:
        lanes += 1
        buses = buses_of(lanes, kind, packed)
    # Wide memories must not make the dump slower.
    deepest = 5 if lanes > 32 else 0
    depth = lambda low, high: chance.choice([1 << chance.randrange(low, high), chance.randrange(1 << low, 1 << high)])
    architecture = {
        "data_type": kind,
        "array_size": lanes,
        "dram0_depth": chance.choice([1024, 1 << 16, 3000, 1 << 20]),
        "dram1_depth": chance.choice([1024, 1 << 16, 3000]),
        "local_depth": depth(6, 13 - deepest),
        "accumulator_depth": depth(5, 12 - deepest),
        "simd_registers_depth": chance.choice([1, 1, 0, 2, 3, 7]),
        "stride0_depth": chance.choice([1, 2, 8, 8]),
        "stride1_depth": chance.choice([1, 2, 5, 8]),
        "number_of_threads": chance.choice([1, 1, 1, 2]),
        "thread_queue_depth": 8,
    }
    # At most as many tables as registers. This extension is drawn last, so that the other choices stay the same.
    bus = chance.choice(buses)
    registers = architecture["simd_registers_depth"]
    architecture["lookup_tables"] = chance.choice([0, 0, chance.randrange(1, registers + 1)]) if registers else 0
    return architecture, bus


def buses_of(lanes, data_type, packed):
    """Returns the buses of which vectors are whole words or, if `packed`, the others."""
    bits = lanes * FORMATS[data_type][2] * 8
    if packed:
        return [bus for bus in (16, 32, 64, 128, 256, 512, 1024) if bits % bus]
    return [bus for bus in (32, 64, 128, 256, 512) if bits % bus == 0]


def overlap(chance):
    """Returns the limits of the released circuit that an instance does not have: half the time all of them."""
    depth = chance.choice([2, 3, 4, 4, 8])
    if chance.random() < 0.5:
        every = {"local_queue_depth": depth} | dict.fromkeys(SWITCHES, 1) | {"outstanding_bursts": 8}
        return every | {"registered_rows": chance.choice([0, 1])}
    queues = chance.choice([0, depth])
    switches = {key: chance.choice([0, 1]) if queues or key == "pipelined_simd" else 0 for key in SWITCHES}
    registered = {"registered_rows": chance.choice([0, 1])}
    return {"local_queue_depth": queues} | switches | {"outstanding_bursts": chance.choice([0, 2, 5])} | registered


def scalars(chance, architecture, vectors):
    """Returns random raw numbers of a bank: mostly small, some at the ends of the range."""
    bits, point, _ = FORMATS[architecture["data_type"]]
    draw = np.random.default_rng(chance.randrange(1 << 32))
    if point == 0:
        # Numbers around one, and some of the smallest.
        values = draw.normal(size=(vectors, architecture["array_size"])).astype(np.float32)
        values[::7] *= np.float32(1e-40)
        return values.view(np.int32).astype(np.int64)
    values = draw.integers(-(1 << (bits - 1)), 1 << (bits - 1), (vectors, architecture["array_size"]))
    values = values >> draw.integers(0, bits - 3, (vectors, 1))
    if architecture.get("lookup_tables"):
        # Few distinct numbers, so that keys are equal, or equally far from the looked-up number.
        values[::3] &= 3
    return values


def stored(values, architecture):
    """Converts numbers to bytes in DRAM: zero-extended to a scalar's slot."""
    bits, _, slot = FORMATS[architecture["data_type"]]
    return (values & ((1 << bits) - 1)).astype("<u8").view(np.uint8).reshape(*values.shape, 8)[..., :slot].tobytes()


def loaded(content, architecture, name):
    """Returns raw numbers of a memory that the harness wrote: DRAM in slots, the others sign-extended."""
    bits, _, slot = FORMATS[architecture["data_type"]]
    size = slot if name.startswith("dram") else 1 if bits <= 8 else 2 if bits <= 16 else 4
    return signed(np.frombuffer(content, f"<u{size}").astype(np.int64), bits).reshape(-1, architecture["array_size"])


def signed(values, bits):
    """Returns numbers of that many bits in two's complement."""
    values = values & ((1 << bits) - 1)
    return np.where(values >> (bits - 1), values - (1 << bits), values)


def looped():
    """Returns the circuit's sources with the elements of its array as loops."""
    folder = ROOT / "target/rtl/looped.sources"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("sim", "formal"))
    shutil.copy(SOURCES / "formal/tcu_looped_array.sv", folder / "tcu_systolic_array.sv")
    return LIBRARY, folder


class Judge:
    """Runs `npu run` on an instance."""

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
        """Parses raw numbers of a hexadecimal dump."""
        bits, _, _ = FORMATS[self.architecture["data_type"]]
        values = np.array([[int(word, 16) for word in row.split()] for row in path.read_text().splitlines()])
        return signed(values, bits)


def compare(seen, memories, cycles, architecture):
    """Describes the differences: the first different vector of each memory, and cycles if they are given."""
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


def kept(seen, program, _drams, times):
    """Formats a program with the circuit's cycles, for the tests of the clock."""
    memory = {key: times[key] for key in ("latency", "response_latency")}
    return memory | {"program": program.hex(), "total": seen["total"], "accept": list(seen["accept"])}


class Instance:
    """A random instance: its circuits and reference results."""

    def __init__(self, npu, number, options):
        self.npu, self.number, self.options = npu, number, options
        self.chance = random.Random(options.seed * 1000 + number)
        size = options.lanes[number % len(options.lanes)] if options.lanes else None
        kind = "FLOAT32" if options.float else None
        self.architecture, self.bus = instance(self.chance, kind, size, options.packed)
        # The released circuit has no lookup tables.
        self.loses = [number % 2] if options.alternate else [0, 1]
        if options.float:
            self.architecture["lookup_tables"] = 0
        if options.overlap:
            self.architecture |= {"lookup_tables": 0} | overlap(random.Random(self.chance.random()))
        if options.page:
            depth = random.Random(self.chance.random()).choice([0, 1, 3])
            self.architecture |= {"reading": "seed", "lookup_depth": depth}
            self.loses = [0]
        # A pipeline does not lose additions, so no circuit has that defect.
        self.is_pipelined = self.architecture.get("pipelined_simd", 0) > 0
        if self.architecture["lookup_tables"] or self.is_pipelined or self.architecture.get("registered_rows"):
            self.loses = [0]
        self.kept = []
        sources = looped() if options.looped else (LIBRARY, SOURCES)
        self.circuits = {
            loses: Circuit(
                npu,
                f"random{options.slot}{loses}",
                self.architecture,
                self.bus,
                LOSES_ADDITIONS=loses,
                sources=sources,
                MOVES_WRITES=loses,
                CROSSES_BY_A_BEAT=loses,
                INSTRUCTION_AXI_BITS=1024,
                # Large circuits take longer to build than to run.
                optimized=self.architecture["array_size"] <= 32,
            )
            for loses in self.loses
        }

    def runs(self, name, seed, judge):
        """Yields the runs of a program: circuit, label, input, and expected memories and cycles."""
        chance = random.Random(seed)
        writer = Writer(self.architecture, chance)
        program = writer.program(chance.choice([5, 20, 60]))
        drams = [scalars(chance, self.architecture, DRAM_DUMPED) for _ in range(2)]
        latency = chance.choice([1, 2, 5, 18, 40])
        response = chance.choice([latency, latency, 1, 30])
        given = [stored(values, self.architecture) for values in drams]
        times = {"latency": latency, "response_latency": response, "stream_bytes": 128}
        stalls = {"stalls": seed % 1000 + 1}
        label = f"{self.number} {name} seed {seed} T={latency},{response}"
        runs = []
        if 0 in self.loses:
            cycles, memories = judge(name + "s", program, drams, latency, response, "--sequential")
            waits = writer.loses_additions() and not self.is_pipelined
            timed = None if waits else cycles
            runs.append((0, label, (program, given, times), memories, timed))
            runs.append((0, f"{label} stalls", (program, given, times | stalls), memories, None))
        if 1 in self.loses:
            cycles, memories = judge(name + "h", program, drams, latency, response, "--hardware")
            runs.append((1, f"{label} released", (program, given, times), memories, cycles))
        return runs

    def judge(self):
        """Runs all programs; returns the number of runs, and the differences."""
        first = self.options.seed * 1_000_000 + self.number * 10_000
        with tempfile.TemporaryDirectory() as folder:
            judge = Judge(self.npu, pathlib.Path(folder), self.architecture, self.bus)
            jobs = [(f"p{i}", first + i) for i in range(self.options.programs)]
            runs = [run for runs in parallel(lambda job: self.runs(*job, judge), jobs) for run in runs]
        found = []
        for loses, circuit in self.circuits.items():
            mine = [run for run in runs if run[0] == loses]
            every = circuit.run_all([given for _, _, given, _, _ in mine], DRAM_DUMPED)
            for seen, (_, label, given, memories, cycles) in zip(every, mine):
                if loses == 0 and cycles is not None:
                    self.kept.append(kept(seen, *given))
                differences = compare(seen, memories, cycles, self.architecture)
                found += [f"{label}: {difference}" for difference in differences]
        return len(runs), found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--overlap", action="store_true", help="omit some of the limits of the released circuit")
    parser.add_argument("--float", action="store_true", help="numbers of single precision")
    parser.add_argument("--page", action="store_true", help="instances that follow the page of the instruction set")
    parser.add_argument("--packed", action="store_true", help="vectors are not whole words of the bus")
    parser.add_argument("--lanes", nargs="+", type=int, help="sizes of the arrays, in turn")
    parser.add_argument("--looped", action="store_true", help="the elements of arrays are loops")
    parser.add_argument("--keep", type=pathlib.Path, help="file for the circuit's cycles of each program")
    parser.add_argument("--first", type=int, default=0, help="number of the first instance")
    parser.add_argument("--programs", type=int, default=20, help="programs of an instance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alternate", action="store_true", help="alternate between instances with and without the defects")
    parser.add_argument("--slot", default="", help="suffix that distinguishes concurrent runs")
    options = parser.parse_args()
    total, failed, kept_of = 0, 0, []
    for number in range(options.first, options.first + options.instances):
        one = Instance(options.npu or default_command(), number, options)
        runs, found = one.judge()
        for difference in found:
            print(difference)
        print(f"{number}: {json.dumps(one.architecture)} bus {one.bus}: {runs} runs, {len(found)} differences", flush=True)
        total, failed = total + runs, failed + len(found)
        kept_of.append({"architecture": one.architecture, "axi_bits": one.bus, "programs": one.kept})
    if options.keep:
        options.keep.write_text(json.dumps(kept_of) + "\n")
    programs = options.instances * options.programs
    print(f"{options.instances} instances, {programs} programs, {total} runs, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
