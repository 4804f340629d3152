"""A terminal of `tmux`, driven like a user, and images of its screen.

Main type: `Terminal`. `picture` makes an SVG of a screen, which contains the screen's text; `judge` compares a screen
with its stored image.
"""

import difflib
import html
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme

# Time limit in seconds of a wait.
PATIENCE = 30
# Variables that would override the colors of the test.
COLORS = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM")
# Seconds between two polls of the screen.
PAUSE = 0.05

# Light text on dark ground: black, red, green, yellow, blue, magenta, cyan, white, and the bright variants.
GROUND = 0x171A21
LETTERS = 0xD8DCE4
NORMAL = [GROUND, 0xE86767, 0x7EC778, 0xEBC45C, 0x68A0EB, 0xD082D6, 0x5CC8CD, 0xC8CCD4]
BRIGHT = [0x707886, 0xFF8080, 0x96E090, 0xFFDA70, 0x86B8FF, 0xE89CEE, 0x78E0E4, 0xF0F2F6]


def parts(color):
    """Red, green and blue of a color."""
    return tuple(color.to_bytes(3, "big"))


THEME = TerminalTheme(parts(GROUND), parts(LETTERS), [parts(c) for c in NORMAL], [parts(c) for c in BRIGHT])

# The parts in braces are rich's. Readers use their own font.
SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Lost(Exception):
    """The screen does not show the expected text in time."""


class Terminal:
    """A terminal of some columns and lines with its own shell, in `folder`."""

    def __init__(self, folder, size=(120, 34), **variables):
        self.columns, self.lines = size
        self._socket = tempfile.TemporaryDirectory(prefix="npukit-tmux-")
        environment = {key: value for key, value in os.environ.items() if key not in COLORS}
        environment |= {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "HOME": self._socket.name, **variables}
        settings = pathlib.Path(self._socket.name) / "tmux.conf"
        settings.write_text('set -g default-terminal "tmux-256color"\nset -g status off\nset -sg escape-time 0\n')
        self._command = ["tmux", "-u", "-S", f"{self._socket.name}/socket", "-f", str(settings)]
        size = ["-x", str(self.columns), "-y", str(self.lines)]
        words = ["new-session", "-d", *size, "-c", str(folder), "env", "PS1=$ ", "sh"]
        subprocess.run([*self._command, *words], env=environment, check=True)
        self.wait("$")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self._command, "kill-server"], check=False, capture_output=True)
        self._socket.cleanup()

    def _tmux(self, *words):
        return subprocess.run([*self._command, *words], check=True, capture_output=True, text=True).stdout

    def keys(self, *names):
        """Presses keys, by their names in tmux."""
        for name in names:
            self._tmux("send-keys", name)

    def type(self, text, enter=True):
        """Types a text, followed by a key."""
        self._tmux("send-keys", "-l", text)
        if enter:
            self.keys("Enter")

    def resize(self, columns, lines):
        """Resizes the terminal."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def text(self):
        """Returns the screen, line by line."""
        return self._tmux("capture-pane", "-p").rstrip("\n")

    def ansi(self):
        """Returns the screen with colors."""
        return self._tmux("capture-pane", "-p", "-e", "-N").rstrip("\n")

    def value(self, form):
        """Returns a property of the terminal in tmux, for example `#{alternate_on}`."""
        return self._tmux("display-message", "-p", form).strip()

    def wait(self, *texts, without=()):
        """Waits until the screen shows all of some texts, and none of others, and then stops changing."""
        end, before = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            now = self.text()
            if all(text in now for text in texts) and not any(text in now for text in without):
                if now == before:
                    return now
                before = now
            time.sleep(PAUSE)
        raise Lost(f"{' and '.join(map(repr, texts))} did not appear on the screen:\n{self.text()}")

    def differs(self, before):
        """Waits until the screen, including its colors, differs from `before`."""
        end = time.monotonic() + PATIENCE
        while self.ansi() == before:
            if time.monotonic() > end:
                raise Lost(f"the screen does not change:\n{self.text()}")
            time.sleep(PAUSE)


def picture(ansi, size, name, title):
    """Makes an SVG of a screen; `name` makes its styles unique on a page."""
    columns, lines = size
    size = {"width": columns, "height": lines}
    console = Console(record=True, **size, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    texts = list(AnsiDecoder().decode(ansi))
    for text in texts:
        console.print(text, no_wrap=True, overflow="crop", crop=True, highlight=False)
    drawn = console.export_svg(title=title, theme=THEME, code_format=SVG, unique_id=name)
    plain = "\n".join(text.plain.rstrip() for text in texts).rstrip()
    message = f"<title>{html.escape(title)}</title>\n<desc>\n{html.escape(plain)}\n</desc>\n<style>"
    return drawn.replace("<style>", message, 1)


def text_of(svg):
    """Returns the text of the screen in an image."""
    return html.unescape(re.search(r"<desc>\n(.*?)\n</desc>", svg, re.DOTALL)[1])


def judge(path, svg, bless):
    """Compares the screen of an image with the stored image; returns whether the texts are equal.

    With `bless`, the new image is stored. Colors belong to the terminal: if only they differ, this is reported, but not
    a failure.
    """
    kept = path.read_text() if path.exists() else None
    if bless:
        if kept != svg:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg)
            print(f"{path.name}: written")
        return True
    if kept is None:
        print(f"{path.name}: the image does not exist; --bless makes it")
        return False
    before, now = text_of(kept).split("\n"), text_of(svg).split("\n")
    if before != now:
        print(f"{path.name}: the screen has changed; --bless renews the image")
        print("\n".join(difflib.unified_diff(before, now, "kept", "now", lineterm="")))
        return False
    print(f"{path.name}: unchanged" + ("" if kept == svg else ", except for styles; --bless renews the image"))
    return True


def available():
    """Whether tmux is installed."""
    return shutil.which("tmux") is not None
