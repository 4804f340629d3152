"""Runs the notebooks from the first cell to the last."""

import pathlib

import pytest

NOTEBOOKS = sorted(pathlib.Path(__file__).parents[1].glob("notebooks/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert any("image/svg+xml" in output.get("data", {}) or "text/html" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["debugging_saturation", "exploring_a_design", "first_network"]
