"""Fenced blocks of the book's pages: what `book.py` executes and what MkDocs shows.

Main type: `Block`. As a hook of MkDocs (`mkdocs.yml`) this file prepares the pages: Markdown in Python knows no words
behind a block's language, so the name of a file becomes a line above its block.
"""

import dataclasses
import pathlib
import re

FENCE = re.compile(r"^(`{3,})(.*)$")
OPTION = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
FILE_COMMENT = re.compile(r"^<!-- file (\S+) -->$")
# What no one would execute: a fence within a list, a command as an indented line.
ASTRAY = re.compile(r"^( +```|    (npu|\$) )")
CODE_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)")


@dataclasses.dataclass
class Block:
    """A fenced block; lines are counted from 1 and `line` is that of its opening fence."""

    page: pathlib.Path
    line: int
    language: str
    words: list
    options: dict
    lines: list

    @property
    def title(self):
        """Name of the file that the block is, or None."""
        return self.options.get("title") or self.options.get("file")


def blocks(page, text):
    """The blocks of a page in their order. Raises `ValueError` for one that does not end or does not begin in column 0."""
    found, lines, index = [], text.split("\n"), 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        index += 1
        if ASTRAY.match(lines[index - 1]):
            raise ValueError(f"{page}:{index}: a block begins with a fence in column 0")
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
    """A block by what stands behind its fence, and by the line before that."""
    options = {key: quoted or bare for key, quoted, bare in OPTION.findall(info)}
    named = FILE_COMMENT.match(before)
    if named:
        options.setdefault("title", named[1])
    language, *words = OPTION.sub("", info).split() or [""]
    return Block(page, line, language, words, options, lines)


def on_page_markdown(markdown, page, **_):
    """MkDocs calls this with the text of each page, and goes on with what it gives."""
    lines = markdown.split("\n")
    inside = set()
    for found in reversed(blocks(page.file.src_path, markdown)):
        opening = found.line - 1
        inside.update(range(opening, opening + len(found.lines) + 2))
        fence = FENCE.match(lines[opening])[1]
        lines[opening] = fence + found.language
        # Content of one line: numbers of lines above stay as they are while blocks are taken from the last on.
        if found.title:
            lines[opening] = f"File `{found.title}`:\n\n{lines[opening]}"
    return "\n".join(line if index in inside else row(line) for index, line in enumerate(lines))


def row(line):
    """A line of a table with the bars of its code as they are meant: Markdown in Python keeps the stroke before them."""
    if not line.startswith("|"):
        return line
    return CODE_SPAN.sub(lambda span: span[0].replace("\\|", "|"), line)
