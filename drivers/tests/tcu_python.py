"""Tests npukit_board, the Python driver, on simulated boards, like tests/tcu_c.py for the C driver."""

import json
import pathlib
import sys
import tempfile
import types
import unittest

import numpy as np

from harness import Boards, npu, read_npz
from npukit_board import (
    Arch,
    ArchitectureError,
    ArgumentError,
    BusError,
    DataError,
    DmaError,
    ManifestError,
    Model,
    ProgramError,
    Region,
    Register,
    StateError,
    StreamTimeout,
    Tcu,
    UnsupportedError,
)
from npukit_board import code
from npukit_board.numbers import FORMATS
from npukit_board.socket import SocketBoard
from tcu_programs import COMPILED, PYNQZ1, compiled, published


class Folder(unittest.TestCase):
    """A scratch folder and boards for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="npukit-python-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.boards = Boards()
        cls.open_boards = []

    @classmethod
    def tearDownClass(cls):
        for board in cls.open_boards:
            board.close()
        cls.boards.__exit__()
        cls.scratch.cleanup()

    def board(self, program, model, **changed):
        # A simulated board serves one driver at a time.
        while self.open_boards:
            self.open_boards.pop().close()
        board = SocketBoard(str(self.boards.socket(program.board)), model.arch, program.stream_bytes)
        self.open_boards.append(board)
        for name, value in changed.items():
            setattr(board, name, value)
        return board


class Programs(Folder):
    """Results equal the reference bit for bit."""

    def check(self, program, **changed):
        model = Model.read(str(program.manifest))
        tcu = Tcu(self.board(program, model, **changed))
        tcu.load(model)
        for values, expected in program.runs:
            for outputs in (tcu.run(values, raw=True), tcu.run(values, raw=True)):
                self.assertEqual(set(outputs), set(expected))
                for name, raw in expected.items():
                    np.testing.assert_array_equal(outputs[name], raw, f"{program.name}, {program.judge}")
        return tcu, model

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

    def test_small_transfers(self):
        program = compiled("mlp")
        program = program._replace(board=program.board.replace("@64", "@128"), stream_bytes=16)
        self.check(program, staging=Region(0x30000000, 4096), max_transfer=1008)

    def test_samples(self):
        program = compiled("lenet5")
        model = Model.read(str(program.manifest))
        tcu = Tcu(self.board(program, model))
        tcu.load(model)
        tcu.sample(100)
        tcu.run(program.runs[0][0])
        samples = self.folder / "samples.bin"
        tcu.samples().tofile(samples)
        self.assertFalse(tcu.samples_lost)
        report = npu("time", program.manifest, "--from-samples", samples, "--sample-interval", "100", "--json")
        clock = npu("time", program.manifest, "--json", "--axi-bits", "64", "--latency", "18")
        sampled, model_cycles = json.loads(report.stdout)["cycles"]["samples"], json.loads(clock.stdout)["cycles"]["hw"]
        self.assertLess(abs(sampled - model_cycles), 200)

    def test_registers(self):
        program = compiled("mlp")
        tcu, _ = self.check(program)
        tcu.configure(Register.TIMEOUT, 500)
        status = tcu.status()
        self.assertEqual((status["timeout"], status["dram0_offset"], status["dram1_offset"]), (500, 0x1000, 0x2000))
        self.assertEqual(status["instruction_dma"], 0x1002)
        with self.assertRaises(ArgumentError):
            tcu.configure(Register.DRAM0_OFFSET, 1)
        with self.assertRaises(ArgumentError):
            tcu.configure(Register.TIMEOUT, 0x10000)

    def test_real_values_and_dumps(self):
        program = compiled("lenet5")
        tcu, model = self.check(program)
        values, expected = program.runs[0]
        outputs = tcu.run(values)
        dump = self.folder / "dump.npz"
        tcu.dump(str(dump))
        self.assertEqual(tcu.write(next(iter(values)), np.full(next(iter(values.values())).shape, 1e9, np.float32)), 1024)
        for name, raw in expected.items():
            np.testing.assert_array_equal(outputs[name], raw.astype(np.float32) / np.float32(256))
            np.testing.assert_array_equal(read_npz(dump)[name], outputs[name])
        sample = self.folder / "sample.npy"
        np.save(sample, next(iter(values.values())))
        done = npu("run", program.manifest, "--input", sample, f"--compare={dump}")
        self.assertIn("bit for bit", done.stdout)


class Faults(Folder):
    """Every failure raises its own exception, and is detected soon."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = compiled("mlp")
        cls.model = Model.read(str(cls.program.manifest))

    def run_with(self, fault, after, interval=0):
        board = self.board(self.program, self.model, timeout_s=0.02)
        board.inject(fault, after)
        tcu = Tcu(board)
        tcu.load(self.model)
        tcu.sample(interval)
        values, expected = self.program.runs[0]
        outputs = tcu.run(values, raw=True)
        if interval:
            tcu.samples()
        for name, raw in expected.items():
            np.testing.assert_array_equal(outputs[name], raw)

    def sweep(self, fault, *errors):
        for after in (1, 2, 3, 5, 8, 13, 21, 34, 55, 100000):
            with self.subTest(f"{fault}@{after}"):
                try:
                    self.run_with(fault, after)
                except errors:
                    continue
                self.assertGreater(after, 1, "the first event is there")
                return
        self.fail("the fault is met without end")

    def test_bus_errors(self):
        for fault in ("read-register", "write-register", "read-memory", "write-memory", "disconnect"):
            self.sweep(fault, BusError)

    def test_dma_errors(self):
        for fault in ("dma-internal", "dma-slave", "dma-decode"):
            self.sweep(fault, DmaError)

    def test_what_never_ends(self):
        for fault in ("stall", "hang", "lose-writes"):
            self.sweep(fault, StreamTimeout)

    def test_samples_that_cannot_be(self):
        with self.assertRaises(DataError):
            self.run_with("damaged-sample", 1, interval=100)

    def test_a_board_that_failed_is_closed(self):
        board = self.board(self.program, self.model, timeout_s=0.02)
        tcu = Tcu(board)
        tcu.load(self.model)
        board.inject("hang", 100)
        with self.assertRaises(StreamTimeout):
            tcu.run(self.program.runs[0][0])
        with self.assertRaises(StateError):
            tcu.run(self.program.runs[0][0])

    def test_boards_that_cannot_be(self):
        for changed in (
            {"dram0": Region(0x10000100, 1 << 28)},
            {"dram1": Region(0x20000000, 1 << 20)},
            {"dram1": Region(0x10000000, 1 << 28)},
            {"stream_bytes": 12},
            {"staging": Region(0x30000000, 4)},
            {"sample_block": 0},
        ):
            with self.subTest(str(changed)), self.assertRaises(ArgumentError):
                Tcu(self.board(self.program, self.model, **changed))

    def test_another_instance(self):
        board = self.board(self.program, self.model)
        board.arch = self.model.arch._replace(stride0_depth=4)
        tcu = Tcu(board)
        with self.assertRaisesRegex(ArchitectureError, "`stride0_depth` 8, the board has 4"):
            tcu.load(self.model)

    def test_instances_without_a_circuit(self):
        for more in ({"reading": "seed"}, {"number_of_threads": 2}, {"data_type": "FLOAT32"}):
            with self.subTest(str(more)), self.assertRaises(UnsupportedError):
                Arch.parse("other", {**PYNQZ1, **more})

    def changed(self, suffix, change):
        folder = self.folder / "changed"
        folder.mkdir(exist_ok=True)
        for path in self.program.manifest.parent.iterdir():
            if path.name.endswith((".tmodel", ".tprog", ".tdata")) and ".test_" not in path.name:
                data = path.read_bytes()
                (folder / path.name).write_bytes(change(data) if path.name.endswith(suffix) else data)
        return str(folder / self.program.manifest.name)

    def test_damaged_files(self):
        for suffix, change, reason in (
            (".tprog", lambda data: data[:-1], "prog.size"),
            (".tdata", lambda data: data + b"\0", "consts"),
            (".tmodel", lambda data: data[:-1], "not JSON"),
            (".tmodel", lambda data: data.replace(b'"inputs"', b'"inlets"'), "`inputs` is missing"),
            (".tmodel", lambda data: data.replace(b'"base":0', b'"base":-1'), "base"),
            (".tmodel", lambda data: data.replace(b'tprog"', b'tprog/../x"'), "file_name"),
        ):
            with self.subTest(reason), self.assertRaisesRegex(ManifestError, reason):
                Model.read(self.changed(suffix, change))

    def test_files_of_two_compilations(self):
        folder = self.folder / "mixed"
        folder.mkdir()
        for path in self.program.manifest.parent.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        constants = next(folder.glob("*_pynqz1.tdata"), None) or next(p for p in folder.glob("*.tdata") if "test_" not in p.name)
        constants.write_bytes(constants.read_bytes()[:-1] + b"\x55")
        with self.assertRaisesRegex(ManifestError, "another compilation"):
            Model.read(str(folder / self.program.manifest.name))

    def test_programs_that_the_protocol_forbids(self):
        arch = self.model.arch
        for word, reason in (
            ("0000000000000090", "an opcode"),
            ("000000000000002e", "a kind"),
            ("ff1fffff0f000020", "the last two|whose last two"),
            ("40230100000000f0", "an offset"),
            ("00", "ends inside"),
        ):
            with self.subTest(word), self.assertRaisesRegex(ProgramError, reason):
                code.check_program(arch, bytes(8) + bytes.fromhex(word))


class Numbers(unittest.TestCase):
    """The compiler's rule: specification, 5.1 and 5.4; worked encodings, 3.5."""

    def test_halves_and_ends(self):
        form = FORMATS["FP16BP8"]
        values = np.array([0.5, -0.5, 1.5, -1.5, 2.5, -2.5], dtype=np.float32) / 256
        np.testing.assert_array_equal(form.from_real(values)[0], [1, 0, 2, -1, 3, -2])
        raw, unfit = form.from_real([1.0, 200.0, -128.0, -129.0, np.nan, 127.998, 127.999, np.inf])
        np.testing.assert_array_equal(raw, [256, 32767, -32768, -32768, 0, 32767, 32767, 32767])
        self.assertEqual(unfit, 5)
        self.assertEqual(FORMATS["FP18BP10"].to_bytes(np.array([-1])), b"\xff\xff\x03\x00")
        self.assertEqual(FORMATS["FP18BP10"].from_bytes(b"\xff\xff\x03\xaa")[0], -1)
        self.assertEqual(FORMATS["FP32BP16"].from_real([32768.0, -32768.0])[0].tolist(), [2**31 - 1, -(2**31)])

    def test_worked_encodings(self):
        arch = Arch.parse("pynqz1", PYNQZ1)
        self.assertEqual(code.move(arch, code.DRAM0_TO_LOCAL, 0x10, 0x200, 8).hex(), "1000000200070020")
        self.assertEqual(code.move(arch, code.LOCAL_TO_DRAM0, 8191, 1048574, 1).hex(), "ff1ffeff0f000021")
        self.assertEqual(code.configure(arch, Register.DRAM0_OFFSET, 0x1234).hex(), "40230100000000f0")


class Pynq(unittest.TestCase):
    """Tests the PYNQ board with a module that replaces pynq: Overlay, MMIO and allocate. No board was available."""

    def test_registers_and_memory_go_through_pynq(self):
        class Buffer(np.ndarray):
            maintained = []

            def flush(self):
                Buffer.maintained.append(("flush", self.size))

            def invalidate(self):
                Buffer.maintained.append(("invalidate", self.size))

            def freebuffer(self):
                Buffer.maintained.append(("free", self.size))

        class Mmio:
            def __init__(self, base, size):
                self.words = {}

            def read(self, offset):
                return self.words.get(offset, 0)

            def write(self, offset, value):
                self.words[offset] = value

        def allocate(shape, dtype):
            buffer = np.zeros(shape, dtype).view(Buffer)
            buffer.device_address = 0x10000010 + 0x01000000 * len(made)
            made.append(buffer)
            return buffer

        made = []
        entries = {"axi_dma_0": {"phys_addr": 0x40400000, "addr_range": 0x10000}}
        overlay = lambda path: types.SimpleNamespace(ip_dict=entries)
        sys.modules["pynq"] = types.SimpleNamespace(Overlay=overlay, MMIO=Mmio, allocate=allocate)
        try:
            from npukit_board.pynq import PynqBoard

            arch = Arch.parse("small", {**PYNQZ1, "dram0_depth": 1024, "dram1_depth": 1024})
            with self.assertRaisesRegex(ArgumentError, "axi_dma_0"):
                PynqBoard("design.bit", arch, instruction_dma="dma")
            with PynqBoard("design.bit", arch) as board:
                self.assertEqual(board.dram0.address % 0x10000, 0)
                board.write32(0x40400004, 7)
                self.assertEqual(board.read32(0x40400004), 7)
                board.write_memory(board.dram1.address + 16, b"abcd")
                self.assertEqual(board.read_memory(board.dram1.address + 16, 4), b"abcd")
                self.assertEqual(Buffer.maintained, [("flush", 4), ("invalidate", 4)])
                for wrong in (board.dram1.address - 1, board.dram1.address + board.dram1.bytes):
                    with self.assertRaises(BusError):
                        board.read_memory(wrong, 1)
                with self.assertRaises(BusError):
                    board.read32(0x40410000)
            self.assertEqual(len([what for what, _ in Buffer.maintained if what == "free"]), 4)
        finally:
            del sys.modules["pynq"]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
