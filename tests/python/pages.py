"""Executes a page of the book: runs its blocks in order, and compares their output with the page.

Main type: `Page`. The `README.md` next to this file describes how pages are written.
"""

import ast
import contextlib
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from blocks import blocks
from npu import ROOT

# Time limit of a command, in seconds.
LIMIT = 120
# Languages of blocks that are shown but not executed. A test of crates/npukit assembles `asm` followed by a target.
SHOWN = {"text"}
MASK, ANY = "*", "..."
NUMBER = r"[0-9][0-9.,]*"
MARK = "# -> "

# The interpreter of a page: takes statements as lines of JSON, returns their output.
SESSION = """
import contextlib, io, json, sys, traceback
space, answers = {"__name__": "__main__"}, sys.stdout
for line in sys.stdin:
    code, printed = json.loads(line), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(code, "<page>", "exec"), space)
        except BaseException:
            traceback.print_exc()
    answers.write(json.dumps(printed.getvalue()) + "\\n")
    answers.flush()
"""


class Outcome:
    """Outcome of the checks of a page or a file."""

    def __init__(self, name):
        self.name, self.passed, self.masks, self.seconds = name, 0, 0, 0.0
        self.failures, self.skipped = [], []
        # Blessed lines: (first, end) in the page, counted from 0, and their replacement.
        self.edits = []

    def fail(self, line, what, why):
        """Counts a failure: its place, the command, the difference or reason."""
        self.failures.append(f"{self.name}:{line}: {what}\n{why}")


# ---- comparison of output ----


def is_line(expected, printed):
    """Whether a line is as expected, and whether that used a mask."""
    if expected.rstrip() == printed.rstrip():
        return True, False
    words = expected.split()
    if MASK not in words:
        return False, False
    pattern = r"\s+".join(NUMBER if word == MASK else re.escape(word) for word in words)
    return re.fullmatch(pattern, printed.strip()) is not None, True


def match(expected, printed):
    """Returns the number of masks used if the lines are as expected, otherwise `None`."""
    if not expected:
        return None if printed else 0
    if expected[0].strip() == ANY:
        found = (match(expected[1:], printed[skip:]) for skip in range(len(printed) + 1))
        return next((masks for masks in found if masks is not None), None)
    if not printed:
        return None
    same, masked = is_line(expected[0], printed[0])
    rest = match(expected[1:], printed[1:]) if same else None
    return None if rest is None else rest + masked


def difference(expected, printed):
    """Returns the different lines."""
    return "\n".join(difflib.unified_diff(expected, printed, "the page", "this build", lineterm=""))


def blessed(expected, printed):
    """Returns the new expected output: the actual output, with the page's masks and gaps."""
    if ANY not in [line.strip() for line in expected]:
        masks = [line for line in expected if MASK in line.split()]
        keep = lambda line: next((mask for mask in masks if is_line(mask, line)[0]), line)
        return [seconds_open(keep(line)) for line in printed]
    gap = [line.strip() for line in expected].index(ANY)
    head, tail = printed[:gap], expected[gap + 1 :]
    if ANY in [line.strip() for line in tail]:
        raise ValueError("a block with several gaps cannot be blessed automatically")
    return [*blessed([], head), expected[gap], *(blessed([], printed[len(printed) - len(tail) :]) if tail else [])]


def seconds_open(line):
    """Returns the line without the seconds that a command took."""
    return re.sub(rf"^(seconds\s+){NUMBER}$", rf"\1{MASK}", line)


def status(lines):
    """Returns the line for a nonzero exit status."""
    return next((line for line in reversed(lines) if line.startswith("; ")), None)


def without_blank_ends(lines):
    """Returns the lines up to the last nonempty one."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


# ---- pages ----


class Page:
    """A page that is executed in a folder."""

    def __init__(self, path, npu, folder):
        self.path, self.npu, self.folder = path, npu, folder / "page"
        self.text = path.read_text()
        self.outcome = Outcome(str(path.relative_to(ROOT)))
        self.folder.mkdir()
        self.environment = environment(npu, folder)
        self._session = None

    def execute(self):
        """Executes all blocks; returns the outcome."""
        start = time.monotonic()
        try:
            for block in blocks(self.path, self.text):
                self.kind(block)(block)
        except ValueError as error:
            self.outcome.fail(1, "the page's blocks", str(error))
        if self._session:
            self._session.kill()
            self._session.communicate()
        self.outcome.seconds = time.monotonic() - start
        return self

    def kind(self, block):
        """Executes or checks a block."""
        if "skip" in block.options:
            return self.skip
        if block.title:
            return self.write
        if "source" in block.options:
            return self.compare_with_source
        return {"console": self.console, "python": self.python}.get(block.language, self.show)

    def skip(self, block):
        commands = [line[2:] for line in block.lines if line.startswith("$ ")] or [block.language]
        places = [f"{self.outcome.name}:{block.line}: {command} ({block.options['skip']})" for command in commands]
        self.outcome.skipped += places

    def write(self, block):
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(block.lines) + "\n")

    def compare_with_source(self, block):
        """Checks that the block is an exact part of a file of the repository."""
        name, text = block.options["source"], "\n".join(block.lines)
        if (ROOT / name).is_file() and text.strip() and f"\n{text}\n" in f"\n{(ROOT / name).read_text()}\n":
            self.outcome.passed += 1
        else:
            self.outcome.fail(block.line, name, "the block is not a part of that file")

    def show(self, block):
        if block.language not in SHOWN and not (block.language == "asm" and block.words):
            self.outcome.fail(block.line, f"a block of {block.language or 'no language'}", "blocks of this language are not checked")

    def console(self, block):
        if not block.lines or not block.lines[0].startswith("$ "):
            self.outcome.fail(block.line, "a block of console", "it must begin with a command")
        for begin, end, command, first in commands(block):
            printed = self.shell(command)
            expected = without_blank_ends(block.lines[first:end])
            line = block.line + begin + 1
            if end < len(block.lines) and printed:
                self.judge(line, command, expected, printed, block.line + first, block.line + end, [""])
            else:
                self.judge(line, command, expected, printed, block.line + first, block.line + end)

    def judge(self, line, what, expected, printed, first, end, behind=()):
        """Compares the output; lines `first` to `end` of the page, counted from 0, would be rewritten."""
        masks = match(expected, printed)
        if masks is not None:
            self.outcome.passed += 1
            self.outcome.masks += masks
            return
        self.outcome.fail(line, what, difference(expected, printed))
        # A failure is only written into a page that already expects it.
        if status(expected) != status(printed):
            return
        with contextlib.suppress(ValueError):
            self.outcome.edits.append((first, end, [*blessed(expected, printed), *behind]))

    def shell(self, command):
        """Returns the output of a command in the order of a terminal; a nonzero exit status is the last line."""
        options = {"cwd": self.folder, "env": self.environment, "text": True, "stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, **options)
        except subprocess.TimeoutExpired:
            return [f"; took more than {LIMIT} seconds"]
        ended = [f"; exit status {done.returncode}"] if done.returncode else []
        return without_blank_ends([line.rstrip() for line in done.stdout.split("\n")]) + ended

    def python(self, block):
        """Executes statements one by one; lines after a statement that begin with the mark are its expected output."""
        code = "\n".join(block.lines)
        try:
            statements = ast.parse(code).body
        except SyntaxError as error:
            return self.outcome.fail(block.line + (error.lineno or 0), "python", str(error))
        before, seen = len(self.outcome.failures), 0
        for statement in statements:
            begin, end = first_line(statement) - 1, statement.end_lineno
            last = end
            while last < len(block.lines) and block.lines[last].startswith(MARK.rstrip()):
                last += 1
            expected = [line.removeprefix(MARK).removeprefix(MARK.rstrip()) for line in block.lines[end:last]]
            seen += len(expected)
            printed = self.interpret("\n".join([*[""] * (block.line + begin), *block.lines[begin:end]]))
            if match(expected, printed) is None:
                self.outcome.fail(block.line + begin + 1, block.lines[begin], difference(expected, printed))
                marked = [(MARK + text).rstrip() for text in blessed(expected, printed)]
                self.outcome.edits.append((block.line + end, block.line + last, marked))
        if seen != sum(line.lstrip().startswith(MARK.rstrip()) for line in block.lines):
            self.outcome.fail(block.line, "python", f"`{MARK}` must be directly after a statement of the block")
        self.outcome.passed += len(self.outcome.failures) == before

    def interpret(self, code):
        """Returns the output of a statement in the page's interpreter."""
        if self._session is None:
            options = {"cwd": self.folder, "env": self.environment, "text": True}
            self._session = subprocess.Popen([sys.executable, "-c", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        timer = threading.Timer(LIMIT, self._session.kill)
        timer.start()
        try:
            self._session.stdin.write(json.dumps(code) + "\n")
            self._session.stdin.flush()
            answer = self._session.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if not answer:
            return [f"; the interpreter ended, or took more than {LIMIT} seconds"]
        return without_blank_ends(json.loads(answer).split("\n"))

    def bless(self):
        """Writes the output into the page."""
        lines = self.text.split("\n")
        for first, end, content in sorted(self.outcome.edits, reverse=True):
            lines[first:end] = content
        self.path.write_text("\n".join(lines))


def environment(npu, folder):
    """Environment of a page's commands: the tested command in the path, no colors, and no settings of the caller."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NPU", "RUST_", "PYTHON"))}
    path = os.pathsep.join([str(npu.parent), str(pathlib.Path(sys.executable).parent), kept.get("PATH", "")])
    kept |= {key: os.environ[key] for key in ["PYTHONPATH"] if key in os.environ}  # for the tested package
    ours = {"PATH": path, "NPU_CACHE": str(folder / "cache"), "NPUKIT": str(ROOT), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    return {**kept, **ours, "HOME": str(folder), "TERM": "dumb"}


def commands(block):
    """Yields commands of a block: index of the first line, end of the output, the command, start of the output."""
    starts = [index for index, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)]):
        first = start
        while block.lines[first].endswith("\\") and first + 1 < end:
            first += 1
        command = "\n".join(block.lines[start : first + 1])[2:]
        yield start, end, command, first + 1


def first_line(statement):
    """Start of a statement, including its decorators."""
    return min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", []))])
