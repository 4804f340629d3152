"""Executes the notebooks, and compares their outputs with the committed ones."""

import importlib.util
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def execute():
    """The script that executes notebooks."""
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_that_are_committed(execute, path):
    import nbformat

    kinds = {kind for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert "text/html" in kinds, "a notebook is committed with its outputs: python python/notebooks/execute.py"
    assert execute.differing(path) == [], "python python/notebooks/execute.py makes the outputs again"


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["debugging_saturation", "exploring_a_design", "first_network"]
