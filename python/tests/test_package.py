"""Tests features of the package that the command does not have."""

import importlib.util
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import npukit as npu
from npukit import keywords


def test_one_array_or_all(network):
    program, samples, name = network["model"].compile("tcu"), network["samples"], network["name"]
    alone = program.run(samples)
    ((output, named),) = program.run({name: samples}).items()
    np.testing.assert_array_equal(alone, named)
    assert list(program.outputs) == [output]
    assert alone.shape[0] == 3 * program.outputs[output][0]
    assert network["model"].evaluate(samples).shape == alone.shape


def test_arrays_of_any_kind(network):
    program, samples = network["model"].compile("tcu"), network["samples"]
    wanted = program.run(samples)
    for array in (samples.astype(np.float64), np.asfortranarray(samples), samples[:, ::1], samples.tolist()):
        np.testing.assert_array_equal(program.run(array), wanted)
    reversed_ = program.run(samples[::-1])
    np.testing.assert_array_equal(reversed_, wanted[::-1])
    halves = np.round(samples * 4) / 4
    np.testing.assert_array_equal(program.run(halves.astype(np.float16)), program.run(halves))
    with pytest.raises(TypeError, match="complex"):
        program.run(samples.astype(np.complex64))


def test_integers_are_the_machines(network):
    program, samples = network["model"].compile("tcu"), network["samples"]
    integers, values = program.run(samples, integers=True), program.run(samples)
    assert integers.dtype == np.int32
    np.testing.assert_array_equal(integers / 256, values)


def test_preprocessing(network):
    program, samples = network["model"].compile("tcu"), network["samples"]
    raw = np.round(samples * 64)
    prepared = program.run(raw, preprocess={"scale": 1 / 64})
    np.testing.assert_array_equal(prepared, program.run(raw / 64))
    with pytest.raises(TypeError, match="scale, mean, std, resize, crop, samples, not factor"):
        program.run(raw, preprocess={"factor": 2})


def test_images_are_resized_and_cropped(command, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(2).integers(0, 256, (2, 40, 60, 3), dtype=np.uint8)
    (tmp_path / "photos").mkdir()
    for number, one in enumerate(pixels):
        image.fromarray(one).save(tmp_path / "photos" / f"{number}.png")
    model = npu.zoo("resnet20v2")
    preprocess = {"scale": 1 / 255, "resize": (48, 32), "crop": True}
    program = model.compile("tcu:ultra96v2")
    found = program.compare(tmp_path / "photos", preprocess=preprocess)
    (tmp_path / "model.onnx").write_bytes(npu._npukit.zoo("resnet20v2", 0)[1])
    run = ["run", tmp_path / "model.onnx", "--target", "tcu:ultra96v2", "--input", tmp_path / "photos", "--scale", "1/255"]
    wanted = command(*run, "--resize", "48x32", "--crop")
    assert (found.samples, found.snr_db, found.saturations) == (2, wanted["snr_db"], wanted["saturations"])
    # Pillow's bilinear filter gives the same pixels.
    resized = [np.asarray(image.fromarray(one).resize((48, 32), image.BILINEAR))[:, 8:40] for one in pixels]
    array = np.stack(resized).transpose(0, 3, 1, 2).astype(np.float32)
    np.testing.assert_array_equal(
        model.evaluate(str(tmp_path / "photos"), preprocess=preprocess), model.evaluate(array, preprocess={"scale": 1 / 255})
    )
    first = program.run(tmp_path / "photos", preprocess={**preprocess, "samples": 1})
    np.testing.assert_array_equal(first, program.run(array[:1], preprocess={"scale": 1 / 255}))
    with pytest.raises(npu.Error, match="60 x 40 pixels") as caught:
        program.run(tmp_path / "photos")
    assert 'preprocess={"resize": (32, 32)}' in caught.value.diagnostics[0]["help"]


def test_the_operator_resize_has_a_mode():
    with pytest.raises(ValueError, match="asymmetric, half-pixel"):
        npu.load("model.onnx", resize_mode="bilinear")


def test_labels_give_accuracy(network, tmp_path):
    program, samples = network["model"].compile("tcu"), network["samples"]
    labels = program.run(samples).argmax(axis=-1).reshape(-1)
    labels[0] += 1 if labels[0] == 0 else -1
    found = program.compare(samples, labels=labels).accuracy
    assert found["labels"] == len(labels) and found["top1"] == pytest.approx(1 - 1 / len(labels))
    (tmp_path / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
    assert program.compare(samples, labels=tmp_path / "labels.txt").accuracy == found
    assert '"top1":' in program.to_html(samples, labels=labels) and '"top1":' not in program.to_html(samples)


def test_targets_are_values():
    chip = npu.target("tcu", array_size=16)
    assert chip.spec == "tcu:pynqz1,array_size=16"
    assert chip == npu.target("tcu:pynqz1", array_size=np.int64(16)) and len({chip, npu.target(chip)}) == 1
    assert chip.changed(local_depth=1024).parameters["local_depth"] == 1024
    assert npu.target("drra:3x1", extensions=True).parameters["extensions"] is True
    with pytest.raises(npu.errors.UsageError, match=r"unknown parameter `arraysize` \(did you mean `array_size`"):
        npu.target("tcu", arraysize=8)
    with pytest.raises(npu.errors.UsageError, match="an integer from 1 to 1024"):
        npu.target("tcu", array_size=0)


def test_refusals_name_the_nodes(network):
    model = npu.load(network["path"], outputs=list(network["model"].outputs))
    tiny = npu.target("tcu:pynqz1", local_depth=1)
    problems = model.check(tiny, compile=True)
    assert problems and len(problems) == len(list(problems)) > 0
    with pytest.raises(npu.Error) as caught:
        model.compile(tiny)
    assert caught.value.diagnostics
    assert not model.check("tcu:pynqz1")


def test_what_is_not_proved_is_not_compiled():
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/filetests/models/softmax.onnx"
    model = npu.load(path)
    assert not model.compile("tcu:pynqz1+lut").verify()
    with pytest.raises(npu.errors.NotProved) as caught:
        model.compile("tcu:pynqz1+lut", verify=True)
    assert caught.value.code == "not-proved" and caught.value.report["proved"] is False


def test_wrong_arguments_are_told(network):
    model = network["model"]
    for call, messages in (
        (lambda: model.compile("tcu", rescale="often"), "auto, always, never"),
        (lambda: model.compile("opu", quantize="best"), "min-max"),
        (lambda: model.compile("tcu", strateg="x"), "unknown option"),
        (lambda: model.compile("tcu").time(meaning="none"), "agreed, sequential, hardware"),
        (lambda: model.compile("tcu").run(np.zeros((2, 2), np.float32)), "has shape"),
        (lambda: model.compile("tcu").compare(network["samples"], max_error="often"), "numbers of at least 0"),
    ):
        with pytest.raises(ValueError, match=messages):
            call()
    with pytest.raises(OSError, match="there is no such file"):
        npu.load("no-such-file.onnx")
    with pytest.raises(npu.errors.ProgramError, match="text:1:1.*there is no instruction|no instruction") as caught:
        npu.assemble("Foo\nBar\n", "tcu")
    assert [diagnostic["line"] for diagnostic in caught.value.diagnostics] == [1, 2]


def test_reports_are_tables(network):
    pandas = pytest.importorskip("pandas")
    time = network["model"].compile("tcu").time()
    layers = time.to_pandas()
    assert isinstance(layers, pandas.DataFrame) and len(layers) == len(time.layers)
    assert set(time.tables()) >= {"layers", "kinds"} and layers.columns[0] == "name"
    with pytest.raises(KeyError, match="available"):
        time.to_pandas("nothing")
    with pytest.raises(AttributeError, match="has no key 'nothing'"):
        time.nothing
    assert json.loads(time.to_json()) == time.to_dict()
    page = time._repr_html_()
    assert page.count("<table>") >= 3 and "<script" not in page and "{&quot;" not in page
    assert "cycles" in repr(time)


def test_machines_are_stepped():
    machine = npu.machine("tcu:ultra96v2", "loadweights local[2], 1\nnoop\n")
    assert machine.next == 0 and set(machine) >= {"dram0", "local", "acc"}
    local = machine["local"]
    local[2:4] = [[7] * local.lanes, [-1] * local.lanes]
    assert local[1:5].tolist() == [[0] * 16, [7] * 16, [-1] * 16, [0] * 16]
    assert local[-1].tolist() == [0] * 16 and local[3].dtype == np.int32
    assert machine.step() == 1 and machine.next == 1
    assert machine.run() == 1 and machine.next is None and machine.step() == 0
    with pytest.raises(IndexError):
        local[len(local)]
    with pytest.raises(npu.Error):
        local[0] = 1 << 20


def test_progress_is_told(network):
    messages = []
    model = npu.zoo("resnet20v2")
    model.compile("tcu:artya7100t", progress=lambda name, done, total: messages.append((name, done, total)))
    assert messages and all(isinstance(name, str) and done >= 0 for name, done, _ in messages)
    with pytest.raises(ZeroDivisionError):
        model.check("tcu:artya7100t", compile=True, progress=lambda *_: 1 // 0)


def test_other_threads_go_on():
    model, ticks, is_done = npu.zoo("resnet20v2"), [], threading.Event()

    def tick():
        while not is_done.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.monotonic()
    model.compile("tcu:pynqz1")
    seconds = time.monotonic() - begin
    is_done.set()
    ticker.join()
    assert len(ticks) >= 0.1 * seconds / 0.005


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_control_c_ends_long_work():
    script = """if True:
        import signal, sys, time
        import npukit as npu
        signal.signal(signal.SIGINT, signal.default_int_handler)
        model = npu.zoo("resnet50v2")
        print("begins", flush=True)
        try:
            model.compile("tcu:artya7100t")
        except KeyboardInterrupt:
            print("ended", flush=True)
            # Later work must not be affected.
            print(npu.zoo("mlp").compile("tcu").report.instructions > 0, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ended\n"
    assert time.monotonic() - sent < 1
    assert process.stdout.readline() == "True\n"
    assert process.wait() == 0


def test_files_are_whole_or_not_there(network, tmp_path):
    program = network["model"].compile("tcu")
    written = program.save(tmp_path / "new" / "folder")
    assert [path.name for path in written] == list(program.files())
    assert sorted(path.name for path in written[0].parent.iterdir()) == sorted(program.files())
    files = program.files()
    read = npu.read(written[0].name, files=files)
    np.testing.assert_array_equal(read.run(network["samples"]), program.run(network["samples"]))


def test_torch(network):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10))
    x = torch.randn(1, 3, 8, 8)
    model = npu.from_torch(module, x)
    np.testing.assert_allclose(model.evaluate(x.numpy()), module(x).detach().numpy(), atol=1e-5)
    assert model.compile("tcu").compare(x.numpy()).relative_error < 0.05


def test_keras():
    keras = pytest.importorskip("tensorflow").keras
    model = keras.Sequential([keras.layers.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(5)])
    x = np.random.default_rng(0).normal(size=(1, 8, 8, 3)).astype(np.float32)
    found = npu.from_keras(model).evaluate(x)
    np.testing.assert_allclose(found, model(x).numpy(), atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_missing_packages_are_named():
    with pytest.raises(ImportError, match="from_torch needs torch: install it with `pip install torch"):
        npu.from_torch(None, None)


def test_stubs_are_there():
    folder = pathlib.Path(npu.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_npukit.pyi").exists()


def test_errors_name_keywords_and_not_options(network):
    spoken = keywords.spoken
    for messages, wanted in [
        ("give typical inputs with --calibrate", "give typical inputs with `calibrate=`"),
        ("`--rescale never` stores values", '`rescale="never"` stores values'),
        ("`--dim N=8` or `--input-shape x=1,3,8`", '`sizes={"N": 8}` or `shapes={"x": (1, 3, 8)}`'),
        ("--no-limit evaluates it", "`unlimited=True` evaluates it"),
        ("`--option norms=host`, or another --strategy", '`norms="host"`, or another `strategy=`'),
        ("`--resize-mode half-pixel`; see `npu run --compare`", '`resize_mode="half-pixel"`; see `npu run --compare`'),
        ("counts them with `--host 5,400e6`, or --technology", "counts them with `host=(5, 400e6)`, or `technology=`"),
        ("see `npu compile --emit hir`", "see `npu compile --emit hir`"),
    ]:
        assert spoken({"error": messages, "causes": [messages], "file": messages}) == {"error": wanted, "causes": [wanted], "file": messages}
    with pytest.raises(npu.Error, match='^`rescale="always"` needs `calibrate=` with') as caught:
        network["model"].compile("tcu", rescale="always")
    assert "--" not in str(caught.value), str(caught.value)
    verdict = network["model"].check("tcu", compile=True).verdict
    assert "give typical inputs with `calibrate=`" in verdict["saturation"]["reason"]


def test_keywords_of_messages_are_those_of_the_package():
    functions = [npu.load, npu.Model.compile, npu.Model.evaluate, npu.Program.run, npu.Program.compare, npu.Program.verify,
                 npu.Program.time, npu.diff, npu.explore, npu.Exploration.to_svg, npu.language_model]
    known = {"strategy"} | {name for function in functions for name in inspect.signature(function).parameters}
    named = {keyword for keyword, _, _ in keywords._KEYWORDS.values()}
    assert named <= known, named - known


# Options of the command that have no keyword: of files, of its output, of handwritten programs and of `npu embed`.
OF_THE_COMMAND = {
    "board", "bounds", "context", "cycles", "dump", "emit", "eval-set", "exe", "feedback", "from-samples", "ids", "json", "keep", "labels", "listing",
    "max-cycles", "max-instructions", "mem", "min-accuracy", "model", "motion", "output", "range", "saved-model",
    "shapes-only", "strict", "strict-draft", "svg", "trace", "trace-range", "truncate",
}  # fmt: skip
CRATES = pathlib.Path(__file__).parents[2] / "crates"


@pytest.mark.skipif(not CRATES.exists(), reason="the sources are not here")
def test_options_of_messages_have_a_keyword_or_are_of_the_command():
    folders = [CRATES / "npukit/src", CRATES / "target/src", CRATES / "import/src", *CRATES.parent.glob("targets/*/src")]
    named = set()
    # Both have options of other programs.
    others = ("build.rs", "ecp5.rs")
    for path in (path for folder in folders for path in folder.rglob("*.rs") if path.name not in others):
        lines = path.read_text().split("#[cfg(test)]")[0].splitlines()
        for line in (line for line in lines if not line.lstrip().startswith("//")):
            named |= {quoted or bare for quoted, _, bare in keywords._OPTION.findall(line)}
    unknown = named - {""} - keywords._KEYWORDS.keys() - OF_THE_COMMAND - {"option"}
    assert len(named) > 30 and not unknown, unknown
