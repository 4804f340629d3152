"""Fenced blocks of the book's pages, as executed by `book.py` and shown by MkDocs.

Main type: `Block`. As a hook of MkDocs (`mkdocs.yml`), this file also prepares the pages: Markdown in Python does not
support words after a block's language, so the name of a file is moved to a line above its block.
"""

import dataclasses
import pathlib
import re

FENCE = re.compile(r"^(`{3,})(.*)$")
OPTION = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
FILE_COMMENT = re.compile(r"^<!-- file (\S+) -->$")
# Blocks that would never be executed: a fence within a list, a command as an indented line.
ASTRAY = re.compile(r"^( +```|    (npu|\$) )")
CODE_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)")


@dataclasses.dataclass
class Block:
    """A fenced block. Lines are numbered from 1; `line` is the line of its opening fence."""

    page: pathlib.Path
    line: int
    language: str
    words: list
    options: dict
    lines: list

    @property
    def title(self):
        """Name of the file that the block defines, or `None`."""
        return self.options.get("title") or self.options.get("file")


def blocks(page, text):
    """Returns the blocks of a page in order. Raises `ValueError` for a block that does not end, or does not begin in
    column 0.
    """
    found, lines, index = [], text.split("\n"), 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        index += 1
        if ASTRAY.match(lines[index - 1]):
            raise ValueError(f"{page}:{index}: a block must begin with a fence in column 0")
        if not fence:
            continue
        begin = index
        while index < len(lines) and lines[index].rstrip() != fence[1]:
            index += 1
        if index == len(lines):
            raise ValueError(f"{page}:{begin}: the block does not end")
        before = lines[begin - 2] if begin > 1 else ""
        found.append(block(page, begin, fence[2], before, lines[begin:index]))
        index += 1
    return found


def block(page, line, info, before, lines):
    """Parses a block's properties from the text after its fence, and from the line before it."""
    options = {key: quoted or bare for key, quoted, bare in OPTION.findall(info)}
    named = FILE_COMMENT.match(before)
    if named:
        options.setdefault("title", named[1])
    language, *words = OPTION.sub("", info).split() or [""]
    return Block(page, line, language, words, options, lines)


def on_page_markdown(markdown, page, **_):
    """Called by MkDocs with the text of each page; returns the text to use instead."""
    lines = markdown.split("\n")
    inside = set()
    for found in reversed(blocks(page.file.src_path, markdown)):
        opening = found.line - 1
        inside.update(range(opening, opening + len(found.lines) + 2))
        fence = FENCE.match(lines[opening])[1]
        lines[opening] = fence + found.language
        # Replaced by one line at a time, starting at the last block, so that earlier line numbers stay valid.
        if found.title:
            lines[opening] = f"File `{found.title}`:\n\n{lines[opening]}"
    return "\n".join(line if index in inside else row(line) for index, line in enumerate(lines))


def row(line):
    """Removes the backslash before bars in the code of a table's line, which Markdown in Python would keep."""
    if not line.startswith("|"):
        return line
    return CODE_SPAN.sub(lambda span: span[0].replace("\\|", "|"), line)
