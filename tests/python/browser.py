"""Pages of `npu report` in an offline browser, for `report_page.py`.

Main type: `Site`. A failed expectation raises `Failure`.
"""

import json
import pathlib
import re

DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.S)


class Failure(Exception):
    """A failed expectation about a page."""


def expect(good, what):
    if not good:
        raise Failure(what)


class Site:
    """The pages, the command's output to compare with, and the browser."""

    def __init__(self, browser, folder, made):
        self.browser, self.folder, self.made = browser, pathlib.Path(folder), made
        self.contexts = []

    def document(self, name):
        """Returns the data in a page."""
        text = (self.made.pages / f"{name}.html").read_text(encoding="utf-8")
        return json.loads(DATA.search(text)[2])

    def edited(self, name, change):
        """Writes a copy of a page with data changed by `change`; returns its path."""
        text = (self.made.pages / f"{name}.html").read_text(encoding="utf-8")
        document = json.loads(DATA.search(text)[2])
        change(document)
        data = json.dumps(document).replace("<", "\\u003c")
        path = self.folder / f"edited-{len(self.contexts)}.html"
        path.write_text(DATA.sub(lambda found: found[1] + data + found[3], text), encoding="utf-8")
        return path

    def open(self, name, hash="", width=1280, height=900, **options):
        """Opens a page in an offline tab; records its requests and errors."""
        path = name if isinstance(name, pathlib.Path) else self.made.pages / f"{name}.html"
        address = path.resolve().as_uri()
        context = self.browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        self.contexts.append(context)
        context.route("**/*", lambda route: route.continue_() if route.request.url.split("#")[0] == address else route.abort())
        tab = context.new_page()
        tab.complaints, tab.requests = [], []
        tab.on("console", lambda line: tab.complaints.append(line.text) if line.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda request: tab.requests.append(request.url.split("#")[0]))
        tab.goto(address + hash)
        settle(tab)
        expect(tab.requests == [address], f"it requests {tab.requests}")
        return tab

    def close(self):
        for context in self.contexts:
            context.close()
        self.contexts.clear()


def settle(tab):
    """Waits until changes are drawn: first sizes, then frames."""
    tab.evaluate("""() => new Promise((done) => {
        let frames = 6;
        const next = () => ((frames -= 1) > 0 ? requestAnimationFrame(next) : done());
        next();
    })""")


def is_quiet(tab):
    expect(not tab.complaints, f"it complains: {tab.complaints[:3]}")


def sections(tab):
    return tab.eval_on_selector_all("main > section", "all => all.map((one) => one.id)")


def rows(tab, table):
    """Returns the texts of a table's cells."""
    return tab.eval_on_selector_all(
        f'table[data-name="{table}"] tbody tr',
        "all => all.map((row) => [...row.children].map((cell) => cell.textContent))")


def column(tab, table, key):
    """Returns the texts of a table's column."""
    keys = tab.eval_on_selector_all(f'table[data-name="{table}"] thead th', "all => all.map((one) => one.dataset.key)")
    expect(key in keys, f"table {table} has no column {key}; available: {keys}")
    return [row[keys.index(key)] for row in rows(tab, table)]


def number(text):
    """Parses a number in the page's notation; `None` if it is missing."""
    found = re.search(r"-?[0-9][0-9,]*(\.[0-9]+)?(e-?[0-9]+)?", text)
    return float(found[0].replace(",", "")) if found else None


def natural(text):
    """Sort key of names, with numbers in them compared by value."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", text)]


def layer(tab):
    """Returns the layer in the address."""
    return tab.evaluate("new URLSearchParams(location.hash.slice(1)).get('layer')")


def visible(tab):
    """Returns the first and last cycle of the timeline's view."""
    text = tab.inner_text('[data-name="timeline-range"]')
    return [number(part) for part in re.findall(r"[0-9][0-9,]*", text)[:2]]


def picture(tab, name, nth=0):
    """Returns a checksum of a canvas' pixels, and the share of colored pixels. Texts and lines have no color."""
    return tab.evaluate("""([name, nth]) => {
        const canvas = document.querySelectorAll(`canvas[data-name="${name}"]`)[nth];
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        let [sum, colored] = [0, 0];
        for (let at = 0; at < data.length; at += 4) {
            const [red, green, blue, opaque] = data.subarray(at, at + 4);
            sum = (sum * 31 + red + 256 * green + 65536 * blue + opaque) % 4294967291;
            if (opaque > 128 && Math.max(red, green, blue) - Math.min(red, green, blue) > 45) colored += 1;
        }
        return [sum, colored / (data.length / 4)];
    }""", [name, nth])


def fits(tab):
    """Whether the body fits the window."""
    return tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth && document.body.scrollWidth <= window.innerWidth")


def grouped(value):
    return f"{value:,}"
