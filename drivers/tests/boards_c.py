"""Tests the C drivers of opu, drra and pccx on simulated boards: bit-exact results, and the codes of faults and damaged
files.

References: for drra the golden programs, whose results upstream's circuit and simulator confirm; for opu `npu run`; for
pccx sums and products that can be checked manually.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from harness import ROOT, Boards, environment, npu, programs, read_npz, runner

BUS, TIMEOUT, DATA, LENGTH, SYNTAX, MANIFEST, RANGE, STATE = 9, 10, 13, 5, 2, 3, 6, 15


class Folder(unittest.TestCase):
    """A scratch folder and boards for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="npukit-boards-c-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.boards = Boards()

    @classmethod
    def tearDownClass(cls):
        cls.boards.__exit__()
        cls.scratch.cleanup()

    def drive(self, test, *arguments):
        build = pathlib.Path(environment("NPUKIT_DRIVERS_BUILD"))
        command = [*runner(), build / "tests" / test, *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)

    def sweep(self, run, fault, *codes):
        """Injects the fault at one event after the other, and expects one of its codes, until there are no more such events."""
        for after in (1, 2, 3, 5, 8, 13, 21, 34, 55, 100000):
            with self.subTest(f"{fault}@{after}"):
                done, is_right = run(f"{fault}@{after}")
                if done.returncode == 0:
                    self.assertTrue(is_right)
                    self.assertGreater(after, 1, "the first event is there")
                    return
                self.assertIn(done.returncode, codes, done.stderr)
                self.assertFalse(is_right)
        self.fail("the fault is met without end")

    def sweep_all(self, run):
        for fault in ("read-register", "write-register", "read-memory", "write-memory"):
            self.sweep(run, fault, BUS)
        # The clock of a lost board stands still, which may be detected first.
        self.sweep(run, "disconnect", BUS, TIMEOUT)
        self.sweep(run, "stall", TIMEOUT)
        self.sweep(run, "report", DATA)


class Opu(Folder):
    """Networks of the zoo, compiled: an image with patches, and a perceptron."""

    def artifact(self, network, preset):
        folder = programs() / f"{network}_opu_{preset}"
        if not (folder / "raw.npz").exists():
            model = programs() / f"{network}.onnx"
            npu("zoo", network, "-o", model)
            npu("compile", model, "--target", f"opu:{preset}", "-o", folder, "--test-vectors")
        manifest = next(folder.glob("*.opu.toml"))
        sample = next(folder.glob("*.test_input.npy"))
        if not (folder / "raw.npz").exists():
            npu("run", manifest, "--input", sample, "--raw", "-o", folder / "raw.npz")
        ((name, raw),) = read_npz(folder / "raw.npz").items()
        return manifest, sample, name, raw

    def run_artifact(self, preset, manifest, sample, name, *fault):
        stem = manifest.name[: -len(".opu.toml")]
        output = self.folder / "output.npy"
        output.unlink(missing_ok=True)
        files = [manifest.with_name(stem + ending) for ending in (".words", ".image")]
        arguments = [manifest, *files, f"x={sample}", f"{name}={output}", *fault]
        done = self.drive("board_opu", self.boards.socket(f"opu:{preset}"), *arguments)
        return done, np.load(output) if output.exists() else None

    def test_networks(self):
        for network, preset in (("mlp", "reference"), ("lenet5", "reference"), ("lenet5", "int16")):
            with self.subTest(f"{network}, {preset}"):
                manifest, sample, name, raw = self.artifact(network, preset)
                done, output = self.run_artifact(preset, manifest, sample, name)
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(output, raw)

    def test_faults(self):
        manifest, sample, name, raw = self.artifact("mlp", "reference")

        def run(fault):
            done, output = self.run_artifact("reference", manifest, sample, name, fault)
            return done, output is not None and np.array_equal(output, raw)

        self.sweep_all(run)

    def test_damaged_files(self):
        manifest, sample, name, _ = self.artifact("lenet5", "reference")
        folder = self.folder / "damaged"
        folder.mkdir(exist_ok=True)
        for ending in (".words", ".image"):
            file = manifest.name[: -len(".opu.toml")] + ending
            (folder / file).write_bytes((manifest.parent / file).read_bytes())
        text = manifest.read_text()
        for old, new, code in (
            ("words = ", "words = 1", LENGTH),
            ("offset = 0", "offset = 99999999", LENGTH),
            ("perm = [0,", "perm = [1,", MANIFEST),
            ("pitch = ", "pitch = 0 # ", MANIFEST),
            ("channels = ", "channels = 6", MANIFEST),
            ("[[input]]", "[[input]", SYNTAX),
            ("shape = [", "shape = [x", MANIFEST),
            ('itype = "int8"', 'itype = "int7"', 8),
        ):
            with self.subTest(new):
                self.assertIn(old, text)
                (folder / manifest.name).write_text(text.replace(old, new, 1))
                done, output = self.run_artifact("reference", folder / manifest.name, sample, name)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIsNone(output)


class Drra(Folder):
    """Golden programs: their words, inputs and expected rows."""

    GOLDEN = {
        "3x1": ("vec_mult_32", "vec_mult_32_interleaved", "vec_mult_sat_16", "vec_add_16", "dot_32", "matmul_4x4",
                "reverse_step_neg", "act_mode1", "dpu_config_switch", "route_local_copy", "trans_outer"),
        "1x1": ("single_cell_mult_16",),
        "3x2+skew0": ("two_column_mult_32_skew0",),
    }

    def case(self, fabric, name, digits="b"):
        golden = json.loads((ROOT / "tests" / "golden" / "drra" / f"{name}.json").read_text())
        width = {"b": 32, "x": 8}[digits]
        lines = []
        for cell in golden["cells"]:
            lines.append(f"cell {cell['row']} {cell['col']}")
            lines += [format(int(word, 16), f"0{width}{digits}") for word in cell["words"]]
        program = self.folder / "instr.bin"
        program.write_text("\n".join(lines) + "\n")
        rows = []
        for row, values in golden["input_rows"].items():
            words = [format(value & 0xFFFF, f"0{width // 2}{digits}") for value in reversed(values)]
            rows.append(f"{row} {''.join(words)}\n")
        image = self.folder / "image.bin"
        image.write_text("".join(rows))
        # The board is the released circuit; if it differs, its own result is listed.
        rows = golden["upstream"]["rtl"].get("output_rows", golden["expected_rows"])
        return program, image, {int(row): values for row, values in rows.items()}

    def run_case(self, fabric, program, image, expected, *fault):
        rows, columns = fabric.split("+")[0].split("x")
        output = self.folder / "rows.npy"
        output.unlink(missing_ok=True)
        first, count = min(expected), max(expected) - min(expected) + 1
        socket = self.boards.socket(f"drra:{fabric}")
        done = self.drive("board_drra", socket, rows, columns, program, image, first, count, output, *fault)
        right = output.exists() and all(
            np.array_equal(np.load(output)[row - first], values) for row, values in expected.items()
        )
        return done, right

    def test_golden_programs(self):
        for fabric, names in self.GOLDEN.items():
            for name in names:
                for digits in "bx":
                    with self.subTest(f"{name}, {digits}"):
                        done, right = self.run_case(fabric, *self.case(fabric, name, digits))
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertTrue(right)

    def test_faults(self):
        case = self.case("3x1", "vec_mult_32")
        self.sweep_all(lambda fault: self.run_case("3x1", *case, fault))

    def test_damaged_files(self):
        program, image, expected = self.case("3x1", "vec_mult_32")
        text, rows = program.read_text(), image.read_text()
        for changed, code in (
            (text.replace("cell 0 0", "cell 0 1"), RANGE),
            (text.replace("cell 0 0", "cell 0"), SYNTAX),
            (text.replace("cell 1 0", "cell 0 0"), SYNTAX),
            ("0" * 32 + "\n" + text, SYNTAX),
            (text[:-3], SYNTAX),
            (text.replace("\n1", "\n2", 1), SYNTAX),
            (text + ("0" * 32 + "\n") * 64, RANGE),
        ):
            with self.subTest(changed[:20]):
                program.write_text(changed)
                done, right = self.run_case("3x1", program, image, expected)
                self.assertEqual((done.returncode, right), (code, False), done.stderr)
        program.write_text(text)
        for changed, code in ((rows[:-2], SYNTAX), (rows.replace("0 ", "1024 ", 1), RANGE), ("x" + rows, SYNTAX)):
            image.write_text(changed)
            done, right = self.run_case("3x1", program, image, expected)
            self.assertEqual((done.returncode, right), (code, False), done.stderr)


class Pccx(Folder):
    """Programs of MEMSET, MEMCPY and CVO, encoded word by word from the specification, with manually computed results."""

    @staticmethod
    def memset(entry, x, y, z):
        return 0x3 << 60 | entry << 52 | x << 36 | y << 20 | z << 4

    @staticmethod
    def memcpy(shape, l2, aux=0, to_host=False, window=0):
        dest, src, device = (window, l2, 1 << 58) if to_host else (l2, window, 1 << 59)
        return 0x2 << 60 | device | dest << 41 | src << 24 | aux << 7 | shape << 1

    @staticmethod
    def cvo(function, src, dst, length):
        return 0x4 << 60 | function << 56 | src << 39 | dst << 22 | length << 6

    def container(self, words, more=None, out_bytes=64):
        """Returns a container of these words, with windows `in` of 64 bytes and `out`."""
        names = b"in\0out\0"
        windows = struct.pack("<IIQI", 0, 0, 64, 0) + struct.pack("<IIQI", 0, 1, out_bytes, 3)
        sections = {b"CODE": struct.pack(f"<{len(words)}Q", *words), b"HWIN": windows, b"STRS": names, **(more or {})}
        table, content, at = b"", b"", 16 + 12 * len(sections)
        for tag, data in sections.items():
            table += struct.pack("<4sII", tag, at + len(content), len(data))
            content += data
        path = self.folder / "program.pcp"
        path.write_bytes(b"PCP1" + struct.pack("<III", 1, 0, len(sections)) + table + content)
        return path

    def run_program(self, container, values, *fault):
        sample, output = self.folder / "in.bin", self.folder / "out.bin"
        output.unlink(missing_ok=True)
        sample.write_bytes(self.bf16(values))
        done = self.drive("board_pccx", self.boards.socket("pccx:reference"), container, sample, output, *fault)
        return done, output.read_bytes() if output.exists() else None

    @staticmethod
    def bf16(values):
        return (np.array(values, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes()

    def scaled(self):
        """Eight values times their sum: REDUCE_SUM to word 9, SCALE of the words starting at 9 to word 20."""
        words = [
            self.memset(3, 1, 1, 8),
            self.memcpy(3, l2=10),
            self.cvo(5, src=10, dst=9, length=8),
            self.cvo(6, src=9, dst=20, length=8),
            self.memcpy(3, l2=20, aux=1, to_host=True),
        ]
        values = [1, 2, -3, 4, 0.5, -0.5, 8, -8]
        return self.container(words), values, self.bf16([4 * value for value in values])

    def test_words(self):
        """The words of the specification, 2.4."""
        self.assertEqual(self.memcpy(3, l2=0x64), 0x2800C80000000006)
        self.assertEqual(self.memcpy(3, l2=896, to_host=True), 0x2400000380000006)

    def test_a_program(self):
        container, values, expected = self.scaled()
        done, output = self.run_program(container, values)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(output[16:32], expected)

    def test_faults(self):
        container, values, expected = self.scaled()

        def run(fault):
            done, output = self.run_program(container, values, fault)
            return done, output is not None and output[16:32] == expected

        for fault in ("read-register", "write-register", "read-memory", "write-memory"):
            self.sweep(run, fault, BUS)
        self.sweep(run, "disconnect", BUS, TIMEOUT)
        self.sweep(run, "stall", TIMEOUT)
        for fault in ("dma-internal", "dma-slave", "dma-decode"):
            self.sweep(run, fault, 11)

    def test_what_is_not_described_is_refused(self):
        values = [0] * 8
        for words, more, code in (
            ([0x0 << 60], {}, 8),
            ([0x1 << 60], {}, 8),
            ([0x2 << 60], {}, 8),
            ([0x2 << 60 | 3 << 58], {}, 12),
            ([0x5 << 60], {}, 12),
            ([self.memcpy(3, l2=0)], {}, 12),
            ([self.memset(3, 1, 1, 8), self.memcpy(3, l2=0, window=1)], {}, 12),
            ([self.memset(3, 1, 1, 8), self.memcpy(3, l2=0, aux=4)], {}, RANGE),
            ([], {b"HOST": b"\0" * 12}, 8),
            ([], {b"CODE": b"\0" * 7}, SYNTAX),
            ([], {b"STRS": b"in\0out"}, SYNTAX),
            ([], {b"HWIN": b"\0" * 21}, SYNTAX),
        ):
            with self.subTest(f"{words} {more}"):
                done, output = self.run_program(self.container(words, more), values)
                self.assertEqual((done.returncode, output), (code, None), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
