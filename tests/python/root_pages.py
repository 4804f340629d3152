"""Pages of the book that are files at the root of the repository: a hook of MkDocs (`mkdocs.yml`).

Their links to pages of the book stay within the book; links to other files lead to the repository on the web.
"""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/npukit/npukit/blob/main"
PAGES = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
LINK = re.compile(r"\]\(([^):#\s]+)((?:#[^)\s]*)?)\)")


def on_files(files, config):
    """Called by MkDocs with all files of the book; adds the pages."""
    for page, source in PAGES.items():
        text = (ROOT / source).read_text()
        files.append(File.generated(config, page, content=LINK.sub(moved, text)))
    return files


def moved(link):
    """Returns a link of a file at the root as a link of the book."""
    path, heading = link[1], link[2]
    pages = {source: page for page, source in PAGES.items()}
    if path in pages:
        return f"]({pages[path]}{heading})"
    if path.startswith("docs/") and path.endswith((".md", ".svg", ".png")):
        return f"]({path.removeprefix('docs/')}{heading})"
    return f"]({REPOSITORY}/{path}{heading})"
