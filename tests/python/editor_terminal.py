"""Tests the client of `editors/neovim` in Neovim, on a terminal of tmux.

Main function: `main`. Opens a text with a misspelled instruction, and checks the error, colors, words after
instructions and hover against the image in `docs/images` (`--bless` renews it). Then it applies the editor's fix,
renames a symbol, jumps to a definition, and formats the text.
"""

import argparse
import os
import pathlib
import re
import shlex
import sys
import tempfile

import screen

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "editor-neovim.svg"
SIZE = (110, 30)

TEXT = """; npu: target tcu:cmoda7
; Two vectors times the weights of a layer.
.equ x, 8

    datamove local[0] <- dram1[0], 5
    loadweight local[0], 5
    datamove local[x] <- dram0[0], 2
    matmul local[x], acc[0], 2
"""

# Fixed colors of the editor, for the image.
INIT = """vim.opt.runtimepath:append({folder})
vim.opt.number, vim.opt.signcolumn, vim.opt.termguicolors, vim.opt.swapfile = true, "yes", true, false
vim.diagnostic.config({{ virtual_text = true }})
require("npukit").setup({{ command = {{ {npu}, "lsp" }} }})
"""


def lua(text):
    """Returns a text as a Lua string."""
    return "[==[" + str(text) + "]==]"


def line(text, number):
    """Returns a line of the program on the screen, without the hints after it."""
    found = re.search(rf"^[ \w]*\b{number} (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def go_to(terminal, number):
    terminal.type(f"{number}G^", enter=False)
    terminal.wait(f"{number},")


def drive(terminal, bless):
    """Runs the session; returns whether the screen equals the image."""
    terminal.type(f"{shlex.quote(str(pathlib.Path(sys.executable).parent / 'nvim'))} --clean -u init.lua scale.s")
    shown = terminal.wait("there is no instruction `loadweight`", "did you mean `loadweights`?", "0000000000040022")
    assert line(shown, 5).split()[-1] == "0000000000040022", "no word behind an instruction"
    assert re.search(r"^E +6 ", shown, re.MULTILINE), "no sign before the line at fault"
    go_to(terminal, 8)
    terminal.keys("K")
    terminal.wait("MatMul", "accumulator", "4096", "opcode")
    ansi = terminal.ansi()
    assert len(set(re.findall(r"38;2;\d+;\d+;\d+", ansi))) > 4, "words have no colors"
    is_kept = screen.judge(PICTURE, screen.picture(ansi, SIZE, "editor-neovim", "nvim scale.s"), bless)
    go_to(terminal, 6)
    terminal.wait(without=["opcode"])
    terminal.keys("g", "r", "a")
    terminal.wait("Code actions", "loadweights")
    terminal.type("1")
    terminal.wait("loadweights local[0], 5", without=["there is no instruction", "Code actions"])
    # When the text is valid, the clock shows cycles.
    terminal.wait(" cy", without=["there is no instruction"])
    go_to(terminal, 8)
    terminal.type("f[l", enter=False)
    terminal.type(":lua vim.lsp.buf.rename('rows')")
    terminal.wait(".equ rows, 8", "local[rows] <- dram0[0], 2", "matmul local[rows]")
    terminal.keys("C-]")
    terminal.wait("3,6")
    terminal.type(":normal! GO        matmul   local[rows],acc[4],2")
    terminal.type(":lua vim.lsp.buf.format()")
    terminal.wait("    matmul local[rows], acc[4], 2")
    terminal.type(":qa!")
    terminal.wait("$", without=["matmul"])
    return is_kept


def main():
    """Runs all tests; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "npu"
    parser.add_argument("--npu", type=pathlib.Path, default=default, help="the command to test (target/release/npu)")
    parser.add_argument("--bless", action="store_true", help="renew the image")
    arguments = parser.parse_args()
    if not screen.available():
        raise SystemExit("error: tmux is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "scale.s").write_text(TEXT)
        init = INIT.format(folder=lua(ROOT / "editors" / "neovim"), npu=lua(arguments.npu.resolve()))
        (path / "init.lua").write_text(init)
        with screen.Terminal(folder, SIZE) as terminal:
            is_kept = drive(terminal, arguments.bless)
    print("Neovim: errors, hover, a fix, a rename, a definition, formatting")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
