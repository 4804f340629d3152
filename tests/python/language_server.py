"""Tests `npu lsp` as an editor would: the client of pygls starts the command, speaks the protocol on its streams, and
compares the answers with `npu asm`, `npu lint`, `npu format` and `npu time` for the same text.

All messages are parsed by lsprotocol, which rejects invalid ones. Covers all four targets and all programs of
`examples`. The time of a change to a program of `--lines` lines is printed, but not checked.
"""

import argparse
import asyncio
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from lsprotocol import types
from pygls.lsp.client import LanguageClient

import npu

EXAMPLES = npu.ROOT / "examples"
# Time limit in seconds for a schedule or the checks on a busy machine.
PATIENCE = 300


class Editor:
    """A client, the diagnostics of each text, and the texts."""

    def __init__(self, command, folder, *options):
        self.command, self.folder, self.options = command, folder, options
        self.client = LanguageClient("npukit-judge", "1")
        self.published, self.texts, self.versions = {}, {}, {}
        self.news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _published(params):
            self.published.setdefault(params.uri, []).append(params)
            self.news.set()

    async def __aenter__(self):
        await self.client.start_io(str(self.command), "lsp", *self.options)
        found = await self.client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=self.folder.as_uri())
        )
        assert found.capabilities.position_encoding == types.PositionEncodingKind.Utf16
        self.legend = found.capabilities.semantic_tokens_provider.legend
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def open(self, path, text):
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri=uri, language_id="npu", version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def change(self, uri, text, span=None):
        """Changes all of a text, or a range of it given in bytes."""
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        if span is None:
            change, self.texts[uri] = types.TextDocumentContentChangeWholeDocument(text=text), text
        else:
            change = types.TextDocumentContentChangePartial(range=span, text=text)
            self.texts[uri] = edited(self.texts[uri], [types.TextEdit(range=span, new_text=text)])
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )

    async def diagnostics(self, uri, is_done):
        """Returns the last diagnostics of the current text for which `is_done` is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            of_version = [one for one in self.published.get(uri, []) if one.version == self.versions[uri]]
            if of_version and is_done(of_version):
                return of_version[-1].diagnostics
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), end - time.monotonic())
            except TimeoutError:
                break
        raise TimeoutError(f"no diagnostics for {uri}")

    async def all_diagnostics(self, uri):
        """Returns the diagnostics after the checks: the first ones of a text with errors, otherwise the second ones."""

        def is_done(published):
            first = published[0].diagnostics
            return len(published) > 1 or any(one.severity == types.DiagnosticSeverity.Error for one in first)

        return await self.diagnostics(uri, is_done)

    def at(self, uri, what, after=0):
        """Position where a word begins in a text."""
        text = self.texts[uri]
        start = text.index(what) + after
        line = text.rfind("\n", 0, start) + 1
        return types.Position(line=text.count("\n", 0, start), character=units(text[line:start]))


def units(text):
    """Length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def offset(text, place):
    """Character at a position in a text."""
    lines = text.split("\n")
    if place.line >= len(lines):
        return len(text)
    start = sum(len(line) + 1 for line in lines[: place.line])
    count = 0
    for index, letter in enumerate(lines[place.line]):
        if count >= place.character:
            return start + index
        count += units(letter)
    return start + len(lines[place.line])


def edited(text, edits):
    """Applies edits to a text."""
    for edit in sorted(edits, key=lambda edit: offset(text, edit.range.start), reverse=True):
        start, end = offset(text, edit.range.start), offset(text, edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


def command_says(command, *arguments):
    """Returns the report of the command, and whether it found no error."""
    found = subprocess.run([str(command), *map(str, arguments), "--json"], capture_output=True, text=True)
    return json.loads(found.stdout), found.returncode == 0


def target_of(text):
    """Returns the target in the first line of an example."""
    return re.search(r"--target (\S+)", text).group(1)


def published(diagnostics):
    """Compared parts of diagnostics: code, line and column from 1, first line of the message."""
    return sorted(
        (one.code, one.range.start.line + 1, one.range.start.character + 1, one.message.split("\n")[0])
        for one in diagnostics
    )


def expected(report, text, path):
    """Compared parts of the command's diagnostics. Places are in the text itself, columns in UTF-16 units."""
    found = []
    for one in report["diagnostics"]:
        line, column = one.get("line") or 1, one.get("column") or 1
        if one.get("file") not in (None, str(path)):
            continue
        before = text.split("\n")[line - 1][: column - 1]
        found.append((one["code"], line, units(before) + 1, one["message"].split("\n")[0]))
    return sorted(found)


async def examples(editor, command, judge):
    """Tests each program: diagnostics equal the linter's, the layout equals the command's, and words and names are correct."""
    for path in sorted(EXAMPLES.glob("*/*")):
        if path.suffix not in (".s", ".pasm"):
            continue
        text = path.read_text()
        target, name = target_of(text), f"{path.parent.name}/{path.name}"
        uri = editor.open(path, text)
        diagnostics = [one for one in await editor.all_diagnostics(uri) if one.code != "remark"]
        report, _ = command_says(command, "lint", path, "--target", target)
        judge(f"{name}: findings", published(diagnostics), expected(report, text, path))

        document = types.TextDocumentIdentifier(uri=uri)
        options = types.FormattingOptions(tab_size=4, insert_spaces=True)
        untidy = text.replace(", ", " ,").replace("\n", "  \n")
        editor.change(uri, untidy)
        edits = await editor.client.text_document_formatting_async(
            types.DocumentFormattingParams(text_document=document, options=options)
        )
        tidy = edited(untidy, edits)
        folder = editor.folder / path.parent.name
        folder.mkdir(exist_ok=True)
        (folder / path.name).write_text(untidy)
        report, _ = command_says(command, "format", folder / path.name, "--target", target)
        judge(f"{name}: layout", tidy, report.get("text"))
        words = []
        for version in (untidy, tidy):
            (folder / path.name).write_text(version)
            words.append(assembled(command, folder / path.name, target))
        judge(f"{name}: words of the layout", words[1], words[0])

        editor.change(uri, text)
        end = types.Position(line=text.count("\n") + 1, character=0)
        whole = types.Range(start=types.Position(line=0, character=0), end=end)
        tokens = await editor.client.text_document_semantic_tokens_full_async(
            types.SemanticTokensParams(text_document=document)
        )
        judge(f"{name}: colors", colors_of_comments(editor, text, tokens.data), comments(text, path))
        hints = await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(text_document=document, range=whole)
        )
        if path.suffix == ".s" and path.parent.name != "drra" and not re.search(r"\.(macro|rept)", text):
            hexadecimal = "".join(hint.label.split()[0] for hint in hints or [])
            judge(f"{name}: words of hints", hexadecimal, assembled(command, path, target).hex())


def assembled(command, path, target):
    """Returns the words of a text."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "words"
        subprocess.run([str(command), "asm", str(path), "--target", target, "-o", str(out), "-q"], check=True, capture_output=True)
        return out.read_bytes()


def colors_of_comments(editor, text, data):
    """Returns the comments among the tokens."""
    kind = editor.legend.token_types.index("comment")
    line = unit = 0
    found = []
    for delta, start, length, of, _ in zip(*[iter(data)] * 5):
        line, unit = line + delta, start if delta else unit + start
        word = text.split("\n")[line].encode("utf-16-le")[2 * unit : 2 * (unit + length)].decode("utf-16-le")
        if of == kind:
            found.append(word)
    return found


def comments(text, path):
    """Returns the comments of an example. None follows a quoted text on its line."""
    marks = "#" if path.parent.name == "drra" else ";"
    found = [line[line.index(marks) :].rstrip() for line in text.split("\n") if marks in line]
    return found


async def faults(editor, command, judge, chance):
    """Tests misspelled words: diagnostics equal the assembler's."""
    for path in sorted(EXAMPLES.glob("*/*.s")):
        text = path.read_text()
        target, lines = target_of(text), text.split("\n")
        places = [index for index, line in enumerate(lines) if re.match(r"\s*[a-z@]", line)]
        for index in chance.sample(places, min(3, len(places))):
            damaged = lines[:]
            words = [word for word in re.findall(r"[a-z_0-9]+", damaged[index]) if len(word) > 1]
            word = chance.choice(words)
            damaged[index] = damaged[index].replace(word, word + "q", 1) + " ; é😀" * (path.parent.name != "drra")
            file = editor.folder / path.parent.name / f"damaged_{path.name}"
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(damaged))
            report, is_right = command_says(command, "asm", file, "--target", target, "-o", editor.folder / "out")
            if is_right:
                continue
            uri = file.as_uri()
            if uri in editor.texts:
                editor.change(uri, "\n".join(damaged))
            else:
                editor.open(file, "\n".join(damaged))
            found = published(await editor.all_diagnostics(uri))
            judge(f"{path.parent.name}/{path.name}: {damaged[index].strip()}", found,
                  expected(report, "\n".join(damaged), file))


async def session(editor, judge):
    """Writes, queries, renames and fixes a text."""
    path = editor.folder / "session é.s"
    text = "; npu: target tcu:pynqz1 😀\n.equ rows, 4\n    matmul local[rows], acc[0], rows ; é\n    matmull local[0], acc[0], 1\n"
    uri = editor.open(path, text)
    document = types.TextDocumentIdentifier(uri=uri)
    (wrong,) = await editor.all_diagnostics(uri)
    judge("a misspelt mnemonic", (wrong.code, wrong.range.start), ("asm::mnemonic", editor.at(uri, "matmull")))
    actions = await editor.client.text_document_code_action_async(
        types.CodeActionParams(text_document=document, range=wrong.range,
                               context=types.CodeActionContext(diagnostics=[wrong]))
    )
    edits = actions[0].edit.changes[uri]
    editor.change(uri, edits[0].new_text, edits[0].range)
    judge("mended", editor.texts[uri], text.replace("matmull", "matmul"))
    mended = await editor.all_diagnostics(uri)
    judge("nothing wrong is left", [one for one in mended if str(one.code).startswith("asm::")], [])
    hover = await editor.client.text_document_hover_async(
        types.HoverParams(text_document=document, position=editor.at(uri, "rows], acc"))
    )
    judge("hover", "constant `rows` = 4" in hover.contents.value, True)
    place = editor.at(uri, "rows, 4")
    references = await editor.client.text_document_references_async(
        types.ReferenceParams(text_document=document, position=place,
                              context=types.ReferenceContext(include_declaration=True))
    )
    judge("references", sorted(one.range.start.line for one in references), [1, 2, 2])
    definition = await editor.client.text_document_definition_async(
        types.DefinitionParams(text_document=document, position=editor.at(uri, "rows ; é"))
    )
    judge("definition", definition[0].range.start, place)
    edit = await editor.client.text_document_rename_async(
        types.RenameParams(text_document=document, position=place, new_name="height")
    )
    judge("another name", edited(editor.texts[uri], edit.changes[uri]), editor.texts[uri].replace("rows", "height"))
    completion = await editor.client.text_document_completion_async(
        types.CompletionParams(text_document=document, position=editor.at(uri, "local[rows"))
    )
    judge("completion", "local" in [item.label for item in completion.items], True)
    signature = await editor.client.text_document_signature_help_async(
        types.SignatureHelpParams(text_document=document, position=editor.at(uri, "acc[0], 1", len("acc[")))
    )
    judge("signature", "MatMul" in str(signature) or "matmul" in signature.signatures[0].label, True)
    symbols = await editor.client.text_document_document_symbol_async(
        types.DocumentSymbolParams(text_document=document)
    )
    judge("outline", [one.name for one in symbols], ["rows"])


async def latency(editor, count):
    """Measures the time from a change in a program of `count` lines to its diagnostics, and to colors and hints of a screen."""
    lines = [f"    matmul local[{index % 1000}], acc[{index % 100}], 4 ; {index} é" for index in range(count)]
    path = editor.folder / "long.s"
    uri = editor.open(path, "; npu: target tcu:pynqz1\n" + "\n".join(lines) + "\n")
    await editor.diagnostics(uri, lambda published: True)
    document = types.TextDocumentIdentifier(uri=uri)
    changes, screens = [], []
    for index in range(20):
        # An additional letter causes an error, which is reported at once; then it is removed.
        place = types.Position(line=1 + (count - 1) * (index + 1) // 22, character=5)
        begun = time.monotonic()
        editor.change(uri, "x", types.Range(start=place, end=place))
        await editor.diagnostics(uri, lambda published: True)
        changes.append(1000 * (time.monotonic() - begun))
        shown = types.Range(start=types.Position(line=max(place.line - 30, 0), character=0),
                            end=types.Position(line=place.line + 30, character=0))
        begun = time.monotonic()
        await editor.client.text_document_semantic_tokens_range_async(
            types.SemanticTokensRangeParams(text_document=document, range=shown)
        )
        await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(text_document=document, range=shown)
        )
        screens.append(1000 * (time.monotonic() - begun))
        after = types.Position(line=place.line, character=6)
        editor.change(uri, "", types.Range(start=place, end=after))
        await editor.diagnostics(uri, lambda published: True)
    for what, times in (("a change is told", changes), ("colors and hints of a screen", screens)):
        print(f"{count} lines: {what} after {statistics.median(times):.1f} ms (the slowest {max(times):.1f})")


async def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    npu.add_arguments(parser)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=10_000, help="lines of the program whose changes are timed")
    arguments = parser.parse_args()
    command = pathlib.Path(arguments.npu or npu.default_command()).resolve()
    complaints, count = [], 0

    def judge(what, found, wanted):
        nonlocal count
        count += 1
        if found != wanted:
            complaints.append(what)
            print(f"{what}:\n    found    {str(found)[:2000]}\n    expected {str(wanted)[:2000]}")

    with tempfile.TemporaryDirectory(prefix="npukit-") as folder:
        async with Editor(command, pathlib.Path(folder).resolve()) as editor:
            await examples(editor, command, judge)
            await faults(editor, command, judge, random.Random(arguments.seed))
            await session(editor, judge)
            await latency(editor, arguments.lines)
    print(f"{count - len(complaints)} of {count} as expected")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
