"""Exploration of many instances for one or more networks, on one computer or several."""

from __future__ import annotations

import html
import json
import pathlib
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _npukit, arguments
from .arguments import Arrays, Host, Path, Values
from .frameworks import needed
from .models import Model
from .progress import Bar, Progress
from .reports import Report, frame, html_table
from .targets import Target

if TYPE_CHECKING:
    import pandas

# Evaluates the instances of a plan; results are in any order.
Spread = Callable[["Job", list[str]], Iterator[str]]


class Exploration(Report):
    """Result of an exploration, with the keys of `npu explore --json`: `points`, `pruned`, `seconds`."""

    def __init__(self, native: _npukit.Exploration, facts: dict[str, Any]):
        super().__init__("explore", facts)
        self._native = native
        self._points = [json.dumps(point) for point in self.points]

    @property
    def front(self) -> list[dict[str, Any]]:
        """Returns the Pareto-optimal points."""
        return [point for point in self.points if point["pareto"]]

    def best(self, figure: str, where: str | None = None) -> dict[str, Any]:
        """Returns the best point by a figure (for example `latency`) that satisfies a condition (for example `bram <= 140`)."""
        point: dict[str, Any] = json.loads(self._native.best(self._points, figure, where))
        return point

    def files(self, point: Mapping[str, Any]) -> dict[str, bytes]:
        """Returns the architecture file of a point's instance, and its programs."""
        return dict(self._native.files(json.dumps(dict(point))))

    def to_csv(self) -> str:
        """Returns all points as CSV."""
        return self._native.csv(self._points)

    def to_html(self, color_by: str | None = None, label_by: str | None = None) -> str:
        """Returns an HTML page for selecting points. It is one file, which needs no network connection.

        `color_by` and `label_by` are figures or parameters, as for `to_svg`.
        """
        return self._native.page(self._points, color_by, label_by)

    def to_svg(self, color_by: str | None = None, label_by: str | None = None) -> str:
        """Returns a plot of the points by the first two objectives, as SVG.

        `color_by` is the figure or parameter that colors points, and `label_by` the one that labels Pareto-optimal
        points, by default with their `index`.
        """
        return self._native.svg(self._points, color_by, label_by)

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Returns a table, by default `points`, with one row per point. `models` has one row per point and network."""
        if table == "models":
            return frame([row for point in self.points for row in models_of(point)])
        return super().to_pandas(table)

    def tables(self) -> list[str]:
        """Returns the names of the report's tables."""
        return ["models", *super().tables()]

    def to_parquet(self, path: Path) -> None:
        """Writes all points as Parquet; needs pandas and pyarrow."""
        self.to_pandas("points").drop(columns=["models"]).to_parquet(arguments.path(path))

    def _repr_html_(self) -> str:
        front, names = self.front, [words.split()[-1] for words in self.objectives]
        rows = [{"index": point["index"], **{name: figure(point, name) for name in names}, **point["parameters"]} for point in front]
        varying = [key for key in (rows or [{}])[0] if key in ("index", *names) or len({row[key] for row in rows}) > 1]
        short = [{key: row[key] for key in varying} for row in rows]
        merged = f", and {self.merged} that are nearly equal" if self.merged else ""
        report = f"{len(self.points)} points, {len(front)} on the front{merged}: {', '.join(self.objectives)}"
        return f"<div style=\"max-width: 640px\">{self.to_svg()}</div><p>{html.escape(report)}</p>{html_table('front', short)}"


def figure(point: Mapping[str, Any], name: str) -> Any:
    """Returns a figure of a point, such as `milliseconds` or `dsp`."""
    return point[name] if name in point else (point["area"] or {}).get(name)


def models_of(point: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one row per network of a point: the point's parameters and area, and the network's figures. A point without a
    program has one row."""
    about = {"index": point["index"], "target": point["target"], "pareto": point["pareto"], "feasible": point["feasible"]}
    for model in point["models"] or [{"model": None}]:
        yield {**about, **model, "parameters": point["parameters"], "area": point["area"] or {}}


class Job:
    """An exploration that can be pickled for other processes. Each makes it once and evaluates single points."""

    def __init__(self, exploring: dict[str, Any], held: dict[str, bytes]):
        self._content = pickle.dumps((exploring, held))
        self._native: _npukit.Exploration | None = None

    def __getstate__(self) -> bytes:
        return self._content

    def __setstate__(self, content: bytes) -> None:
        self._content, self._native = content, None

    @property
    def native(self) -> _npukit.Exploration:
        """The native exploration, made on first use in each process."""
        if self._native is None:
            self._native = MADE.get(self._content)
        if self._native is None:
            exploring, held = pickle.loads(self._content)
            self._native = _npukit.Exploration(exploring, held)
            # A process works on one exploration at a time.
            MADE.clear()
            MADE[self._content] = self._native
        return self._native


# The last exploration of this process.
MADE: dict[bytes, _npukit.Exploration] = {}


def evaluate(job: Job, planned: str) -> str:
    """Evaluates an instance of the plan; called by executors."""
    return job.native.evaluate(planned)


def explore(
    models: Model | Sequence[Model],
    space: Mapping[str, Any] | Path | str | None = None,
    *,
    targets: Sequence[str | Target] | None = None,
    samples: Arrays | None = None,
    calibrate: Arrays | None = None,
    preprocess: Values | None = None,
    rescale: str | None = None,
    quantize: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    epsilon: float | None = None,
    exhaustive: bool = False,
    halve: bool = False,
    host: Host | None = None,
    technology: Path | None = None,
    executor: Any = None,
    resume: Path | None = None,
    progress: Progress = None,
) -> Exploration:
    """Compiles models for every instance of a space, and finds the Pareto front.

    `space` is a mapping with the keys of a space file, its path, or its text: `target`, `parameters`, `options`,
    `where`, `minimize`, `maximize`. `targets` replace those of the space; without a space, the models are compiled for
    each of them as it is. `samples` are run with every program and compared with float. `sample` is a number
    of random points to try instead of all. Points that are at most the share `epsilon` worse than a Pareto-optimal one in
    every objective count as equal to it: the smallest machine of them is on the front. `host` and `technology` are as for
    `Program.time`: the figures `total_milliseconds`, with the host's time, and `joules` are known then.

    `executor` distributes points: `"ray"` to a Ray cluster (after `ray.init(address=...)`, or a local one), an executor
    of `concurrent.futures`, or a `joblib.Parallel`. Without one, points are distributed to the cores of this computer,
    and points that a lower bound rules out are skipped. `halve` compiles the first layers for all points, and all
    layers for the best ones, on the cores of this computer. `resume` names a file to which each finished point is
    added; an exploration continues from it.
    """
    if halve and executor is not None:
        raise ValueError("`halve` does not work with an executor: leave out one of the two")
    begin = time.monotonic()
    numbers = arguments.numbers(calibrate, preprocess, rescale, quantize)
    choice = {"sample": sample, "seed": seed, "epsilon": epsilon, "exhaustive": exhaustive or space is None, "halve": halve,
              "costs": arguments.costs(host, technology)}
    job = job_of(models, space, samples, numbers, {**choice, "targets": [str(target) for target in targets or []]})
    native = job.native
    known, file = ([], None) if resume is None else opened(native, pathlib.Path(resume))
    try:
        if executor is None:
            report = here(native, known, file, progress)
        else:
            report = spread(job, known, file, spreader(executor), progress, begin)
    finally:
        if file is not None:
            file.close()
    return Exploration(native, json.loads(report))


def search(
    models: Model | Sequence[Model],
    space: Mapping[str, Any] | Path | str,
    trials: int,
    *,
    sampler: Any = None,
    seed: int = 0,
    epsilon: float | None = None,
    samples: Arrays | None = None,
    calibrate: Arrays | None = None,
    preprocess: Values | None = None,
    rescale: str | None = None,
    quantize: str | None = None,
    host: Host | None = None,
    technology: Path | None = None,
    progress: Progress = None,
) -> Exploration:
    """Like `explore`, for a space that is too large for all of its points. Optuna chooses the points from earlier results.

    `sampler` is a sampler of Optuna. The default is NSGA-II for several objectives, and the tree-structured Parzen
    estimator for one objective, with the seed. No point is evaluated twice.
    """
    optuna = needed("optuna", "search", "optuna")
    begin = time.monotonic()
    numbers = arguments.numbers(calibrate, preprocess, rescale, quantize)
    choice: dict[str, Any] = {"sample": None, "seed": seed, "epsilon": epsilon, "exhaustive": True, "halve": False,
                              "costs": arguments.costs(host, technology), "targets": []}
    native = job_of(models, space, samples, numbers, choice).native
    choices = native.choices()
    objectives = json.loads(native.finish([], [], 0.0))["objectives"]
    several = len(objectives) > 1
    usual = optuna.samplers.NSGAIISampler if several else optuna.samplers.TPESampler
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=["minimize"] * len(objectives), sampler=sampler or usual(seed=seed))
    found: dict[int, str] = {}
    with Bar(progress) as shown:
        for trial_number in range(trials):
            trial = study.ask()
            index = 0
            for name, count in choices:
                index = index * count + trial.suggest_int(name, 0, count - 1)
            planned = None if index in found else native.planned(index)
            if planned is not None:
                found[index] = native.evaluate(planned)
            figures = native.figures(found[index]) if index in found else None
            if figures is None or not json.loads(found[index])["feasible"]:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, figures)
            if shown is not None:
                shown("search", trial_number + 1, trials)
    report = native.finish(list(found.values()), [], time.monotonic() - begin)
    return Exploration(native, json.loads(report))


def job_of(
    models: Model | Sequence[Model],
    space: Mapping[str, Any] | Path | str | None,
    samples: Arrays | None,
    numbers: dict[str, Any],
    more: dict[str, Any],
) -> Job:
    """Makes the job of an exploration."""
    all_models = [models] if isinstance(models, Model) else list(models)
    if not all_models:
        raise ValueError("an exploration needs a model")
    readings = [model._reading for model in all_models]
    if any(reading != readings[0] for reading in readings):
        raise ValueError("all models of an exploration must be loaded with the same options of `load`")
    held = {name: content for model in all_models for name, content in model._held.items()}
    exploring = {
        "models": [model.name for model in all_models],
        "reading": readings[0],
        "space": text_of(space),
        "samples": arguments.arrays(samples),
        "numbers": numbers,
        **more,
    }
    return Job(exploring, held)


def opened(native: _npukit.Exploration, path: pathlib.Path) -> tuple[list[str], Any]:
    """Returns the points of a file, and the file opened for appending."""
    path.touch()
    content = path.read_bytes()
    known, whole, header = native.journal(str(path), content)
    file = path.open("r+b", buffering=0)
    file.truncate(whole)
    file.seek(whole)
    if not whole:
        file.write(header.encode())
    return known, file


def here(native: _npukit.Exploration, known: list[str], file: Any, progress: Progress) -> str:
    """Evaluates all points on the cores of this computer."""

    def keep() -> None:
        for point in native.found():
            if file is not None:
                file.write(native.line(point).encode())

    with Bar(progress) as shown:

        def report(name: str, done: int, total: int | None) -> None:
            keep()
            if shown is not None:
                shown(name, done, total)

        try:
            return native.evaluate_all(known, report)
        finally:
            keep()


def spread(job: Job, known: list[str], file: Any, run: Spread, progress: Progress, begin: float) -> str:
    """Evaluates all points with an executor."""
    # Without points of halving rounds.
    known = [point for point in known if "part" not in json.loads(point)]
    places = {json.loads(point)["index"] for point in known}
    plan = job.native.plan()
    left = [planned for planned in plan if json.loads(planned)["index"] not in places]
    kept = {json.loads(planned)["index"] for planned in plan} & places
    points = [point for point in known if json.loads(point)["index"] in kept]
    with Bar(progress) as shown:
        for point in run(job, left):
            points.append(point)
            if file is not None:
                file.write(job.native.line(point).encode())
            if shown is not None:
                shown("explore", len(points), len(plan))
    return job.native.finish(points, sorted(kept), time.monotonic() - begin)


def spreader(executor: Any) -> Spread:
    """Returns the function that distributes points with an executor."""
    if executor == "ray":
        return with_ray
    if hasattr(executor, "submit"):
        return lambda job, plan: with_futures(executor, job, plan)
    if callable(executor) and hasattr(executor, "n_jobs"):
        return lambda job, plan: with_joblib(executor, job, plan)
    raise TypeError(f"{executor!r} is not an executor: pass \"ray\", an executor of concurrent.futures or a joblib.Parallel")


def with_futures(executor: Any, job: Job, plan: Iterable[str]) -> Iterator[str]:
    """Evaluates points with an executor of `concurrent.futures`."""
    from concurrent.futures import as_completed

    futures = [executor.submit(evaluate, job, planned) for planned in plan]
    for future in as_completed(futures):
        yield future.result()


def with_joblib(parallel: Any, job: Job, plan: Iterable[str]) -> Iterator[str]:
    """Evaluates points with a `joblib.Parallel`."""
    joblib = needed("joblib", "executor", "joblib")
    yield from parallel(joblib.delayed(evaluate)(job, planned) for planned in plan)


def with_ray(job: Job, plan: Iterable[str]) -> Iterator[str]:
    """Evaluates points with a Ray cluster. Points of a lost worker are evaluated by another one."""
    ray = needed("ray", "executor=\"ray\"", "ray")
    if not ray.is_initialized():
        ray.init(logging_level="ERROR")
    # Each worker uses one core.
    settings = {"num_cpus": 1, "max_retries": -1, "runtime_env": {"env_vars": {"RAYON_NUM_THREADS": "1"}}}
    task = ray.remote(**settings)(evaluate)
    shared = ray.put(job)
    waiting = [task.remote(shared, planned) for planned in plan]
    while waiting:
        done, waiting = ray.wait(waiting, num_returns=1)
        yield from ray.get(done)


def text_of(space: Mapping[str, Any] | Path | str | None) -> str:
    """Returns the text of a space, which is empty for `None`."""
    if space is None:
        return ""
    if isinstance(space, Mapping):
        return "\n".join(f"{key} = {toml(value)}" for key, value in space.items())
    is_path = not isinstance(space, str) or space.endswith(".toml")
    return pathlib.Path(space).read_text() if is_path else str(space)


def toml(value: Any) -> str:
    """Returns a value in TOML notation."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, (range, list, tuple, set)) or bool(getattr(value, "ndim", False)):
        return "[" + ", ".join(toml(part) for part in value) + "]"
    return json.dumps(value.item() if hasattr(value, "item") else str(value) if hasattr(value, "spec") else value)
