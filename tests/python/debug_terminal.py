"""Tests `npu debug` on a terminal: the command runs in tmux, with keys pressed as by a user.

Main function: `main`. Steps through a program of each target and compares the screens with the images in `docs/images`;
`--bless` renews the images. Also tests: no colors, line mode, an interrupted long run, and that the terminal is
restored.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile

import screen

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
SIZE = (124, 36)

# The program of docs/debug.md.
TCU = re.search(r'```asm title="matmul.s"\n(.*?)```', (ROOT / "docs" / "debug.md").read_text(), re.DOTALL)[1]


def example(path):
    return (ROOT / "examples" / path).read_text()


# For each image: the file and its text, the target, the keys, and the expected screen text. A key that begins with `:`
# is a command.
PROGRAMS = {
    "debug-tcu": (
        "matmul.s", TCU, "tcu:cmoda7",
        ["s", "s", "s", "j", "Space", "s", ":who acc[0].0"],
        ["instruction 4 of 6", "2.3125", "*    4", "accumulators", "copied", "waits"],
    ),
    "debug-motion": (
        "matmul.s", TCU, "tcu:cmoda7",
        ["s", "s", "s", "m", "]", "]", "]", "]"],
        ["motion, cycle", "bias", "lane 3", "partial sum"],
    ),
    "debug-opu": (
        "conv.s", example("opu/conv.s"), "opu",
        [":goto instruction 15", ":watch ofm[0] write if > 1000", "c"],
        ["watchpoint 1, hit by instruction", "partial sums", "3072"],
    ),
    "debug-pccx": (
        "gemm.s", example("pccx/gemm.s"), "pccx",
        ["s", "s", "s", ":show l2[0x20:0x22]"],
        ["no next step", "112", "words of eight BF16 values"],
    ),
    "debug-drra": (
        "fir.s", example("drra/fir.s"), "drra",
        [":watch rf.1.0.3 write", ":continue", ":continue", ":continue"],
        ["watchpoint 1, hit by cycle", "rf in slot 1", "ports", "sequencer"],
    ),
}


# A model to compile, and one of its inputs, by file.
ASSETS = ROOT / "crates" / "npukit" / "assets"
MODEL = {name: (ASSETS / name).read_bytes() for name in ("digits.onnx", "digits_images.npy")}


def press(terminal, keys):
    """Presses keys, each of which must change the screen, and types commands."""
    for key in keys:
        if key.startswith(":"):
            terminal.keys(":")
            terminal.wait("\n>")
            terminal.type(key[1:])
            terminal.wait(f"> {key[1:]}")
            # The terminal reads a letter directly after Escape as Alt and the letter, hence the pause.
            terminal.keys("Escape")
            terminal.wait("q quit")
        else:
            before = terminal.ansi()
            terminal.keys(key)
            terminal.differs(before)
            terminal.wait(without=["running"])


def open_program(terminal, npu, file, target, *options):
    terminal.type("clear; " + shlex.join([str(npu), "debug", file, "--target", target, *options]))


def seen(npu, folder, name, command, keys, expected, bless):
    """Steps through a program in a folder; returns whether the screen equals the image."""
    with screen.Terminal(folder, SIZE) as terminal:
        open_program(terminal, npu, *command)
        terminal.wait("next step", " 0 of ", "cycle", without=["..."])
        press(terminal, keys)
        terminal.wait(*expected, without=["running"])
        ansi = terminal.ansi()
        assert re.search(r"\x1b\[[\d;]*(?:33|38;5;3)m", ansi), f"{name}: nothing that a step has changed"
        title = shlex.join(["npu", "debug", command[0], "--target", *command[1:]])
        is_kept = screen.judge(IMAGES / f"{name}.svg", screen.picture(ansi, SIZE, name, title), bless)
        left(terminal)
    return is_kept


def pictures(npu, bless):
    """Runs programs of all targets, and a model, on a terminal with colors. Returns the number of different screens."""
    wrong = 0
    for name, (file, text, target, keys, expected) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / file).write_text(text)
            wrong += not seen(npu, folder, name, (file, target), keys, expected, bless)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in MODEL.items():
            (pathlib.Path(folder) / name).write_bytes(content)
        command = ("digits.onnx", "tcu:pynqz1", "--input", "digits_images.npy")
        # The last scale is the difference between the machine's numbers and float.
        keys = [":goto layer /logits", "p", "n", ":watch acc write", "c", "c", "c", *"xxxx"]
        expected = ["layer /logits", "watchpoint 1, hit by", "accumulators", "waits", ", error"]
        wrong += not seen(npu, folder, "debug-model", command, keys, expected, bless)
    return wrong


def left(terminal):
    """Quits, and checks that the terminal is restored."""
    terminal.keys("q")
    restored(terminal)


def restored(terminal):
    """Checks that the terminal is restored."""
    terminal.wait("$", without=["next step"])
    assert terminal.value("#{alternate_on}") == "0", "the screen is not the shell's again"
    assert terminal.value("#{cursor_flag}") == "1", "the cursor is hidden"
    terminal.type("clear; stty -a")
    found = terminal.wait("icanon")
    assert re.search(r"(?<!-)icanon.*(?<!-)\becho\b", found, re.DOTALL), "keys are not the shell's again"


def colorless(npu, folder):
    """With NO_COLOR, and with --color never, no color is used, but changes are still visible."""
    for variables, options in [({"NO_COLOR": "1"}, []), ({}, ["--color", "never"])]:
        with screen.Terminal(folder, SIZE, **variables) as terminal:
            open_program(terminal, npu, "matmul.s", "tcu:cmoda7", *options)
            terminal.wait("next step", without=["..."])
            terminal.keys("s")
            terminal.wait("instruction 1 of 6")
            codes = {code for codes in re.findall(r"\x1b\[([\d;:]*)m", terminal.ansi()) for code in codes.split(";")}
            colored = {code for code in codes - {"39", "49"} if re.fullmatch(r"[34]\d|9\d|10\d", code)}
            assert not colored, f"colors in spite of {variables or options}: {colored}"
            assert "7" in codes, "nothing is reversed"
            left(terminal)


def narrow(npu, folder):
    """A terminal of 80 x 24, and one that is shrunk while debugging."""
    with screen.Terminal(folder, (80, 24)) as terminal:
        open_program(terminal, npu, "matmul.s", "tcu:cmoda7")
        terminal.wait("instruction 0 of 6", "next step", "clock", "output", "local")
        for size in [(30, 10), (10, 3), (80, 24)]:
            terminal.resize(*size)
        terminal.keys("s")
        terminal.wait("instruction 1 of 6", "local", "clock")
        left(terminal)


def plainly(npu, folder):
    """Line mode, on request, and if the terminal supports nothing else."""
    for variables, options in [({}, ["--plain"]), ({"TERM": "dumb"}, [])]:
        with screen.Terminal(folder, SIZE) as terminal:
            setting = "".join(f"{key}={value} " for key, value in variables.items())
            words = shlex.join([str(npu), "debug", "matmul.s", "--target", "tcu:cmoda7", *options])
            terminal.type(setting + words)
            terminal.wait("\n>", "instruction 0: datamove")
            terminal.type("step 4")
            terminal.type("show acc[0]")
            terminal.wait("acc[0]  2.3125 2.0625 -1.5625 6.5625")
            assert terminal.value("#{alternate_on}") == "0"
            terminal.keys("C-d")
            terminal.wait("> $")


def stopped(npu, folder):
    """A key interrupts a long run, which can be continued."""
    text = "    datamove local[0] <- dram0[0], 4096\n" * 40_000
    (pathlib.Path(folder) / "long.s").write_text(text)
    with screen.Terminal(folder, SIZE) as terminal:
        open_program(terminal, npu, "long.s", "tcu:cmoda7")
        terminal.wait("instruction 0 of 40000")
        terminal.keys("c")
        terminal.keys("Escape")
        text = terminal.wait("stopped", without=["running"])
        position = int(re.search(r"instruction (\d+) of 40000", text)[1])
        assert position < 40_000
        terminal.keys("s")
        terminal.wait(f"instruction {position + 1} of 40000")
        left(terminal)


def ended(npu, folder):
    """A signal that ends the command also restores the terminal."""
    with screen.Terminal(folder, SIZE) as terminal:
        open_program(terminal, npu, "matmul.s", "tcu:cmoda7")
        terminal.wait("next step", without=["..."])
        shell = terminal.value("#{pane_pid}")
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        assert len(children) == 1, children
        os.kill(int(children[0]), signal.SIGTERM)
        restored(terminal)


def main():
    """Runs all tests; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "npu"
    parser.add_argument("--npu", type=pathlib.Path, default=default, help="the command to test (target/release/npu)")
    parser.add_argument("--bless", action="store_true", help="renew the images")
    arguments = parser.parse_args()
    npu = arguments.npu.resolve()
    if not screen.available():
        raise SystemExit("error: tmux is not installed")
    wrong = pictures(npu, arguments.bless)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "matmul.s").write_text(TCU)
        for judged in (colorless, narrow, plainly, stopped, ended):
            judged(npu, folder)
            print(f"{judged.__name__}: {judged.__doc__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
