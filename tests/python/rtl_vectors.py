"""Compares the TCU's circuit with measurements of the released circuits: every value, every cycle.

    python rtl_vectors.py [--npu COMMAND] [--only PART ...] [--stalls SEED] [--programs FOLDER]

The vectors are in `tests/golden/tcu`; published networks (part `programs`) are in another folder. `--only` selects from
sequences, hazards and cycles (of N=8, or with the suffix `_n32_b4`), samples, offsets, page, defects and programs. Part
`page` compares a circuit that follows the page of the instruction set with the machine. Part `defects` uses one with a
parameter left as in the released circuit, which must be detected. `--stalls` makes memories and stream wait at random;
then only values are compared.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from circuit import ROOT, Circuit
from npu import add_arguments, default_command

GOLDEN = ROOT / "tests/golden/tcu"

MEMORIES = ("dram0", "dram1", "local", "accumulators")


def fill(seed, bank, shift, scalars):
    """First scalars of a bank, as defined by the golden vectors."""
    with np.errstate(over="ignore"):
        i = np.arange(1, scalars + 1, dtype=np.uint64)
        z = np.uint64((seed * 0x100000001B3 + bank) % 2**64) + i * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(48)).astype(np.uint16).view(np.int16) >> shift).astype("<i2").tobytes()


def differences(program, latency, seen, timed=True):
    """Differences between a run of a program and its vector."""
    expected = program["runs"][latency]
    hashes = {name: hashlib.sha256(seen[name]).hexdigest() for name in MEMORIES}
    found = [f"{name} differs" for name in MEMORIES if hashes[name] != program["final"][name]]
    if seen["accepted"] < program["instructions"]:
        found.append(f"instruction {seen['accepted']} is never accepted")
    if not timed:
        return found
    accept = seen["accept"][: program["instructions"]]
    for index, (got, want) in enumerate(zip(accept, expected["accept"])):
        if got != want:
            found.append(f"instruction {index} is accepted in cycle {got}, not {want}")
            break
    if seen["timeout"]["cycles"] != (cycles := timeouts(program, expected["accept"])):
        found.append(f"timeout is high for {seen['timeout']['cycles']} cycles, not {cycles}")
    for name, want in expected["last"].items():
        if seen["last"][name] != want:
            found.append(f"last {name} in cycle {seen['last'][name]}, not {want}")
    if seen["total"] != expected["total"]:
        found.append(f"{seen['total']} cycles, not {expected['total']}")
    keys = ("read_bursts", "read_beats", "write_bursts", "write_beats")
    traffic = [[bank[key] for key in keys] for bank in transposed(program["axi"])]
    if seen["axi"] != traffic:
        found.append(f"bursts and beats {seen['axi']}, not {traffic}")
    return found


def timeouts(program, accept):
    """Cycles in which the timeout flag is high. It rises a configured number of cycles after an instruction arrives."""
    code, longest, start, cycles = bytes.fromhex(program["program"]), 100, 2, 0
    size = len(code) // program["instructions"]
    for index, until in enumerate(accept):
        cycles += max(0, until - start - longest + 1)
        start = until + 1
        word = int.from_bytes(code[index * size : (index + 1) * size], "little")
        if word >> 8 * (size - 1) == 0xF0 and word & 15 == 8:
            longest = word >> 4 & 0xFFFF
    return cycles


def transposed(axi):
    """Returns traffic bank by bank. Sequences store it by key, hazards as lists."""
    keys = ("read_bursts", "read_beats", "write_bursts", "write_beats")
    if isinstance(axi, list):
        return [dict(zip(keys, bank)) for bank in axi]
    return [{key: axi[key][bank] for key in keys} for bank in (0, 1)]


def run_sequences(circuit, path, stalls):
    """Runs all programs of a file at all latencies."""
    document = json.loads(path.read_text())
    lanes, filled = circuit.lanes, document["dram_filled_vectors"]

    def run(job):
        program, latency = job
        drams = [fill(program["seed"], bank, program["shift"][bank], filled * lanes) for bank in (0, 1)]
        more = {"stalls": stalls} if stalls else {}
        seen = circuit.run(
            bytes.fromhex(program["program"]), drams, document["dram_hashed_vectors"], latency=latency, **more
        )
        return program["id"], latency, differences(program, latency, seen, timed=not stalls)

    jobs = [(program, latency) for program in document["programs"] for latency in program["runs"]]
    return [(f"{path.stem} {name} T={latency}", found) for name, latency, found in parallel(run, jobs)]


def assembled(npu, architecture, texts):
    """Assembles instructions in text, all in one program, to bytes."""
    texts = sorted(texts)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "instance.tarch").write_text(json.dumps(architecture))
        (folder / "all.s").write_text("\n".join(texts) + "\n")
        command = [npu, "asm", folder / "all.s", "--target", f"tcu:{folder / 'instance.tarch'}"]
        subprocess.run([*command, "-o", folder / "all.bin"], check=True, capture_output=True)
        program = (folder / "all.bin").read_bytes()
    size = len(program) // len(texts)
    return {text: program[i * size : (i + 1) * size] for i, text in enumerate(texts)}


def run_cycles(circuit, document, npu):
    """Measurements of single instructions and short sequences, from `cycles.json` of the repository."""
    jobs = []
    for case in document["steady_state_cycles"]:
        jobs.append((case, case["repeat"], steady))
    for kind in ("single_instruction", "short_sequences"):
        jobs += [(case, case["instructions"], short) for case in document[kind]]
    for case in document["occupancy"]:
        for vectors, cycles in zip(case["vectors"], case["accept"]):
            texts = [text.replace("vectors", str(vectors)) for text in case["instructions"]]
            single = case | {"name": f"{case['name']} n={vectors}", "until": "accept", "cycles": cycles}
            jobs.append((single, texts, short))
    jobs += [(case, case["instructions"], hangs) for case in document["hangs"]]
    code = assembled(npu, document["architecture"], {"noop", *(text for _, texts, _ in jobs for text in texts)})

    def run(job):
        case, texts, measure = job
        return case["name"], measure(circuit, case, [code[text] for text in texts], code["noop"])

    return parallel(run, jobs)


def steady(circuit, case, codes, _):
    """Cycles per repetition, measured over 16 repetitions after all queues are full."""
    before, counted = 8 * circuit.lanes + 16, 16
    seen = circuit.run(b"".join(codes) * (before + counted), latency=case["latency"], dump_vectors=0)
    accept = seen["accept"]
    cycles = (accept[len(codes) * (before + counted) - 1] - accept[len(codes) * before - 1]) / counted
    return [] if cycles == case["cycles"] else [f"{cycles} cycles, not {case['cycles']}"]


def short(circuit, case, codes, noop):
    """Cycles after a NoOp: of each instruction's acceptance, and of the last events."""
    seen = circuit.run(noop + b"".join(codes), latency=case["latency"], dump_vectors=0)
    start = seen["accept"][0]
    got = {"accept": [at - start for at in seen["accept"][1:]]}
    for event in ("acc_write", "local_write", "axi_write", "weight_load"):
        at = seen["last"][event]
        got[f"last_{event}"] = at - start if at else None
    if "until" in case:
        until = got["last_weight_load" if case["until"] == "last_load" else case["until"]]
        cycles = until[-1] if case["until"] == "accept" else until
        return [] if cycles == case["cycles"] else [f"{cycles} cycles, not {case['cycles']}"]
    return [f"{key} {value}, not {case[key]}" for key, value in got.items() if case[key] != value]


def hangs(circuit, case, codes, _):
    """Whether the decoder waits forever when the instruction is repeated."""
    count = 8 * circuit.lanes
    hung = circuit.run(b"".join(codes) * count, latency=1, dump_vectors=0)["accepted"] < count
    return [] if hung == case["hangs"] else [f"hangs: {hung}"]


def configure(circuit, register, value):
    return (value << 4 | register).to_bytes(circuit.instruction_bytes - 1, "little") + b"\xf0"


def settled(words):
    """Sample words without the ready bits of local memory's ports where they are not valid.

    There, the circuit reports a full queue of read data; the clock reports when a read finds room.
    """
    for valid in (42, 44):
        asked = words >> np.uint64(valid) & np.uint64(1)
        words = np.where(asked, words, words & ~np.uint64(2 << valid))
    return words


def run_samples(circuit, document, npu):
    """Sample words while the decoder has instructions. The command counts from 1, like the driver."""
    jobs = [(p, *times) for p in document["programs"][:20] for times in ((1, 1), (28, 1), (10, 7))]
    system = {"axi_width_bits": document["axi_data_bits"]}

    def run(job):
        program, latency, interval = job
        own = configure(circuit, 11, interval) + bytes.fromhex(program["program"])
        seen = circuit.run(configure(circuit, 10, 1) + own, dump_vectors=0, latency=latency)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            target = document["architecture"] | {"system": system | {"dram_latency_cycles": latency}}
            (folder / "instance.tarch").write_text(json.dumps(target))
            (folder / "p.tprog").write_bytes(own)
            command = [npu, "time", folder / "p.tprog", "--target", f"tcu:{folder / 'instance.tarch'}"]
            command += ["--hardware", "--samples", folder / "samples", "--option", "sample-interval=0", "--option", "sample-block=1"]
            subprocess.run(command, check=True, capture_output=True)
            words = np.fromfile(folder / "samples", "<u8")
        # The first word belongs to the cycle after the second Configure, which is accepted in cycle 3.
        count = -(-(seen["accept"][program["instructions"] + 1] - 3) // interval)
        wrong = np.flatnonzero(settled(words[:count]) != settled(seen["samples"][:count]))
        name = f"samples {program['id']} T={latency} interval {interval}"
        return name, [f"word {wrong[0]} differs, of {count} {len(wrong)} do"] if len(wrong) else []

    return parallel(run, jobs)


def run_offsets(document, npu):
    """Writes three vectors, a new offset, and one more: writes stay at their addresses, or move as in the released circuit."""
    results = []
    for moves in (0, 1):
        circuit = Circuit(npu, f"offsets{moves}", document["architecture"], document["axi_data_bits"], MOVES_WRITES=moves)
        line = circuit.lanes * 2
        # DataMove of local memory's first vectors: operands of 2, 3 and 2 bytes.
        move = lambda kind, other, size: (other << 16 | size - 1 << 40 | (0x20 | kind) << 56).to_bytes(8, "little")
        # Local 0 to 7, then DRAM 16, 18, 20 (stride 2), the window at 64 KiB, and DRAM 0 in it.
        program = move(0, 0, 8) + move(1, 16 | 1 << 17, 3) + configure(circuit, 0, 1) + move(1, 0, 1)
        given = fill(7, 0, 3, 8 * circuit.lanes)
        seen = circuit.run(program, [given, b""], latency=20)["dram0"]
        vector = lambda at: seen[at * line : (at + 1) * line]
        second = 65536 // line
        # The first address is computed before Configure is accepted, while the converter is busy with it.
        places = [16, 18 + second, 20 + second, second] if moves else [16, 18, 20, second]
        wanted = [given[i * line : (i + 1) * line] for i in (0, 1, 2, 0)]
        found = [f"vector {at} differs" for at, want in zip(places, wanted) if vector(at) != want]
        results.append((f"MOVES_WRITES={moves}", found))
    return results


# An instance that follows the page of the instruction set, and the parameters of its circuit.
PAGE = {
    "data_type": "FP16BP8",
    "array_size": 2,
    "dram0_depth": 1 << 20,
    "dram1_depth": 1024,
    "local_depth": 512,
    "accumulator_depth": 64,
    "simd_registers_depth": 1,
    "stride0_depth": 8,
    "stride1_depth": 8,
    "number_of_threads": 1,
    "thread_queue_depth": 8,
    "lookup_tables": 1,
    "lookup_depth": 2,
    "sample_block_size": 4,
    "reading": "seed",
}
PAGES = {
    "VALUE_IN_OPERAND1": 0,
    "OFFSET_BITS": 16,
    "READS_BY_FLAG": 0,
    "NOOP_MOVES": 0,
    "FIXED_TABLES": 0,
    "INVALID_SAMPLES": 0,
}
# Vectors 0 to 7 of DRAM0 in a window at 128 TiB and 4 GiB; results are written to vectors of DRAM1 starting at 16.
WINDOW = 0x8001_0000 << 16
PAGES_PROGRAM = """
configure sample_interval, 3
configure dram0_offset, 0x80010000
configure timeout, 0x1234
datamove local[0] <- dram0[0], 8
loadweights local[0], 3
matmul local[3], acc[0], 2
simd out = noop, write acc[4]
simd out = noop, write.acc acc[5]
simd local[20] = noop, read acc[1]
configure sample_interval, 0
loadlut local[0], table 0
loadlut local[2], table 1
simd r1 = zero, read acc[0]
simd out = increment(r1, in), write acc[6]
simd out = lookup(in), read acc[0], write acc[7]
datamove local[24] <- acc[0], 8
datamove dram1[16] <- local[20], 1
datamove dram1[17] <- local[24], 8
"""


def run_page(npu, defect=None):
    """Runs a program with features of the page of the instruction set: manual vectors and those of the machine."""
    parameter = {defect: PAGES[defect]} if defect else {}
    circuit = Circuit(npu, f"page{defect or ''}", PAGE, 64, INSTRUCTION_AXI_BITS=256, **parameter)
    texts = [text for text in PAGES_PROGRAM.splitlines() if text]
    code = assembled(npu, PAGE, set(texts))
    given = fill(5, 0, 3, 8 * circuit.lanes)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "instance.tarch").write_text(json.dumps(PAGE | {"system": {"axi_width_bits": 64, "dram_latency_cycles": 9}}))
        (folder / "p.tprog").write_bytes(b"".join(code[text] for text in texts))
        np.save(folder / "given.npy", np.frombuffer(given, "<i2").reshape(8, -1).astype(np.int64))
        # The machine has banks of the page's size, which exceeds available memory, so its window is at offset 0.
        own = "".join("configure dram0_offset, 0\n" if "dram0_offset" in text else f"{text}\n" for text in texts)
        (folder / "p.s").write_text(own)
        command = [npu, "run", folder / "p.s", "--target", f"tcu:{folder / 'instance.tarch'}", "--json"]
        command += ["--mem", f"dram0={folder / 'given.npy'}", "--dump", f"dram1[0:32]={folder / 'dram1.hex'}"]
        ran = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        rows = [[int(word, 16) for word in row.split()] for row in (folder / "dram1.hex").read_text().splitlines()]
        cycles = json.loads(ran.stdout)["cycles"]
    try:
        seen = circuit.run(b"".join(code[text] for text in texts), [given, b""], latency=9, dram0_origin=WINDOW)
    except RuntimeError as error:
        return [str(error).strip()]
    found = []
    wanted = (np.array(rows) & 0xFFFF).astype("<u2").tobytes()
    if seen["dram1"][: len(wanted)] != wanted:
        found.append("DRAM1 differs")
    if seen["total"] != cycles:
        found.append(f"{seen['total']} cycles, not {cycles}")
    # dram0_offset, dram1_offset, timeout, tracepoint; words that end blocks, and the number of invalid ones.
    held = [seen["configuration"][i] for i in (0, 2, 4, 5)]
    if held != [0x80010000, 0, 0x1234, 0xFFFFFFFF]:
        found.append(f"registers {held}")
    invalid = int(np.count_nonzero(seen["samples"] == 0xFFFFFFFF))
    if len(seen["samples"]) % 4 or invalid == 0 or len(seen["samples"]) != 4 * len(seen["block_ends"]):
        found.append(f"{len(seen['samples'])} samples, {invalid} of them invalid")
    return found


# Published networks: folder, cycles at each latency, Configure instructions measured before them.
PROGRAMS = {
    "resnet20v2_zcu104": ({1: 652_140, 18: 750_526}, 0),
    "speech_commands": ({1: 1_060_395, 20: 1_713_556}, 2),
}


def run_program(folder, cycles, configured, npu):
    """Runs a published network on its first input: outputs and memories bit for bit, and the cycles."""
    model = json.loads(next(folder.glob("*.tmodel")).read_text())
    expected = json.loads((folder / "outputs.json").read_text())["runs"][0]
    circuit = Circuit(npu, folder.name, model["arch"], CROSSES_BY_A_BEAT=1)
    (source,), (constants,), (result,) = model["inputs"], model["consts"], model["outputs"]
    table = np.loadtxt(next(folder.glob("*.csv")), delimiter=",", max_rows=source["size"], dtype=np.float32)
    given = np.clip(np.floor(table.astype(np.float64) * 256 + 0.5), -32768, 32767).astype("<i2")
    zero = bytes(source["base"] * circuit.lanes * 2)
    drams = [zero + given.tobytes(), (folder / constants["file_name"]).read_bytes()]
    offsets = [configure(circuit, register, 0) for register in (0, 4)]
    program = b"".join(offsets[:configured]) + (folder / model["prog"]["file_name"]).read_bytes()

    def run(job):
        latency, want = job
        start = time.time()
        seen = circuit.run(program, drams, expected["final_state"]["dram0_vectors_hashed"], latency=latency)
        outputs = np.frombuffer(seen["dram0"], "<i2").reshape(-1, circuit.lanes)
        outputs = outputs[result["base"] : result["base"] + result["size"]].ravel()
        found = [] if outputs.tolist() == expected["output_raw"] else [f"outputs {outputs.tolist()}"]
        for name in ("dram0", "local", "accumulators"):
            if hashlib.sha256(seen[name]).hexdigest() != expected["final_state"][f"{name}_sha256"]:
                found.append(f"{name} differs")
        if seen["total"] != want:
            found.append(f"{seen['total']} cycles, not {want}")
        speed = seen["simulated"] / (time.time() - start)
        print(f"{folder.name} T={latency}: {seen['total']} cycles, {speed:.0f} cycles a second", flush=True)
        return f"{folder.name} T={latency}", found

    return parallel(run, cycles.items())


def parallel(function, jobs):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, jobs))


def report(name, results):
    """Reports the different runs; returns their number."""
    wrong = [(run, found) for run, found in results if found]
    for run, found in wrong:
        print(f"{run}: {'; '.join(found)}")
    print(f"{name}: {len(results) - len(wrong)} of {len(results)} runs equal", flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--stalls", type=int, default=0)
    parser.add_argument("--programs", type=pathlib.Path, help="folder of the published networks")
    options = parser.parse_args()
    chosen = lambda name: not options.only or name in options.only
    npu = options.npu or default_command()
    failed = 0
    for size in ("", "_n32_b4"):
        parts = [part for part in ("sequences", "hazards", "cycles") if chosen(part + size)]
        document = json.loads((GOLDEN / f"rtl_sequences{size}.json").read_text())
        if not parts and not (size == "" and chosen("samples")):
            continue
        released = {"LOSES_ADDITIONS": 1, "CROSSES_BY_A_BEAT": 1}
        circuit = Circuit(npu, f"vectors{size}", document["architecture"], document["axi_data_bits"], **released)
        assert circuit.instruction_bytes == document["instruction_bytes"]
        for part in parts:
            if part == "cycles":
                results = run_cycles(circuit, json.loads((GOLDEN / f"cycles{size}.json").read_text()), npu)
            else:
                results = run_sequences(circuit, GOLDEN / f"rtl_{part}{size}.json", options.stalls)
            failed += report(part + size, results)
        if size == "" and chosen("samples"):
            failed += report("samples", run_samples(circuit, document, npu))
    document = json.loads((GOLDEN / "rtl_sequences.json").read_text())
    if chosen("offsets"):
        failed += report("offsets", run_offsets(document, npu))
    if chosen("page"):
        failed += report("page", [("by the page", run_page(npu))])
    if chosen("defects"):
        lost = lambda name: [] if run_page(npu, name) else ["is not found"]
        failed += report("defects", [(f"{name} of the released circuit", lost(name)) for name in PAGES])
    if options.programs and chosen("programs"):
        for name, (cycles, configured) in PROGRAMS.items():
            failed += report(name, run_program(options.programs / name, cycles, configured, npu))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
