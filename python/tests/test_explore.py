"""Exploration: the points do not depend on the executor, and none is lost."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import npukit as npu

SPACE = {
    "target": "tcu:ultra96v2",
    "where": ["accumulator_depth <= local_depth"],
    "minimize": ["milliseconds", "bram"],
    "parameters": {"array_size": {"powers_of_two": [4, 16]}, "local_depth": [64, 512, 4096], "accumulator_depth": [256, 1024]},
}


def figures(report):
    """Returns points without the parts that depend on the time."""
    return [{key: value for key, value in point.items() if key not in ("bound_milliseconds",)} for point in report.points]


@pytest.fixture(scope="module")
def wanted(network):
    """Returns all points, evaluated in this process."""
    return npu.explore(network["model"], SPACE, exhaustive=True)


def test_points_are_those_of_the_command(command, network, tmp_path, wanted):
    (tmp_path / "space.toml").write_text(npu.exploration.text_of(SPACE))
    arguments = ["explore", network["path"], "--space", tmp_path / "space.toml", "--exhaustive"]
    report = command(*arguments, "-o", tmp_path / "points.csv", "--svg", tmp_path / "points.svg")
    assert report["points"] == wanted.points and report["objectives"] == wanted.objectives
    assert (tmp_path / "points.csv").read_text() == wanted.to_csv()
    assert (tmp_path / "points.svg").read_text() == wanted.to_svg()
    assert wanted.to_html().startswith("<!DOCTYPE html>") and "npukit.report/1" in wanted.to_html()
    # The last name changes fastest. Of 18 instances, those with fewer accumulators than local memory.
    assert [point["index"] for point in wanted.points] == [1, 2, 4, 5, 7, 8, 11, 14, 17]


def test_targets_need_no_space(network):
    report = npu.explore(network["model"], targets=["tcu", npu.target("tcu:ultra96v2"), "opu:reference"])
    assert [point["target"] for point in report.points] == ["tcu:pynqz1", "tcu:ultra96v2", "opu:reference"]
    assert report.best("ms") == report.best("latency")
    space = {"target": "tcu:cmoda7", "parameters": {"array_size": [4, 8]}}
    replaced = npu.explore(network["model"], space, targets=["tcu:ultra96v2"], exhaustive=True)
    assert len(replaced.points) == 2
    assert all(point["target"].startswith("tcu:ultra96v2,") for point in replaced.points)


def test_points_are_real_compilations(network, wanted):
    for point in wanted.points[::3]:
        program = network["model"].compile(point["target"])
        assert point["cycles"] == program.time().cycles["hw"]
        assert point["models"][0]["instructions"] == program.report.instructions
    assert [point["pareto"] for point in wanted.points].count(True) == len(wanted.front) > 1
    best = min(point["milliseconds"] for point in wanted.points)
    assert wanted.best("latency")["milliseconds"] == best
    small = wanted.best("latency", "bram <= 8")
    assert small["area"]["bram"] <= 8 and small["milliseconds"] >= best
    files = wanted.files(small)
    assert json.loads(files["best.tarch"])["array_size"] == small["parameters"]["array_size"]
    assert any(name.endswith(".tprog") for name in files)
    with pytest.raises(npu.errors.UsageError, match="no point has this figure"):
        wanted.best("latency", "bram < 0")


def test_pruned_points_cannot_win(network, wanted):
    pruned = npu.explore(network["model"], SPACE)
    assert pruned.front == wanted.front
    by_index = {point["index"]: point for point in wanted.points}
    for point in pruned.pruned_points:
        winner = by_index[point["beaten_by"]]
        assert winner["milliseconds"] <= point["bound_milliseconds"] <= by_index[point["index"]]["milliseconds"]
        assert winner["area"]["bram"] <= point["area"]["bram"]
    for point in wanted.points:
        assert point["milliseconds"] > 0


def test_costs_are_figures(command, network, tmp_path):
    space = {"target": "opu", "parameters": {"macs_per_cycle": [256, 512]}, "minimize": ["total_milliseconds", "joules"]}
    (tmp_path / "space.toml").write_text(npu.exploration.text_of(space))
    found = npu.explore(network["model"], space, host=(5, 400e6), technology="horowitz-45nm", exhaustive=True)
    costs = ["--host", "5,400e6", "--technology", "horowitz-45nm", "--exhaustive"]
    wanted = command("explore", network["path"], "--space", tmp_path / "space.toml", *costs)
    assert found.points == wanted["points"]
    assert all(point["total_milliseconds"] > point["milliseconds"] and point["joules"] > 0 for point in found.points)
    unknown = npu.explore(network["model"], {**space, "minimize": ["milliseconds"]})
    assert not any("joules" in point for point in unknown.points)


def test_accuracy_on_samples(network):
    space = {"target": "tcu", "parameters": {"data_type": ["FP8BP4", "FP16BP8", "FP32BP16"]}, "minimize": ["relative_error"]}
    errors = [point["relative_error"] for point in npu.explore(network["model"], space, samples=network["samples"]).points]
    assert errors == sorted(errors, reverse=True) and errors[0] > errors[2]


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_the_same_points(network, wanted, kind):
    import multiprocessing

    more = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **more) as executor:
        found = npu.explore(network["model"], SPACE, executor=executor)
    assert figures(found) == figures(wanted)


def test_joblib(network, wanted):
    joblib = pytest.importorskip("joblib")
    found = npu.explore(network["model"], SPACE, executor=joblib.Parallel(n_jobs=2))
    assert figures(found) == figures(wanted)


def test_an_exploration_goes_on(network, wanted, tmp_path):
    file = tmp_path / "points.log"
    whole = npu.explore(network["model"], SPACE, exhaustive=True, resume=file)
    assert figures(whole) == figures(wanted) and whole.resumed == 0
    content = file.read_bytes()
    lines = content.splitlines(keepends=True)
    # The file ends within a line.
    file.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    again = npu.explore(network["model"], SPACE, exhaustive=True, resume=file)
    assert figures(again) == figures(wanted) and again.resumed == 3
    assert sorted(file.read_bytes().splitlines()) == sorted(content.splitlines())
    with ThreadPoolExecutor(2) as executor:
        known = npu.explore(network["model"], SPACE, exhaustive=True, resume=file, executor=executor)
    assert figures(known) == figures(wanted) and known.resumed == len(wanted.points)
    other = {**SPACE, "minimize": ["cycles"]}
    with pytest.raises(npu.Error, match="belongs to another exploration") as caught:
        npu.explore(network["model"], other, resume=file)
    assert caught.value.code == "other-exploration"


@pytest.mark.skipif(os.name != "posix", reason="kill")
def test_a_killed_command_loses_nothing(network, wanted, tmp_path):
    space, file = tmp_path / "space.toml", tmp_path / "points.log"
    space.write_text(npu.exploration.text_of(SPACE))
    from conftest import command_path

    arguments = [command_path(), "explore", network["path"], "--space", space, "--exhaustive", "--resume", file, "--json"]
    for delay in (0.05, 0.15, 0.3):
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["points"] == wanted.points
    indices = [json.loads(line)["index"] for line in file.read_text().splitlines()[1:]]
    assert len(indices) == len(set(indices)) == len(wanted.points)


def test_spaces_that_are_none_are_refused(network):
    for change, message in (
        ({"where": ["local_depth < 0"]}, "no instance is left of 18: `local_depth < 0` excludes the last ones"),
        ({"where": ["local_depth <"]}, "is not a condition"),
        ({"where": ["local_dept > 2"]}, "`local_dept` is neither a figure nor a parameter (did you mean `local_depth`"),
        ({"minimize": ["speed"]}, "unknown figure `speed`"),
        ({"parameters": {"array_size": []}}, "the list of values is empty"),
        ({"target": "gpu"}, "no program|unknown target"),
    ):
        try:
            report = npu.explore(network["model"], {**SPACE, **change})
        except npu.Error as error:
            assert message in str(error) or any(part in str(error) for part in message.split("|")), error
        else:
            assert any(part in " ".join(report.warnings) for part in message.split("|"))


def test_conditions_may_be_on_all_that_is_known(network, wanted):
    # Parameters that the space does not set are those of the instance.
    space = {**SPACE, "where": [*SPACE["where"], "accumulator_depth < dram0_depth", "milliseconds < 0.5"]}
    points = npu.explore(network["model"], space, exhaustive=True).points
    assert [point["feasible"] for point in points] == [point["milliseconds"] < 0.5 for point in wanted.points]
    with pytest.raises(npu.errors.UsageError, match="`dram0_dept` is neither a figure nor a parameter"):
        wanted.best("latency", "dram0_dept > 3")


def test_a_search_finds_the_front_of_a_small_space(network, wanted):
    pytest.importorskip("optuna")
    found = npu.search(network["model"], SPACE, 60, seed=1)
    assert 1 < len(found.points) <= len(wanted.points)
    known = {point["index"]: point for point in wanted.points}
    for point in found.points:
        assert {**point, "pareto": None} == {**known[point["index"]], "pareto": None}
    assert found.best("latency")["milliseconds"] == wanted.best("latency")["milliseconds"]
    again = npu.search(network["model"], SPACE, 60, seed=1)
    assert [point["index"] for point in again.points] == [point["index"] for point in found.points]


def test_objectives_that_nobody_knows_are_told(network):
    report = npu.explore(network["model"], {"target": "tcu", "minimize": ["relative_error"]})
    assert not report.front
    assert "`relative_error` is unknown for all points" in report.warnings[0]


def test_tables_and_pictures(network, wanted, tmp_path):
    pytest.importorskip("pandas")
    table = wanted.to_pandas()
    assert len(table) == len(wanted.points) and "parameters.array_size" in table and "area.bram" in table
    assert wanted.to_svg().count("<circle") == len(wanted.points)
    if pytest.importorskip("pyarrow"):
        import pandas

        wanted.to_parquet(tmp_path / "points.parquet")
        assert len(pandas.read_parquet(tmp_path / "points.parquet")) == len(wanted.points)


def test_one_row_per_point_and_network(network):
    pandas = pytest.importorskip("pandas")
    two = npu.explore([network["model"], npu.zoo("lenet5")], SPACE, exhaustive=True)
    table = two.to_pandas("models")
    assert list(table.columns[:2]) == ["index", "target"] and "models" in two.tables()
    assert len(table) == 2 * len(two.points) and table["model"].nunique() == 2
    for point in two.points:
        rows = table[table["index"] == point["index"]]
        assert rows["cycles"].sum() == point["cycles"] and (rows["area.bram"] == point["area"]["bram"]).all()
    # Without samples, errors are missing, which is a number in pandas.
    assert table["relative_error"].isna().all() and pandas.api.types.is_float_dtype(table["relative_error"])
    header = two.to_csv().splitlines()[0]
    assert f"{network['model'].name}:cycles" in header and "lenet5.onnx:milliseconds" in header


def test_points_that_are_nearly_equal_are_merged(network, wanted):
    merged = npu.explore(network["model"], SPACE, exhaustive=True, epsilon=0.9)
    assert 0 < len(merged.front) < len(wanted.front)
    exact = {point["index"] for point in wanted.front}
    kept = {point["index"] for point in merged.front}
    into = {point["index"]: point["merged_into"] for point in merged.points if "merged_into" in point}
    assert set(into) == exact - kept and set(into.values()) <= kept and merged.merged == len(into)
    for point in merged.points:
        if "merged_into" in point:
            other = next(one for one in merged.points if one["index"] == point["merged_into"])
            assert other["area"]["dsp"] <= point["area"]["dsp"]
            assert other["milliseconds"] <= 1.9 * point["milliseconds"] and other["area"]["bram"] <= 1.9 * point["area"]["bram"]
    # Points that a bound rules out are not nearly equal to the front.
    assert npu.explore(network["model"], SPACE, epsilon=0.9).front == merged.front
    with pytest.raises(npu.Error, match="epsilon"):
        npu.explore(network["model"], SPACE, epsilon=1.0)


def test_plots_have_colors_labels_and_a_short_table(network, wanted):
    plain, colored = wanted.to_svg(), wanted.to_svg(color_by="array_size", label_by="local_depth")
    assert "array_size:" in colored and "array_size:" not in plain
    depths = {str(point["parameters"]["local_depth"]) for point in wanted.front}
    assert any(f'text-anchor="start">{depth}</text>' in colored for depth in depths)
    assert '"color_by":"array_size"' in wanted.to_html(color_by="array_size")
    with pytest.raises(npu.Error, match="did you mean `array_size`"):
        wanted.to_svg(color_by="array_sise")
    page = wanted._repr_html_()
    assert page.count("<svg") == 1 and "{&quot;" not in page
    assert page.count("<tr>") == 1 + len(wanted.front)


def test_ray_with_a_worker_killed(network, wanted, tmp_path):
    """Kills one of two workers while it works: the points are the same, and none is lost."""
    ray = pytest.importorskip("ray")
    script = tmp_path / "explore.py"
    script.write_text(
        """if True:
        import json, os, signal, sys, threading, time
        import ray
        import npukit as npu

        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
        model, space = npu.load(sys.argv[1]), json.loads(sys.argv[2])

        def kill():
            for _ in range(200):
                time.sleep(0.1)
                for folder in os.listdir("/proc"):
                    try:
                        line = open(f"/proc/{folder}/cmdline").read()
                        if line.startswith("ray::evaluate"):
                            os.kill(int(folder), signal.SIGKILL)
                            print("killed", file=sys.stderr)
                            return
                    except OSError:
                        continue

        if sys.argv[3] == "kill":
            threading.Thread(target=kill, daemon=True).start()
        print(json.dumps(npu.explore(model, space, executor="ray").to_dict()))
        ray.shutdown()
        """
    )
    arguments = [sys.executable, script, network["path"], json.dumps(SPACE), "kill"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "killed" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["points"] == wanted.points


def test_halving_compiles_the_first_layers_first(network, tmp_path):
    model = network["model"]
    everything = npu.explore(model, SPACE, exhaustive=True)
    file = tmp_path / "points.log"
    halved = npu.explore(model, SPACE, exhaustive=True, halve=True, resume=file)
    assert halved.rounds and halved.dropped == len(halved.dropped_points) > 0
    assert len(halved.points) + halved.dropped == len(everything.points)
    by_index = {point["index"]: point for point in everything.points}
    for point in halved.points:
        assert point["cycles"] == by_index[point["index"]]["cycles"]
    assert all("part" in point for point in halved.dropped_points)
    again = npu.explore(model, SPACE, exhaustive=True, halve=True, resume=file)
    assert (again.layers, again.points) == (0, halved.points)
    # An executor reports whole points.
    with ThreadPoolExecutor(2) as executor:
        whole = npu.explore(model, SPACE, exhaustive=True, resume=file, executor=executor)
        assert whole.points == everything.points
        with pytest.raises(ValueError, match="halve"):
            npu.explore(model, SPACE, halve=True, executor=executor)
