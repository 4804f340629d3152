"""Models in segments: npukit_board runs the segments on a simulated board and the host steps in NumPy."""

import contextlib
import json
import pathlib
import tempfile
import unittest

import numpy as np

from harness import Boards, npu, read_npz
from npukit_board import ArgumentError, ManifestError, Model, SegmentedModel, Tcu, UnsupportedError, on_tcu
from npukit_board.socket import SocketBoard

# Allowed difference of results, in steps of FP16BP8. NumPy computes host steps in double precision, so a value between
# two of the board's numbers may be rounded to the other one.
STEPS = 4


class Segments(unittest.TestCase):
    """The zoo's decoder: attention, normalizations and Gelu, which the array does not support."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="npukit-segments-")
        cls.folder = pathlib.Path(cls.scratch.name)
        npu("zoo", "decoder", "-o", cls.folder / "decoder.onnx")
        npu("compile", cls.folder / "decoder.onnx", "--target", "tcu:pynqz1", "-o", cls.folder)
        cls.manifest = next(cls.folder.glob("*.segments.json"))
        cls.written = json.loads(cls.manifest.read_text())
        (cls.input,) = cls.written["inputs"]
        cls.values = np.random.default_rng(1).standard_normal(cls.input["shape"]).astype(np.float32)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def changed(self, change):
        """Writes a changed copy of the manifest next to it."""
        written = json.loads(self.manifest.read_text())
        change(written)
        path = self.folder / "changed.segments.json"
        path.write_text(json.dumps(written))
        return str(path)

    def test_results_are_those_of_npu_run(self):
        np.save(self.folder / "x.npy", self.values)
        npu("run", self.manifest, "--input", self.folder / "x.npy", "-o", self.folder / "y.npz")
        expected = read_npz(self.folder / "y.npz")
        model = SegmentedModel.read(str(self.manifest))
        first = next(part["manifest"] for part in self.written["parts"] if part["on"] == "chip")
        arch = Model.read(str(self.folder / first)).arch
        with Boards() as boards, contextlib.closing(
            SocketBoard(str(boards.socket("tcu:pynqz1@64")), arch, 8)
        ) as board:
            segment = on_tcu(Tcu(board))
            for _ in range(2):
                outputs = model.run({self.input["name"]: self.values}, segment)
                self.assertEqual(set(outputs), set(expected))
                for name, values in expected.items():
                    np.testing.assert_allclose(outputs[name], values, rtol=0, atol=STEPS / 256)

    def test_hooks_take_the_place_of_steps(self):
        model = SegmentedModel.read(str(self.manifest))
        shapes = {}
        for part in self.written["parts"]:
            shapes.update({value["name"]: value["shape"] for value in part.get("values", [])})
        shapes.update({value["name"]: value["shape"] for value in self.written["outputs"]})
        outputs = {part["manifest"]: part["outputs"] for part in self.written["parts"] if part["on"] == "chip"}
        for names in outputs.values():
            for name in names:
                shapes.setdefault(name, [])
        segment = lambda path, _: {name: np.zeros(shapes[name], np.float32) for name in outputs[pathlib.Path(path).name]}
        seen = []

        def hook(attributes, operands):
            seen.append(attributes)
            return [operands[0]]

        model.run({self.input["name"]: self.values}, segment, {"Softmax": hook})
        self.assertEqual(seen, [{"axis": 3, "axis_end": 4}] * 2)
        with self.assertRaises(ArgumentError):
            model.run({}, segment)

    def test_what_is_wrong_is_said(self):
        def step(written):
            return next(node for part in written["parts"] for node in part.get("nodes", []))

        def unknown(written):
            step(written)["op"] = {"Fourier": {}}

        model = SegmentedModel.read(self.changed(unknown))
        with self.assertRaisesRegex(UnsupportedError, "give a hook"):
            model.run({self.input["name"]: self.values}, lambda *_: {})
        for change in (
            lambda written: written.update(format="npukit.segments.2"),
            lambda written: written.pop("parts"),
            lambda written: written["sha256"].update({next(iter(written["sha256"])): "0" * 64}),
            lambda written: written["sha256"].update({"../x": "0" * 64}),
            lambda written: written["sha256"].clear(),
        ):
            with self.assertRaises(ManifestError):
                SegmentedModel.read(self.changed(change))


if __name__ == "__main__":
    unittest.main()
