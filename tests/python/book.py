"""Tests the book in `docs/`: builds it with MkDocs in strict mode, and executes its pages.

    pip install -r requirements-book.txt ../../python
    python book.py [--npu COMMAND] [--bless] [--keep FOLDER] [PAGE ...]

- The blocks of every page are executed in order, in a separate folder per page: commands of `console` blocks in bash,
  `python` blocks in one interpreter with the package `npukit`. Blocks with a title are files in that folder. The
  README.md next to this file describes how pages are written.
- Every `npu` command that is mentioned in pages, README.md and its neighbors must have a known verb and known options.
- Links of README.md and its neighbors must lead to existing files and headings. MkDocs checks the links of pages.

A difference from the expected output is shown with page and line. `--bless` writes the output into the pages instead.
PAGEs select pages by parts of their names; then nothing else is checked.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import npukit

from blocks import blocks
from npu import ROOT, add_arguments, default_command
from pages import Outcome, Page

DOCS = ROOT / "docs"
# Files outside of the book that link to it.
NEIGHBORS = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "python/README.md", "drivers/README.md"]
# `--help` lists the options of one target.
TARGETS = ["tcu", "opu", "pccx", "drra"]
# Maximum number of lines with a masked number in all pages. Masks are only meant for seconds.
MASKS = 40


# ---- commands mentioned in texts ----


class Words:
    """Returns the verbs and options of the command, from its help."""

    def __init__(self, npu):
        self.npu, self._options = npu, {}
        text = self.help("help", "--all")
        listed = text.split("\nExamples:\n")[0]
        self.verbs = {*re.findall(r"^  ([a-z-]+)", listed, re.MULTILINE), *re.findall(r"also `npu\s+([a-z]+)`", listed), "help"}
        self.anywhere = set(re.findall(r"(?<![\w-])(--?[a-z][a-z0-9_-]*)", text, re.IGNORECASE))

    def help(self, *arguments):
        return subprocess.run([self.npu, *arguments], capture_output=True, text=True, check=True).stdout

    def options(self, verb):
        """Returns the options of a verb, for all targets."""
        if verb not in self._options:
            text = "".join(self.help(verb, "--help", "--target", target) for target in TARGETS)
            lines = re.findall(r"^ +(-.*)$", text, re.MULTILINE)
            aliases = re.findall(r"\[aliases: (.*?)\]", text)
            found = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", "\n".join(lines + aliases))
            self._options[verb] = {*found, "--help", "-h", "-o"}
        return self._options[verb]

    def amiss(self, command):
        """Returns what is wrong with a command, given its words, or `None`."""
        try:
            words = shlex.split(command)
        except ValueError:
            words = command.split()
        verb = next((word for word in words[1:] if not word.startswith("-")), None)
        if verb is None or not re.fullmatch("[a-z-]+", verb):
            known, verb = self.anywhere, "npu"
        elif verb not in self.verbs:
            return f"there is no verb {verb}"
        else:
            known = self.options(verb) | self.anywhere
        for word in words[1:]:
            option = re.match(r"--?[A-Za-z][\w-]*", word)
            if option and option[0] not in known and not (option[0][:2] in known and not word.startswith("--")):
                return f"{verb} has no option {option[0]}"
        return None


def mentioned(text):
    """Finds commands of `npu` in a text, with their lines: in inline code, in blocks and in indented lines."""
    for number, line in enumerate(text.split("\n"), 1):
        spans = re.findall(r"`([^`]+)`", line)
        whole = re.match(r"(?:    |\$ )?((?:npu|cargo run --release --) .*)", line)
        for span in [*spans, *([whole[1]] if whole else [])]:
            for part in re.split(r"&&|\|\||[|;<>#]|\s{3,}", span.replace("cargo run --release --", "npu").replace("\\", "")):
                if re.match(r"\s*npu\s", part):
                    yield number, part.strip()


def check_commands(path, words):
    """Checks that every command mentioned in a text exists."""
    outcome = Outcome(str(path.relative_to(ROOT)))
    for line, command in mentioned(path.read_text()):
        why = words.amiss(command)
        if why:
            outcome.fail(line, command, why)
        else:
            outcome.passed += 1
    return outcome


def anchor(title):
    """Returns the anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip()).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def check_links(path):
    """Checks that relative links of a file lead to existing files and headings."""
    outcome = Outcome(str(path.relative_to(ROOT)))
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for number, line in enumerate(text.split("\n"), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match("[a-z]+:", link):
                continue
            name, _, heading = link.partition("#")
            to = (path.parent / name) if name else path
            titles = re.findall(r"^#+ (.*)$", to.read_text(), re.MULTILINE) if heading and to.is_file() else []
            if not to.exists() or (heading and heading not in map(anchor, titles)):
                outcome.fail(number, link, "leads nowhere")
            else:
                outcome.passed += 1
    return outcome


# ---- the whole book ----


def build(site):
    """Builds the book, and checks that each page shows all of its blocks."""
    outcome = Outcome("mkdocs.yml")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    # The theme would print an advertisement into the messages.
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    if done.returncode:
        messages = [line for line in done.stderr.split("\n") if line and not line.startswith(("INFO", "  File", "    "))]
        outcome.fail(1, "mkdocs build --strict", "\n".join(messages))
        return outcome
    outcome.passed += 1
    for path in all_pages():
        made = site / path.relative_to(DOCS).with_suffix(".html")
        shown, written = made.read_text().count("<pre>"), len(blocks(path, path.read_text()))
        if shown == written:
            outcome.passed += 1
        else:
            outcome.fail(1, str(path.relative_to(ROOT)), f"the page has {written} blocks, but {shown} are shown")
    return outcome


def all_pages():
    """Returns every page of the book."""
    return sorted(DOCS.rglob("*.md"))


def execute(path, npu, keep):
    """Executes a page in a separate folder."""
    with tempfile.TemporaryDirectory(prefix="npukit-book-") as scratch:
        folder = pathlib.Path(keep or scratch) / path.relative_to(DOCS).with_suffix("")
        folder.mkdir(parents=True)
        return Page(path, npu, folder).execute()


def around(npu):
    """Checks the book as a whole, and the files around it."""
    words = Words(npu)
    neighbors = [ROOT / name for name in NEIGHBORS] + sorted(ROOT.glob("targets/*/README.md"))
    yield build(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "book")
    yield from (check_links(path) for path in neighbors)
    yield from (check_commands(path, words) for path in [*neighbors, *all_pages()])


def report(outcomes, bless):
    """Prints failures, skipped blocks and counts; returns the exit status."""
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"FAILED {failure}\n")
    for place in [place for outcome in outcomes for place in outcome.skipped]:
        print(f"skipped {place}")
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(len(outcome.failures) for outcome in outcomes)
    skipped = sum(len(outcome.skipped) for outcome in outcomes)
    masks = sum(outcome.masks for outcome in outcomes)
    if masks > MASKS:
        print(f"FAILED the book: {masks} lines have a masked number; the limit is {MASKS}\n")
        failed += 1
    print(f"{masks} lines have a masked number")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed and not bless else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--bless", action="store_true", help="write the output into the pages")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="execute pages in subfolders of FOLDER, and keep it")
    parser.add_argument("patterns", nargs="*", metavar="PAGE", help="parts of the names of pages")
    arguments = parser.parse_intermixed_args()
    npu = pathlib.Path(arguments.npu or default_command()).resolve()
    if not npu.exists():
        raise SystemExit(f"error: no command at {npu}; `cargo build --release` makes it")
    version = subprocess.run([npu, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    if version != npukit.__version__:
        raise SystemExit(f"error: the package is version {npukit.__version__}, the command {version}")

    chosen = [path for path in all_pages()
              if not arguments.patterns or any(part in str(path.relative_to(DOCS)) for part in arguments.patterns)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        executed = list(pool.map(lambda path: execute(path, npu, arguments.keep), chosen))
    for page in executed:
        print(f"{page.outcome.name:<36}{page.outcome.passed:>5} passed{page.outcome.seconds:>7.1f} s")
        if arguments.bless and page.outcome.edits:
            page.bless()
    return report([page.outcome for page in executed] + ([] if arguments.patterns else list(around(npu))), arguments.bless)


if __name__ == "__main__":
    sys.exit(main())
