"""Executes the notebooks and writes their outputs.

    python execute.py [--check]

Needs the packages of tests/python/requirements-package.txt, and npukit. With --check, nothing is written; the exit status
is 1 if an output differs from the committed one.
"""

import pathlib
import re
import sys

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).parent
# What differs between runs and computers: times, places in memory, names of temporary folders.
CHANGING = (
    (re.compile(r"(seconds(?:</th><td>|\s+))[0-9.e+-]+"), r"\g<1>0"),
    (re.compile(r"(layers_per_second(?:</th><td>|\s+))[0-9.e+-]+"), r"\g<1>0"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
)


def executed(path):
    """Returns the notebook at a path with fresh outputs."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            # Only results count; messages of libraries depend on the computer.
            output.get("metadata", {}).clear()
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def stable(text):
    """Returns a text without what differs between runs."""
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text


def outputs(notebook):
    """Returns the outputs of each code cell, without what differs between runs: texts, and the kinds of pictures in pixels."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            texts = {kind: stable(value) for kind, value in data.items() if not kind.startswith("image/png")}
            # The text of a picture names its class only.
            found.append((cell.source, sorted(data) if "image/png" in data else texts))
    return found


def differing(path):
    """Executes a notebook; returns the sources of cells whose outputs differ from the committed ones."""
    committed, fresh = outputs(nbformat.read(path, as_version=4)), outputs(executed(path))
    if len(committed) != len(fresh):
        return [f"{len(committed)} outputs are committed, {len(fresh)} are made"]
    return [source for (source, old), (_, new) in zip(committed, fresh) if old != new]


def main():
    failures = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        if "--check" in sys.argv[1:]:
            cells = differing(path)
            failures += len(cells)
            print(path.name, *(f"differs: {cell}" for cell in cells), sep="\n  ")
        else:
            path.write_text(nbformat.writes(executed(path), indent=1) + "\n", encoding="utf-8")
            print(path.name)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
