"""Holds the TCU's circuit against what was measured on the released circuits: every value, every cycle.

`rtl_vectors.py GOLDEN [HAZARDS]` takes the folders with `rtl_sequences.json`, `rtl_occupancy.json` and so on, and with
`rtl_hazards.json`. Names after `--only` choose parts, `--stalls SEED` makes memories and stream wait at random, where
values alone are compared.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import sys
import time

import numpy as np

from circuit import Circuit, instruction_bytes

MEMORIES = ("dram0", "dram1", "local", "accumulators")


def fill(seed, bank, shift, scalars):
    """The first scalars of a bank, as the golden vectors define them."""
    with np.errstate(over="ignore"):
        i = np.arange(1, scalars + 1, dtype=np.uint64)
        z = np.uint64((seed * 0x100000001B3 + bank) % 2**64) + i * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(48)).astype(np.uint16).view(np.int16) >> shift).astype("<i2").tobytes()


def differences(program, latency, seen, timed=True):
    """What a run of a program does not have in common with the vector."""
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


def transposed(axi):
    """Traffic bank by bank: the sequences have it key by key, the hazards as lists."""
    keys = ("read_bursts", "read_beats", "write_bursts", "write_beats")
    if isinstance(axi, list):
        return [dict(zip(keys, bank)) for bank in axi]
    return [{key: axi[key][bank] for key in keys} for bank in (0, 1)]


def run_sequences(circuit, path, stalls):
    """All programs of a file at all latencies."""
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


def parallel(function, jobs):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, jobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("hazards", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--stalls", type=int, default=0)
    options = parser.parse_args()
    chosen = lambda name: not options.only or name in options.only
    failed = 0
    for size in ("", "_n32_b4"):
        jobs = [("sequences", options.golden / f"rtl_sequences{size}.json")]
        if options.hazards:
            jobs.append(("hazards", options.hazards / f"rtl_hazards{size}.json"))
        jobs = [path for name, path in jobs if chosen(name + size)]
        if not jobs:
            continue
        document = json.loads(jobs[0].read_text())
        circuit = Circuit(f"vectors{size}", document["architecture"], document["axi_data_bits"], LOSES_ADDITIONS="1'b1")
        assert instruction_bytes(document["architecture"]) == document["instruction_bytes"]
        for path in jobs:
            start, results = time.time(), run_sequences(circuit, path, options.stalls)
            wrong = [(name, found) for name, found in results if found]
            for name, found in wrong:
                print(f"{name}: {'; '.join(found)}")
            failed += len(wrong)
            print(f"{path.stem}: {len(results) - len(wrong)} of {len(results)} runs equal, {time.time() - start:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
