"""Compares the figures of every verb with the command."""

import json

import numpy as np
import pytest

import npukit as npu

TARGETS = ["tcu:ultra96v2", "tcu:ultra96v2,array_size=8,local_depth=4096", "opu", "pccx", "drra:3x2"]
# Keys that depend on the time, and on the files that the command writes.
MOMENT = {"schema", "seconds", "artifacts", "timings", "phases"}


def figures(report):
    """Returns a report without the parts that vary between calls."""
    report = report.to_dict() if isinstance(report, npu.Report) else report
    return {key: value for key, value in report.items() if key not in MOMENT}


def plain(text):
    """Returns a report without file names, which Python's arrays do not have."""
    return json.loads(json.dumps(text).replace(".npy", ""))


@pytest.mark.parametrize("target", TARGETS)
def test_check(command, network, target):
    for options, arguments in (({}, []), ({"compile": True}, ["--compile"])):
        found = network["model"].check(target, **options)
        assert figures(found) == figures(command("check", network["path"], "--target", target, *arguments))


@pytest.mark.parametrize("target", TARGETS)
def test_compile_run_time_and_lint(command, network, target, tmp_path):
    program = network["model"].compile(target)
    report = command("compile", network["path"], "--target", target, "-o", tmp_path)
    assert figures(program.report) == figures(report)
    for name, content in program.files().items():
        assert (tmp_path / name).read_bytes() == content, name

    # `npu run` of a model may choose scales by its own inputs; a compiled program keeps those of its compilation.
    program = network["model"].compile(target, calibrate=network["samples"])
    calibrate = ["--calibrate", network["file"]]
    found = program.compare(network["samples"])
    wanted = command("run", network["path"], "--target", target, "--input", network["file"], *calibrate, "--output",
                     tmp_path / "y.npz")
    # The notation of a calibration refers to files.
    drop = lambda report: {key: value for key, value in figures(report).items() if key != "warnings"}
    assert drop(found) == drop(wanted)
    with np.load(tmp_path / "y.npz") as arrays:
        assert set(arrays) == set(found.arrays)
        for name in arrays:
            assert arrays[name].dtype == found.arrays[name].dtype
            np.testing.assert_array_equal(arrays[name], found.arrays[name])

    assert figures(program.time()) == figures(command("time", network["path"], "--target", target, *calibrate))
    manifest = program.save(tmp_path / "saved")[0]
    read = npu.read(manifest)
    np.testing.assert_array_equal(read.run(network["samples"]), program.run(network["samples"]))
    assert figures(read.time())["cycles"] == figures(program.time())["cycles"]
    assert figures(program.lint())["findings"] == figures(command("lint", manifest))["findings"]


def test_calibration_and_options(command, network, tmp_path):
    program = network["model"].compile("tcu", calibrate=network["samples"], rescale="always", strategy="local-vars")
    options = ["--calibrate", network["file"], "--rescale", "always", "--option", "strategy=local-vars"]
    report = command("compile", network["path"], "--target", "tcu", *options, "-o", tmp_path)
    assert figures(program.report) == figures(report)
    assert program.report.rescaling["applied"]
    clocked = command("time", network["path"], "--target", "tcu", *options, "--option", "clock-mhz=75")
    assert figures(program.time(clock=75)) == figures(clocked)


def test_costs(command, tmp_path):
    """A table of a file, and the host's time of a network with host steps."""
    (tmp_path / "model.onnx").write_bytes(npu._npukit.zoo("decoder", 0)[1])
    text = "\n".join([
        'name = "mine"', 'source = "a test"', '[mac]', 'int16 = { pj = 0.5, source = "a test" }', '[memory]',
        'dram = { pj_per_byte = 100, source = "a test" }', 'sram = [{ bytes = 1048576, pj_per_byte = 2, source = "a test" }]',
    ])
    (tmp_path / "mine.toml").write_text(text)
    program = npu.load(tmp_path / "model.onnx").compile("tcu:zcu104")
    arguments = ["time", tmp_path / "model.onnx", "--target", "tcu:zcu104", "--host", "5,400e6", "--technology"]
    for technology in ("horowitz-45nm", tmp_path / "mine.toml"):
        found = program.time(host=(5, 400e6), technology=technology)
        assert figures(found) == figures(command(*arguments, technology))
        assert found.host["latency_ms"] > found.latency_ms and found.energy["joules"] > 0
    page = program.to_html(host=(5, 400e6), technology="horowitz-45nm")
    data = json.loads(page.split('<script id="data" type="application/json">')[1].split("</script>")[0])
    assert data["runs"][0]["time"]["energy"]["joules"] > 0
    plain = program.time()
    assert not {"host", "energy"} & plain.to_dict().keys()
    for host in ((-1, 400e6), (5, 0), (float("nan"), 1)):
        with pytest.raises(ValueError, match="bytes per second above 0"):
            program.time(host=host)
    with pytest.raises(npu.errors.UsageError, match="horowitz-45nm"):
        program.time(technology="horowitz")
    with pytest.raises(OSError, match="there is no such file"):
        program.time(technology=tmp_path / "absent.toml")


def test_layers(command, network):
    found = network["model"].compile("tcu").compare(network["samples"], layers=True, max_error="50%")
    arguments = ["--target", "tcu", "--input", network["file"], "--compare", "--max-error", "50%"]
    assert found["layer_compare"] == command("run", network["path"], *arguments)["layer_compare"]


def test_eval(command, network, tmp_path):
    report, arrays = network["model"].evaluation(network["samples"])
    wanted = command("eval", network["path"], "--input", network["file"], "--output", tmp_path / "y.npz")
    assert figures(report) == figures(wanted)
    with np.load(tmp_path / "y.npz") as written:
        for name in written:
            np.testing.assert_array_equal(written[name], arrays[name])


def test_verify(command, network, tmp_path):
    program = network["model"].compile("tcu", verify=True)
    wanted = command("compile", network["path"], "--target", "tcu", "--verify", "-o", tmp_path)
    assert program.report.verification["proved"]
    for name, content in program.files().items():
        assert (tmp_path / name).read_bytes() == content, name
    manifest, certificate = wanted["artifacts"][0], wanted["artifacts"][-1]
    assert figures(program.verify()) == figures(command("verify", network["path"], "--target", "tcu"))

    read = npu.read(manifest)
    found = read.verify(network["model"], certificate=certificate, seeds=[7])
    arguments = ["--artifact", manifest, "--certificate", certificate, "--seed", "7"]
    assert figures(found) == figures(command("verify", network["path"], *arguments))
    assert found and found.seeds == [1, 2, 7] and found.certificate["status"] == "holds"
    with pytest.raises(npu.Error) as caught:
        read.verify(npu.zoo("mlp", 4), certificate=certificate)
    assert caught.value.code == "invalid-certificate"
    with pytest.raises(ValueError, match="against its model"):
        read.verify()
    with pytest.raises(ValueError, match="has its model"):
        program.verify(network["model"])


def test_trace(command, network, tmp_path):
    program = network["model"].compile("tcu")
    manifest = program.save(tmp_path)[0]
    of_artifact = npu.read(manifest).trace(network["samples"], model=network["model"])
    for found, arguments in (
        (network["model"].trace(network["samples"]), [network["path"]]),
        (program.trace(network["samples"]), [network["path"], "--target", "tcu"]),
        (of_artifact, [manifest, "--model", network["path"]]),
    ):
        wanted = command("trace", *arguments, "--input", network["file"], "-o", tmp_path / "t.npz")
        assert figures(found)["tensors"] == figures(wanted)["tensors"]
        with np.load(tmp_path / "t.npz") as arrays:
            assert len(arrays) == len(found.arrays)
            for tensor in found.tensors:
                np.testing.assert_array_equal(arrays[tensor.get("member", tensor["name"])], found.arrays[tensor["name"]])


def test_diff(command, network, tmp_path):
    model, samples = network["model"], network["samples"]
    program = model.compile("tcu")
    found = npu.diff(model, program, samples)
    wanted = command("diff", network["path"], f"{network['path']}@tcu", "--input", network["file"])
    assert figures(found) == figures(wanted)
    assert found and "tensors" in found.tables()

    trace = program.trace(samples)
    assert npu.diff(trace, dict(trace.arrays)).first_difference is None
    name = trace.tensors[-1]["name"]
    changed = {**trace.arrays, name: trace.arrays[name] + 1}
    parted = npu.diff(trace, changed)
    assert not parted and parted.first_difference["tensor"] == name
    other = model.compile("tcu", strategy="local-vars")
    with pytest.raises(ValueError, match="read and compiled with the same settings"):
        npu.diff(program, other, samples)


def test_lists(command):
    assert figures(npu.targets()) == figures(command("targets"))
    assert figures(npu.zoo_names()) == figures(command("zoo"))
    chip = npu.target("opu", macs_per_cycle=512)
    wanted = {entry["name"]: entry["value"] for entry in command("targets", chip.spec)["parameters"]}
    assert chip.parameters == wanted
    assert chip.parameters["timing.macs_per_cycle"] == 512


def test_isa(command):
    for target in ("tcu", "opu", "pccx", "drra"):
        assert figures(npu.target(target).isa()) == figures(command("isa", target))


def test_assembly(command, tmp_path):
    text = "matmul local[0], acc[0], 3\nnoop\n"
    (tmp_path / "a.tasm").write_text(text)
    words = npu.assemble(text, "tcu:ultra96v2")
    report = command("asm", tmp_path / "a.tasm", "--target", "tcu:ultra96v2", "-o", tmp_path / "a.tprog")
    assert words == (tmp_path / "a.tprog").read_bytes()
    assert words.report.instructions == report["instructions"] == 2
    listing = npu.disassemble(words, "tcu:ultra96v2")
    assert npu.assemble(listing, "tcu:ultra96v2") == words
    assert npu.assemble(tmp_path / "a.tasm", "tcu:ultra96v2") == words


def test_errors_are_those_of_the_command(command, network, tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"\x0a\xff\xff")
    with pytest.raises(npu.errors.ModelError) as caught:
        npu.load(tmp_path / "bad.onnx")
    wanted = command("eval", tmp_path / "bad.onnx", status=1)
    assert caught.value.diagnostics == wanted["diagnostics"]
    assert caught.value.message == wanted["error"]
    assert caught.value.causes == wanted["causes"]
    with pytest.raises(npu.errors.UsageError) as caught:
        npu.target("tcu:ultra96v2", array_size=5000)
    wanted = command("targets", "tcu:ultra96v2,array_size=5000", status=2)
    assert caught.value.diagnostics == wanted["diagnostics"]


@pytest.mark.parametrize("target", TARGETS)
def test_pages_have_what_the_command_says(command, network, target, tmp_path):
    program = network["model"].compile(target, calibrate=network["samples"])
    report = command("report", network["path"], "--target", target, "--input", network["file"], "--calibrate",
                     network["file"], "-o", tmp_path / "r.html")
    page = program.to_html(network["samples"])
    for text in (page, (tmp_path / "r.html").read_text()):
        data = json.loads(text.split('<script id="data" type="application/json">')[1].split("</script>")[0])
        assert data["schema"] == report["schema"] == "npukit.report/1"
        [found], [wanted] = data["runs"], report["runs"]
        for part in ("time", "timeline", "memories", "graph", "distributions", "parameters", "format", "check"):
            assert found[part] == wanted[part], part
        assert found["run"]["layer_compare"] == wanted["run"]["layer_compare"]
    beside = program.to_html(against=tmp_path / "r.html")
    assert len(json.loads(beside.split('application/json">')[1].split("</script>")[0])["runs"]) == 2
    with pytest.raises(npu.Error, match="is not a report"):
        program.to_html(against=network["path"])
