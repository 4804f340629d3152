"""Samples for trained networks: pages of text, figures, files and sentences that are generated here, with known answers.

Everything is random with fixed seeds, and drawn with Pillow and its own font, so that the samples are the same on all
machines. Only some of the `files` are the machine's own.
"""

import gzip
import io
import json
import pathlib
import random
import sys
import sysconfig
import zipfile

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WORDS = """anchor basket candle dragon engine forest garden harbour island jacket kettle ladder market number orange
pencil quartz river silver tunnel umbrella valley window yellow zebra bridge copper double eagle fabric gravel hollow
invoice journal kitchen lantern mountain network object picture quality railway signal theatre update village weather
Amsterdam Berlin Chicago Dublin Geneva Helsinki Jakarta Lisbon Madrid Oslo Prague Quebec Rome Sydney Tokyo
Vienna""".split()

# Height and width of a page, and the number of its lines.
PAGE, LINES = (480, 640), 10


def page(seed):
    """Returns a page, as an array of 480 x 640 x 3 bytes, and its lines: texts, boxes as x0, y0, x1, y1.

    Paper, ink, size, noise and blur vary, and about one line in four is upside down.
    """
    chance = random.Random(seed)
    height, width = PAGE
    paper, ink = chance.randrange(180, 256), chance.randrange(0, 90)
    picture = Image.new("RGB", (width, height), tuple(paper - chance.randrange(12) for _ in range(3)))
    lines = []
    for place in range(LINES):
        text, size = phrase(chance), chance.randrange(20, 31)
        strip = inked(text, size, ink, picture.getpixel((0, 0)))
        x, y = chance.randrange(16, max(17, width - strip.width - 16)), 6 + place * (height // LINES)
        picture.paste(strip.rotate(180) if chance.random() < 0.25 else strip, (x, y))
        lines.append((text, (x, y, x + strip.width, y + strip.height)))
    picture = picture.filter(ImageFilter.GaussianBlur(chance.random() * 0.7))
    noise = np.random.default_rng(seed).normal(0, chance.random() * 6, (height, width, 3))
    return np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8), lines


def phrase(chance):
    """Returns up to 20 characters: words, and sometimes a number."""
    text = chance.choice(WORDS)
    while len(text) < 12:
        more = str(chance.randrange(10, 10_000)) if chance.random() < 0.3 else chance.choice(WORDS)
        text += f" {more}"
    return text[:20].strip()


def inked(text, size, ink, paper):
    """Draws only the text on paper."""
    font = ImageFont.load_default(size)
    left, top, right, bottom = (int(edge) for edge in font.getbbox(text))
    strip = Image.new("RGB", (right - left + 6, bottom - top + 6), paper)
    ImageDraw.Draw(strip).text((3 - left, 3 - top), text, font=font, fill=(ink, ink, ink))
    return strip


def figure(seed, size=320):
    """Draws people of circles and bars in front of rectangles, as an array of size x size x 3 bytes."""
    chance = random.Random(seed)
    shade = lambda low, high: tuple(chance.randrange(low, high) for _ in range(3))
    picture = Image.new("RGB", (size, size), shade(40, 230))
    draw = ImageDraw.Draw(picture)
    for _ in range(chance.randrange(2, 7)):
        x, y = chance.randrange(size), chance.randrange(size)
        draw.rectangle((x, y, x + chance.randrange(20, 140), y + chance.randrange(20, 140)), fill=shade(20, 240))
    for _ in range(chance.randrange(1, 3)):
        person(draw, chance, chance.randrange(70, size - 70), chance.randrange(8, 60), chance.uniform(0.8, 1.7))
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(0.4 + 1.2 * chance.random())))


def person(draw, chance, x, y, scale):
    """Draws a person in shirt and shorts whose head begins at a point."""
    red = chance.randrange(150, 245)
    skin = (red, int(red * 0.76), int(red * 0.62))
    color = lambda low, high: tuple(chance.randrange(low, high) for _ in range(3))
    hair, shirt, shorts = color(10, 90), color(30, 230), color(30, 160)
    dark = tuple(part * 3 // 5 for part in skin)
    at = lambda *edges: [(x if place % 2 == 0 else y) + edge * scale for place, edge in enumerate(edges)]
    wide = lambda share: max(1, int(share * scale))
    for side in (-1, 1):
        draw.line(at(side * 26, 80, side * 44, 126), fill=skin, width=wide(13))
        draw.line(at(side * 12, 150, side * 15, 215), fill=skin, width=wide(19))
        draw.ellipse(at(side * 16 - 10, 208, side * 16 + 10, 222), fill=skin)
    draw.rounded_rectangle(at(-28, 66, 28, 140), radius=14 * scale, fill=shirt)
    draw.rectangle(at(-28, 132, 28, 170), fill=shorts)
    draw.rectangle(at(-9, 52, 9, 70), fill=dark)
    draw.ellipse(at(-27, -4, 27, 52), fill=hair)
    draw.ellipse(at(-20, 4, 20, 58), fill=skin)
    for eye in (-9, 9):
        draw.ellipse(at(eye - 4, 22, eye + 4, 28), fill=(245, 245, 245))
        draw.ellipse(at(eye - 2, 22, eye + 2, 28), fill=(30, 30, 30))
        draw.line(at(eye - 5, 18, eye + 5, 17), fill=hair, width=wide(2))
    draw.line(at(0, 28, -2, 38, 2, 38), fill=dark, width=wide(1.5))
    draw.ellipse(at(-8, 43, 8, 48), fill=(170, 60, 60))


def files(count, root):
    """Returns contents of files by name: generated ones, then some of each extension of the checkout, Python and the system."""
    found = dict(generated())
    ours = [root / name for name in ("crates", "docs", "tests", "models")]
    places = [*ours, pathlib.Path(sysconfig.get_path("stdlib")),
              *map(pathlib.Path, ("/usr/share", "/usr/bin", "/usr/lib"))]
    each, chance = {}, random.Random(0)
    for place in places:
        listed = sorted(place.rglob("*")) if place.is_dir() else []
        chance.shuffle(listed)
        for path in listed[:20_000]:
            kind = (str(place), path.suffix)
            if each.get(kind, 0) == 4 or path.is_symlink() or not path.is_file() or path.stat().st_size < 64:
                continue
            try:
                with path.open("rb") as file:
                    found[str(path)] = file.read(1 << 20)
            except OSError:
                continue
            each[kind] = each.get(kind, 0) + 1
    names = sorted(found)
    chance.shuffle(names)
    return {name: found[name] for name in names[:count]}


def generated():
    """Returns files of known formats with generated contents, by name."""
    picture = Image.fromarray(figure(1000))
    for form in ("png", "jpeg", "gif", "bmp", "tiff", "webp", "ppm", "ico"):
        for place in range(3):
            data = io.BytesIO()
            picture.resize((64 + 16 * place, 64)).save(data, form)
            yield f"picture{place}.{form}", data.getvalue()
    for seed in range(4):
        chance = random.Random(seed)
        rows = [{"name": phrase(chance), "count": chance.randrange(1000), "share": chance.random()} for _ in range(60)]
        text = json.dumps(rows, indent=seed).encode()
        yield f"table{seed}.json", text
        yield f"table{seed}.gz", gzip.compress(text)
        yield f"table{seed}.csv", "\n".join(f"{row['name']},{row['count']},{row['share']}" for row in rows).encode()
        cells = "".join(f"<tr><td>{row['name']}</td><td>{row['count']}</td></tr>\n" for row in rows)
        yield f"page{seed}.html", f"<!doctype html>\n<html><body><table>{cells}</table></body></html>".encode()
        yield f"list{seed}.xml", f"<?xml version='1.0'?>\n<list>{cells}</list>".encode()
        yield f"random{seed}.bin", chance.randbytes(4096)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("table.json", text)
        yield f"packed{seed}.zip", packed.getvalue()
        array = io.BytesIO()
        np.save(array, np.random.default_rng(seed).normal(size=(40, 40)))
        yield f"array{seed}.npy", array.getvalue()
    yield "program", pathlib.Path(sys.executable).resolve().read_bytes()[: 1 << 20]


PEOPLE = [("a man", "a guy"), ("a woman", "a lady"), ("a child", "a kid"), ("a doctor", "a physician"),
          ("a teacher", "an instructor"), ("a soldier", "a military man"), ("a cook", "a chef"),
          ("a tourist", "a traveller"), ("a farmer", "a grower of crops"), ("a musician", "a performer of music")]
DEEDS = [("is riding a bicycle", "rides a bike"), ("is eating a meal", "has some food"),
         ("buys a new car", "purchases a new automobile"), ("is playing the guitar", "plays a guitar"),
         ("reads a book", "is reading a novel"), ("repairs the roof of a house", "fixes a house's roof"),
         ("sleeps on the sofa", "takes a nap on the couch"), ("speaks on the phone", "is making a telephone call"),
         ("walks a dog in the park", "takes the dog for a walk through the park"),
         ("cuts an onion with a knife", "is slicing onions")]


def sentence_pairs(count):
    """Returns pairs of sentences, and whether they have the same meaning, which holds for every other pair."""
    chance, pairs = random.Random(0), []
    cases = [(who, what) for who in range(len(PEOPLE)) for what in range(len(DEEDS))]
    chance.shuffle(cases)
    for place in range(count):
        who, what = cases[place // 2 % len(cases)]
        same = place % 2 == 0
        other = (who, what) if same else ((who + 1 + chance.randrange(9)) % 10, (what + 1 + chance.randrange(9)) % 10)
        first, second = f"{PEOPLE[who][0]} {DEEDS[what][0]}.", f"{PEOPLE[other[0]][1]} {DEEDS[other[1]][1]}."
        pairs.append((first.capitalize(), second.capitalize(), same))
    return pairs
