"""Tests npukit-tcu, the C driver, on simulated boards: bit-exact results of every program, and the code of every fault."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from harness import Boards, environment, npu, runner, tcu_board_file
from tcu_programs import COMPILED, compiled, published

CODES = {
    "NPU_LENGTH": 5,
    "NPU_RANGE": 6,
    "NPU_ARCHITECTURE": 4,
    "NPU_SYNTAX": 2,
    "NPU_MANIFEST": 3,
    "NPU_BUS": 9,
    "NPU_TIMEOUT": 10,
    "NPU_DMA": 11,
    "NPU_PROGRAM": 12,
    "NPU_DATA": 13,
}


def exponent(manifest, output):
    """Returns the power of two by which an output is multiplied after it is read."""
    sidecar = manifest.with_suffix(".npukit.json")
    layouts = json.loads(sidecar.read_text())["outputs"] if sidecar.exists() else []
    return next((layout.get("exponent", 0) for layout in layouts if layout["name"] == output), 0)


class Folder(unittest.TestCase):
    """A scratch folder and boards for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="npukit-drivers-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.boards = Boards()

    @classmethod
    def tearDownClass(cls):
        cls.boards.__exit__()
        cls.scratch.cleanup()

    def tool(self, program, *arguments, **changed):
        """Runs npukit-tcu on the program's board; returns the finished process."""
        board = self.folder / "board.json"
        tcu_board_file(board, self.boards.socket(program.board), program.stream_bytes, **changed)
        build = pathlib.Path(environment("NPUKIT_DRIVERS_BUILD"))
        command = [*runner(), build / "npukit-tcu", board, program.manifest, *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)

    def passes(self, program, *arguments, **changed):
        done = self.tool(program, *arguments, **changed)
        self.assertEqual(done.returncode, 0, f"{program.name}: {done.stderr}")
        return done

    def fails(self, code, program, *arguments, **changed):
        done = self.tool(program, *arguments, **changed)
        self.assertEqual(done.returncode, CODES[code], f"{arguments}: {done.stdout} {done.stderr}")
        self.assertIn(code, done.stderr)
        return done

    def inputs(self, values):
        """Returns arguments for inputs, and writes their files."""
        arguments = []
        for number, (name, array) in enumerate(values.items()):
            path = self.folder / f"input{number}.npy"
            np.save(path, array)
            arguments += ["--input", f"{name}={path}"]
        return arguments


class Programs(Folder):
    """Results equal the reference bit for bit."""

    def check(self, program, **changed):
        for values, expected in program.runs:
            names = list(expected)
            files = {name: self.folder / f"raw{i}.npy" for i, name in enumerate(names)}
            reals = {name: self.folder / f"real{i}.npy" for i, name in enumerate(names)}
            arguments = self.inputs(values)
            for name in names:
                arguments += ["--raw", f"{name}={files[name]}", "--output", f"{name}={reals[name]}"]
            self.passes(program, *arguments, "--runs", "2", **changed)
            for name in names:
                raw, real = np.load(files[name]), np.load(reals[name])
                self.assertEqual(raw.shape, expected[name].shape, f"{program.name}: {name}")
                np.testing.assert_array_equal(raw, expected[name], f"{program.name}: {name}, {program.judge}")
                bits = json.loads(program.manifest.read_text())["arch"]["data_type"].split("BP")[1]
                step = np.float32(2.0 ** (exponent(program.manifest, name) - int(bits)))
                np.testing.assert_array_equal(real, raw.astype(np.float32) * step)

    def test_published_programs(self):
        programs = published()
        if not programs:
            self.skipTest("../shared (NPUKIT_SHARED) does not have the published programs")
        for program in programs:
            with self.subTest(program.name):
                self.check(program)

    def test_compiled_programs(self):
        for name in COMPILED:
            with self.subTest(name):
                self.check(compiled(name))

    def test_dumps_are_what_npu_compares(self):
        """`npu run --compare=FILE` accepts an output, raw and real, and reports differences of another one."""
        program = compiled("lenet5")
        values, expected = program.runs[0]
        ((name, raw),) = expected.items()
        files = [self.folder / "dump_raw.npy", self.folder / "dump_real.npy", self.folder / "dump_wrong.npy"]
        arguments = self.inputs(values)
        self.passes(program, *arguments, "--raw", f"{name}={files[0]}", "--output", f"{name}={files[1]}")
        wrong = raw.copy()
        wrong.flat[3] += 1
        np.save(files[2], wrong)
        for file, code in zip(files, (0, 0, 1)):
            done = npu("run", program.manifest, *arguments, f"--compare={name}={file}", check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(f"differs in 1 of {raw.size} elements: element 3 is {wrong.flat[3]}", done.stdout)

    def test_small_transfers(self):
        """Instructions of 8 bytes through transfers that cut them, from a stream of 16 bytes."""
        program = compiled("mlp")
        program = program._replace(board=program.board.replace("@64", "@128"), stream_bytes=16)
        self.check(program, staging={"address": 0x30000000, "bytes": 4096}, max_transfer=1008)

    def test_samples(self):
        """Samples of a run give the time of the program, equal to the clock."""
        program = compiled("lenet5")
        samples = self.folder / "samples.bin"
        arguments = self.inputs(program.runs[0][0])
        self.passes(program, *arguments, "--samples", samples, "--interval", "100")
        words = np.fromfile(samples, dtype="<u8")
        self.assertEqual(len(words) % 64, 0)
        report = npu("time", program.manifest, "--from-samples", samples, "--sample-interval", "100", "--json")
        sampled = json.loads(report.stdout)["cycles"]["samples"]
        self.assertLess(abs(sampled - self.cycles(program)), 200, sampled)

    def cycles(self, program):
        """Cycles of the clock with the simulated board's memory."""
        options = ["--axi-bits", "64", "--latency", "18"]
        return json.loads(npu("time", program.manifest, "--json", *options).stdout)["cycles"]["hw"]

    def test_status(self):
        program = compiled("mlp")
        done = self.passes(program, *self.inputs(program.runs[0][0]), "--status")
        self.assertIn("register 0: written 4096\n", done.stdout)
        self.assertIn("register 4: written 8192\n", done.stdout)
        self.assertIn("instruction DMA status 0x00001002", done.stdout)


class Faults(Folder):
    """Every failure has a code, and is detected soon."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = compiled("mlp")

    def outcome(self, fault, *more, **changed):
        """Runs with a fault; returns the process, and whether the output is right."""
        output = self.folder / "faulty.npy"
        output.unlink(missing_ok=True)
        values, expected = self.program.runs[0]
        (name,) = expected
        arguments = [*self.inputs(values), "--raw", f"{name}={output}", "--fault", fault, *more]
        done = self.tool(self.program, *arguments, **{"timeout_us": 20000, **changed})
        return done, output.exists() and np.array_equal(np.load(output), expected[name])

    def faulty(self, code, fault, *more, **changed):
        done, is_right = self.outcome(fault, *more, **changed)
        self.assertEqual(done.returncode, CODES[code], f"{fault}: {done.stdout} {done.stderr}")
        self.assertIn(code, done.stderr)
        self.assertFalse(is_right)
        return done

    def sweep(self, fault, *codes):
        """Injects the fault at one event after the other, and expects one of its codes, until there are no more such
        events and the result is right.
        """
        for after in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 100000):
            with self.subTest(f"{fault}@{after}"):
                done, is_right = self.outcome(f"{fault}@{after}")
                if done.returncode == 0:
                    self.assertTrue(is_right)
                    self.assertGreater(after, 1, "the first event is there")
                    return
                self.assertIn(done.returncode, [CODES[code] for code in codes], done.stderr)
        self.fail("the fault is met without end")

    def test_bus_errors(self):
        for fault in ("read-register", "write-register", "read-memory", "write-memory"):
            self.sweep(fault, "NPU_BUS")
        # The clock of a lost board stands still, which may be detected first.
        self.sweep("disconnect", "NPU_BUS", "NPU_TIMEOUT")

    def test_dma_errors(self):
        for fault, bits in (("dma-internal", 0x11), ("dma-slave", 0x21), ("dma-decode", 0x41)):
            for after in (1, 2):
                done = self.faulty("NPU_DMA", f"{fault}@{after}")
                self.assertIn(f"actual {bits} ", done.stderr)
                self.assertIn("instruction DMA", done.stderr)

    def test_what_never_ends(self):
        for fault in ("stall", "hang", "lose-writes"):
            self.sweep(fault, "NPU_TIMEOUT")
        self.assertIn("expected 20000", self.faulty("NPU_TIMEOUT", "hang@3000").stderr)

    def test_samples_that_cannot_be(self):
        more = ["--samples", self.folder / "none.bin", "--interval", "100"]
        done, _ = self.outcome("damaged-sample@1", *more)
        self.assertEqual(done.returncode, CODES["NPU_DATA"], done.stderr)

    def test_memory_that_is_not_there(self):
        self.fails("NPU_BUS", self.program, dram1={"address": 0x3FFF0000, "bytes": 1 << 28})

    def test_alignment(self):
        done = self.tool(self.program, dram0={"address": 0x10000100, "bytes": 1 << 28})
        self.assertEqual(done.returncode, 1, done.stderr)
        done = self.tool(self.program, dram1={"address": 0x10000000, "bytes": 1 << 28})
        self.assertIn("overlap", done.stderr)

    def test_another_instance(self):
        tarch = self.folder / "other.tarch"
        arch = json.loads(self.program.manifest.read_text())["arch"]
        tarch.write_text(json.dumps({**arch, "local_depth": 4096}))
        done = self.fails("NPU_ARCHITECTURE", self.program, "--arch", tarch)
        self.assertIn("local_depth: ", done.stderr)
        self.assertIn("expected 4096, actual 8192", done.stderr)

    def changed(self, change):
        """Returns a copy of the program with changed files."""
        folder = self.folder / "changed"
        folder.mkdir(exist_ok=True)
        files = {}
        for path in self.program.manifest.parent.iterdir():
            if path.suffix in (".tmodel", ".tprog", ".tdata") and ".test_" not in path.name:
                files[path.suffix] = path.read_bytes()
        change(files)
        for suffix, data in files.items():
            (folder / self.program.manifest.with_suffix(suffix).name).write_bytes(data)
        return self.program._replace(manifest=folder / self.program.manifest.name)

    def test_damaged_files(self):
        def short_program(files):
            files[".tprog"] = files[".tprog"][:-1]

        def short_constants(files):
            files[".tdata"] += b"\0"

        def no_json(files):
            files[".tmodel"] = files[".tmodel"][:-1]

        def no_key(files):
            files[".tmodel"] = files[".tmodel"].replace(b'"inputs"', b'"inlets"')

        def unknown_opcode(files):
            files[".tprog"] = bytes([0] * 7 + [0x90]) + files[".tprog"][8:]

        def moves_the_probe(files):
            # DRAM0 1048575 to local 8191: the specification's worked encoding 24.
            files[".tprog"] = bytes.fromhex("ff1fffff0f000020") + files[".tprog"][8:]

        def moves_the_window(files):
            files[".tprog"] = bytes.fromhex("40230100000000f0") + files[".tprog"][8:]

        def beyond_dram0(files):
            manifest = json.loads(files[".tmodel"])
            manifest["outputs"][0]["base"] = 1048574
            files[".tmodel"] = json.dumps(manifest).encode()

        for change, code in (
            (short_program, "NPU_LENGTH"),
            (short_constants, "NPU_LENGTH"),
            (no_json, "NPU_SYNTAX"),
            (no_key, "NPU_MANIFEST"),
            (unknown_opcode, "NPU_PROGRAM"),
            (moves_the_probe, "NPU_PROGRAM"),
            (moves_the_window, "NPU_PROGRAM"),
            (beyond_dram0, "NPU_RANGE"),
        ):
            with self.subTest(change.__name__):
                self.fails(code, self.changed(change))

    def test_inputs_that_do_not_fit(self):
        short = {"x": np.zeros(783, dtype=np.float32)}
        self.fails("NPU_LENGTH", self.program, *self.inputs(short))
        large = {"x": np.full(784, 40000, dtype=np.int32)}
        self.fails("NPU_RANGE", self.program, *self.inputs(large))
        real = {"x": np.full(784, 1000, dtype=np.float32)}
        self.assertIn("784 values did not fit", self.passes(self.program, *self.inputs(real)).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
