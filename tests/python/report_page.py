"""Tests the page of `npu report` in a browser.

    pip install -r requirements-page.txt        (and Chromium, as Debian's package `chromium`)
    python report_page.py [--npu COMMAND] [--browser COMMAND] [PATTERN ...]

The command makes pages of a network, of two runs and of an exploration; pages with other data are derived from them.
Each is opened offline, used by pointer and keyboard, and compared with the command's `--json`. PATTERNs select checks
by name. Exits with status 1 if a check fails. `browser.py` has the functions to inspect pages.
"""

import argparse
import copy
import csv
import fnmatch
import json
import re
import shutil
import sys
import tempfile

import numpy as np
from playwright.sync_api import Error, sync_playwright

from browser import (
    Failure, Site, column, expect, fits, grouped, is_quiet, layer, natural, number, picture, rows, sections,
    settle, visible,
)
from npu import Npu, add_arguments

NETWORK, TARGET, OTHER = "resnet20v2", "tcu:ultra96v2", "tcu:pynqz1"
SHAPE = (2, 3, 32, 32)
SPACE = """
target = "tcu:ultra96v2"
minimize = ["milliseconds", "dsp"]
[parameters]
array_size = [4, 8, 16]
clock_mhz = [100, 200]
[options]
search = ["quick"]
"""
LABELS = [3, 5]
RUN_SECTIONS = [
    "summary", "problems", "layers", "timeline", "memory", "roofline", "values", "graph", "parameters"
]
# A name with HTML in it, and too long for any place.
HOSTILE = "</script><script>window.harm = 1</script><img src=x onerror='window.harm = 2'> & \"q\" " + "long_" * 60

CHECKS = []


def check(function):
    """Registers a check; its name is selected by PATTERNs."""
    CHECKS.append(function)
    return function


@check
def every_section_has_content(site):
    tab = site.open("one")
    expect(sections(tab) == RUN_SECTIONS, f"sections are {sections(tab)}")
    links = tab.eval_on_selector_all("nav a", "all => all.map((one) => one.getAttribute('href').slice(1))")
    expect(links == RUN_SECTIONS, f"links are {links}")
    for name in RUN_SECTIONS:
        text = tab.inner_text(f"#{name} .body")
        expect(len(text) > 60, f"{name} says only {text!r}")
        expect("could not be drawn" not in text, f"{name}: {text}")
    for name in ["timeline", "memory"]:
        expect(picture(tab, name)[1] > 0.02, f"the canvas of {name} is empty: {picture(tab, name)[1]:.2%} have a color")
    for name, marks in {"roofline": ".point", "histogram": "rect", "graph": ".node"}.items():
        expect(tab.locator(f'svg[data-name="{name}"] {marks}').count() > 4, f"the drawing of {name} is empty")
    is_quiet(tab)


@check
def figures_are_those_of_the_command(site):
    time, ran = site.made.time(), site.made.ran()
    tab = site.open("one")
    tiles = dict(tab.eval_on_selector_all(".tile", "all => all.map((one) => [one.children[0].textContent, one.textContent])"))
    wanted = {"Cycles": grouped(time["cycles"]["hw"]), "MACs": grouped(time["macs"]), "Instructions": grouped(time["instructions"]),
              "Utilization": f"{100 * time['utilization']:.1f} %", "Latency": f"{time['latency_ms']:.4g} ms",
              "Saturations": grouped(ran["saturations"]), "Signal to noise": f"{ran['signal_to_noise_db']:.1f} dB"}
    for name, figure in wanted.items():
        expect(figure in tiles[name], f"{name} is {tiles[name]!r}, by the command {figure}")
    for key, text in {"cycles": lambda one: grouped(one["cycles"]), "macs": lambda one: grouped(one["macs_computed"]),
                      "share": lambda one: f"{100 * one['share']:.1f} %", "instructions": lambda one: grouped(one["instructions"]),
                      "utilization": lambda one: f"{100 * one['utilization']:.1f} %", "bound": lambda one: one["roofline"]["bound"]}.items():
        expect(column(tab, "layers", key) == [text(one) for one in time["layers"]], f"column {key} is another than the command's")
    layer_compare = {one["name"]: one for one in ran["layer_compare"]["layers"]}
    for name, shown in zip(column(tab, "layers", "name"), column(tab, "layers", "snr")):
        decibels = layer_compare[name].get("chain_signal_to_noise_db")
        expect(shown == ("\u2013" if decibels is None else f"{decibels:.1f} dB"), f"{name}: {shown} beside {decibels} dB")
    fills = {memory["name"]: memory for memory in site.document("one")["runs"][0]["check"]["verdict"]["memories"]}
    for name, used in zip(column(tab, "fills", "name"), column(tab, "fills", "used")):
        expect(used == grouped(fills[name]["used"]), f"{name}: {used}")
    is_quiet(tab)


@check
def tables_sort_by_click_and_by_keyboard(site):
    tab = site.open("one")
    before = column(tab, "layers", "name")
    head = tab.locator('table[data-name="layers"] th[data-key="cycles"]')
    head.locator("button").click()
    cycles = [number(text) for text in column(tab, "layers", "cycles")]
    expect(cycles == sorted(cycles, reverse=True) and cycles[0] > cycles[-1], f"a click sorts to {cycles[:4]}")
    expect(head.get_attribute("aria-sort") == "descending", "aria-sort does not say so")
    expect(column(tab, "layers", "name") != before, "rows stay where they were")
    head.locator("button").focus()
    tab.keyboard.press("Enter")
    expect([number(text) for text in column(tab, "layers", "cycles")] == cycles[::-1], "Enter does not turn the order round")
    expect(head.get_attribute("aria-sort") == "ascending", "aria-sort does not say so")
    name = tab.locator('table[data-name="layers"] th[data-key="name"]')
    name.locator("button").focus()
    tab.keyboard.press("Space")
    expect(name.get_attribute("aria-sort") == "ascending" and head.get_attribute("aria-sort") == "none", "Space does not sort by name")
    expect(sorted(column(tab, "layers", "name")) == sorted(before), "rows are lost")
    expect(column(tab, "layers", "name") == sorted(before, key=natural), "names are in another order")
    # Missing values are last in both directions.
    snr = tab.locator('table[data-name="layers"] th[data-key="snr"] button')
    for _ in range(2):
        snr.click()
        shown = [number(text) for text in column(tab, "layers", "snr")]
        known = [value for value in shown if value is not None]
        expect(shown[:len(known)] == known, f"missing values stand between: {shown}")
    is_quiet(tab)


@check
def every_column_sorts(site):
    tab = site.open("one")
    heads = tab.locator('table[data-name="layers"] th[scope="col"]')
    for at in range(heads.count()):
        heads.nth(at).locator("button").click()
        expect(heads.nth(at).get_attribute("aria-sort") in ("ascending", "descending"), f"column {at} does not sort")
        sorted_by = tab.locator('table[data-name="layers"] thead th:not([aria-sort="none"])').count()
        expect(sorted_by == 1, f"{sorted_by} columns say that they are sorted by")
    is_quiet(tab)


@check
def the_filter_leaves_what_matches(site):
    tab = site.open("one")
    names = column(tab, "layers", "name")
    wanted = [name for name in names if "conv_1" in name]
    tab.fill('[data-name="layer-filter"]', "conv_1")
    expect(column(tab, "layers", "name") == wanted and 0 < len(wanted) < len(names), "other rows than those of the text")
    tab.fill('[data-name="layer-filter"]', "no such layer")
    expect("No layer" in rows(tab, "layers")[0][0], "it does not say that none is left")
    tab.fill('[data-name="layer-filter"]', "")
    expect(column(tab, "layers", "name") == names, "rows do not come back")
    is_quiet(tab)


@check
def a_selected_layer_is_selected_everywhere(site):
    tab = site.open("one")
    whole = visible(tab)
    name = column(tab, "layers", "name")[5]
    title = tab.inner_text('[data-name="histogram-title"]')
    memory = picture(tab, "memory")
    tab.locator('table[data-name="layers"] tbody tr').nth(5).click()
    settle(tab)
    expect(layer(tab) == name, f"the address says {layer(tab)}")
    expect(tab.inner_text('[data-name="histogram-title"]') != title, "the histogram is of another layer")
    expect(tab.inner_text('[data-name="chosen-name"]') == name, "the side does not name it")
    expect(tab.locator('table[data-name="layers"] tr.chosen').count() == 1, "its row is not marked")
    expect(tab.locator('table[data-name="layers"] tr[aria-current="true"]').count() == 1, "its row does not say so")
    for drawing in ["roofline", "graph"]:
        expect(tab.locator(f'svg[data-name="{drawing}"] .chosen').count() > 0, f"{drawing} does not mark it")
    now = visible(tab)
    expect(now[1] - now[0] < whole[1] - whole[0], "the timeline does not zoom to it")
    start, cycles = span(site, name)
    expect(now[0] <= start and now[1] >= start + cycles, f"the timeline shows {now}, the layer is at {start} for {cycles}")
    expect(picture(tab, "memory") != memory, "the memory does not follow")
    tab.click('[data-name="clear-layer"]')
    expect(layer(tab) is None and tab.locator("tr.chosen").count() == 0, "it stays selected")
    is_quiet(tab)


def span(site, name):
    """First cycle and number of cycles of a layer on the track of layers."""
    timeline = site.document("one")["runs"][0]["timeline"]
    track = next(one for one in timeline["tracks"] if one["name"] == "layers")["slices"]
    index = timeline["layers"].index(name)
    return next((track[at], track[at + 1]) for at in range(0, len(track), 6) if track[at + 3] == index)


@check
def selection_by_keyboard_and_by_address(site):
    tab = site.open("one")
    name = column(tab, "layers", "name")[2]
    tab.locator('table[data-name="layers"] tbody button.pick').nth(2).focus()
    tab.keyboard.press("Enter")
    expect(layer(tab) == name, f"Enter selects {layer(tab)}")
    hash = tab.evaluate("location.hash")
    other = site.open("one", hash)
    expect(other.inner_text('[data-name="chosen-name"]') == name, "an address with a layer does not select it")
    expect(name in other.inner_text('[data-name="histogram-title"]'), "nor its histogram")
    expect(visible(other) == visible(tab), "nor its cycles")
    other.evaluate("location.hash = '#layer=' + encodeURIComponent('no such layer')")
    settle(other)
    expect(other.locator("tr.chosen").count() == 0, "a layer that is not there is selected")
    other.focus('svg[data-name="roofline"]')
    other.keyboard.press("ArrowRight")
    expect(layer(other) in column(other, "layers", "name"), "arrows on the roofline select nothing")
    is_quiet(tab)
    is_quiet(other)


@check
def drawings_are_clicked(site):
    tab = site.open("one")
    first = tab.locator('svg[data-name="roofline"] .point').first
    key = first.get_attribute("data-key")
    first.dispatch_event("click")
    expect(layer(tab) == key, f"a point of the roofline selects {layer(tab)}")
    tab.click('[data-name="clear-layer"]')
    tab.click('[data-name="graph-fit"]')
    node = tab.locator('svg[data-name="graph"] .node[data-key]').nth(2)
    key = node.get_attribute("data-key")
    node.locator("rect").click(force=True)
    expect(layer(tab) == key, f"a node of the graph selects {layer(tab)}")
    tab.click('[data-name="clear-layer"]')
    tab.locator(".strip button").nth(1).click()
    expect(layer(tab) is not None, "a small histogram selects nothing")
    tab.click('[data-name="clear-layer"]')
    tab.click('[data-name="zoom-all"]')
    settle(tab)
    before = picture(tab, "memory")
    tab.locator(".legend button").first.click()
    expect(layer(tab) is not None, "the legend of a memory selects nothing")
    tab.click('[data-name="zoom-all"]')
    settle(tab)
    expect(picture(tab, "memory") != before, "the memory does not mark it")
    tab.click('[data-name="clear-layer"]')
    box = tab.locator('canvas[data-name="timeline"]').bounding_box()
    tab.locator('canvas[data-name="timeline"]').click(position={"x": box["width"] * 0.7, "y": 38})
    expect(layer(tab) is not None, "a slice of the timeline selects nothing")
    is_quiet(tab)


@check
def the_timeline_zooms_and_moves(site):
    tab = site.open("one")
    whole, canvas = visible(tab), tab.locator('canvas[data-name="timeline"]')
    expect(whole == [0, site.made.time()["cycles"]["hw"]], f"it begins with {whole}")
    before = picture(tab, "timeline")
    tab.click('[data-name="zoom-in"]')
    settle(tab)
    zoomed = visible(tab)
    expect(abs((zoomed[1] - zoomed[0]) * 2 - whole[1]) < 3, f"the button zooms to {zoomed}")
    expect(picture(tab, "timeline") != before, "the picture stays the same")
    canvas.focus()
    for key, good in {"+": lambda a, b: b[1] - b[0] < a[1] - a[0], "-": lambda a, b: b[1] - b[0] > a[1] - a[0],
                      "ArrowRight": lambda a, b: b[0] > a[0], "ArrowLeft": lambda a, b: b[0] < a[0], "0": lambda a, b: b == whole}.items():
        was = visible(tab)
        tab.keyboard.press(key)
        expect(good(was, visible(tab)), f"{key} goes from {was} to {visible(tab)}")
    tab.keyboard.press("+")
    was, box = visible(tab), canvas.bounding_box()
    tab.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60)
    tab.mouse.wheel(0, -300)
    tab.wait_for_timeout(100)
    expect(visible(tab)[1] - visible(tab)[0] < was[1] - was[0], "the wheel does not zoom")
    was = visible(tab)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60, steps=4)
    tab.mouse.up()
    expect(visible(tab)[0] > was[0], "a drag does not move")
    expect(layer(tab) is None, "a drag selects a layer")
    is_quiet(tab)


@check
def the_timeline_tells_and_finds(site):
    tab = site.open("one")
    box = tab.locator('canvas[data-name="timeline"]').bounding_box()
    tab.locator('canvas[data-name="timeline"]').hover(position={"x": box["width"] * 0.5, "y": 38})
    tip = tab.inner_text("#tip")
    expect("layers" in tip and "cycles" in tip, f"the tooltip says {tip!r}")
    timeline = site.document("one")["runs"][0]["timeline"]
    name = timeline["names"].index("MatMul")
    count = sum(track["slices"][2::6].count(name) for track in timeline["tracks"] if track["parent"] is None)
    before = picture(tab, "timeline")
    tab.fill('[data-name="timeline-search"]', "MatMul")
    settle(tab)
    found = tab.inner_text('[data-name="timeline-found"]')
    expect(number(found) == count, f"it finds {found}, there are {count}")
    expect(picture(tab, "timeline") != before, "what is found is not marked")
    was = visible(tab)
    tab.click('[data-name="timeline-next"]')
    expect(visible(tab) != was, "the next one is not shown")
    for title in ["Units over the whole", "What is in view", "Instructions by kind"]:
        tab.locator("summary", has_text=title).click()
    time = site.made.time()
    expect(column(tab, "units", "busy") == [grouped(unit["busy"]) for unit in time["units"]], "units are others than the command's")
    expect(column(tab, "kinds", "cycles") == [grouped(kind["cycles"]) for kind in time["kinds"]], "kinds are others than the command's")
    expect(len(rows(tab, "in-view")) >= len(time["units"]), "the table of the view lacks units")
    is_quiet(tab)


@check
def histograms_count_every_value(site):
    tab = site.open("one")
    for at, one in enumerate(site.document("one")["runs"][0]["distributions"][:3]):
        tab.locator(".strip button").nth(at).click()
        facts = tab.inner_text('[data-name="histogram-facts"]')
        below = sum(count for bin, count in enumerate(one["float"]) if one["step"] and 2.0 ** (one["low"] + bin + 1) <= one["step"])
        for text in [f"{sum(one['float']) + one['float_zeros']:,} values", f"{sum(one['chip']) + one['chip_zeros']:,} values"]:
            expect(text in facts, f"{text} is not in {facts!r}")
        expect(below == 0 or f"{below:,} (" in facts, f"{below} values are below the step, it says {facts!r}")
        drawn = tab.locator('svg[data-name="histogram"] rect').count()
        bars = sum(1 for count in [*one["chip"], *one["float"], one["chip_zeros"], one["float_zeros"]] if count)
        expect(drawn == bars, f"{drawn} bars for {bars} counts")
        rims = tab.locator('svg[data-name="histogram"] .rim').count()
        expect(rims == sum(1 for key in ("step", "largest") if one[key]), f"{rims} lines")
    is_quiet(tab)


@check
def the_scheme_can_be_chosen(site):
    for scheme in ["light", "dark"]:
        tab = site.open("one", color_scheme=scheme)
        ground = lambda: tab.evaluate("getComputedStyle(document.body).backgroundColor")
        shade = lambda: sum(map(int, re.findall(r"[0-9]+", ground())[:3]))
        expect((shade() > 380) == (scheme == "light"), f"{scheme}: the ground is {ground()}")
        before = picture(tab, "timeline")
        for wanted in ["light", "dark", "auto"]:
            tab.click('[data-name="scheme"]')
            settle(tab)
            expected = scheme if wanted == "auto" else wanted
            expect((shade() > 380) == (expected == "light"), f"{wanted} on {scheme}: the ground is {ground()}")
            expect((picture(tab, "timeline") == before) == (expected == scheme), f"{wanted} on {scheme}: the canvas does not follow")
        is_quiet(tab)


@check
def narrow_windows_have_all(site):
    for name in ["one", "two", "exploration"]:
        for width in [400, 768, 1280, 1800]:
            tab = site.open(name, width=width)
            expect(fits(tab), f"{name} at {width} pixels scrolls sideways")
            is_quiet(tab)


@check
def paper_has_all(site):
    tab = site.open("one", color_scheme="dark")
    before = picture(tab, "timeline")
    tab.emulate_media(media="print", color_scheme="dark")
    settle(tab)
    expect(picture(tab, "timeline") != before, "canvases keep the colors of the dark")
    expect(tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is dark")
    for hidden in [".side", "#page-controls", "#timeline .controls"]:
        expect(not tab.locator(hidden).first.is_visible(), f"{hidden} is printed")
    expect(tab.locator("details:not([open])").count() == 0, "something stays folded")
    cut = tab.eval_on_selector_all(".scroll", "all => all.filter((one) => one.clientHeight > 0 && one.scrollHeight > one.clientHeight + 2 "
                                              "&& getComputedStyle(one).overflowY !== 'visible').length")
    expect(cut == 0, f"{cut} tables are cut off")
    expect(len(tab.pdf()) > 10000, "no PDF comes of it")
    tab.emulate_media(media="screen", color_scheme="dark")
    settle(tab)
    expect(tab.locator("details[open]").count() == 0, "what was folded stays open")
    is_quiet(tab)


@check
def all_have_names(site):
    for name in ["one", "two", "exploration"]:
        tab = site.open(name)
        lacking = tab.evaluate("""() => [...document.querySelectorAll("button, select, input, canvas, svg[role], nav, aside, section, .scroll")]
            .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()
                || one.labels?.length)).map((one) => one.outerHTML.slice(0, 80))""")
        expect(not lacking, f"{name}: without a name: {lacking[:3]}")
        twice = tab.evaluate("""() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
            return ids.filter((id, at) => ids.indexOf(id) !== at); }""")
        expect(not twice, f"{name}: ids twice: {twice[:3]}")
        levels = tab.eval_on_selector_all("h1, h2, h3", "all => all.map((one) => Number(one.tagName[1]))")
        expect(levels.count(1) == 1, f"{name}: {levels.count(1)} headings of the first level")
        tab.keyboard.press("Tab")
        expect(tab.evaluate("document.activeElement.className") == "skip", f"{name}: the first stop is not the skip link")
        tab.keyboard.press("Enter")
        expect(tab.evaluate("document.activeElement.id") == "main", f"{name}: the skip link leads elsewhere")
        is_quiet(tab)


@check
def two_runs_stand_side_by_side(site):
    tab = site.open("two")
    expect(set(RUN_SECTIONS) | {"compare"} == set(sections(tab)), f"sections are {sections(tab)}")
    ours, theirs = site.document("two")["runs"]
    cycles = [run["time"]["cycles"]["hw"] for run in (ours, theirs)]
    first = rows(tab, "beside")[0]
    expect([number(text) for text in first[1:3]] == cycles, f"cycles are {first}")
    expect(abs(number(first[3]) - cycles[0] / cycles[1]) < 0.006 * cycles[0] / cycles[1], f"their ratio is {first[3]}")
    expect(first[4] == ("better" if cycles[0] < cycles[1] else "worse"), f"which is {first[4]}")
    by_name = {layer["name"]: layer["cycles"] for layer in theirs["time"]["layers"]}
    both = [layer for layer in ours["time"]["layers"] if layer["name"] in by_name]
    shown = list(zip(column(tab, "compare", "name"), column(tab, "compare", "a"), column(tab, "compare", "b")))
    expect(shown == [(one["name"], grouped(one["cycles"]), grouped(by_name[one["name"]])) for one in both], f"layers are {shown[:2]}")
    tab.locator('table[data-name="compare"] th[data-key="ratio"] button').click()
    ratios = [number(text) for text in column(tab, "compare", "ratio") if number(text) is not None]
    expect(ratios == sorted(ratios, reverse=True), f"ratios sort to {ratios[:4]}")
    differing = [row for row in rows(tab, "parameters") if row[3] == "differs"]
    expect(all(row[1] != row[2] for row in differing) and differing, f"differing parameters are {differing}")
    expect(all(row[1] == row[2] for row in rows(tab, "parameters") if row[3] != "differs"), "a difference is not marked")
    is_quiet(tab)


@check
def the_run_shown_can_be_switched(site):
    tab = site.open("two")
    ours, theirs = site.document("two")["runs"]
    expect(visible(tab)[1] == ours["time"]["cycles"]["hw"], "the first run is not shown")
    before = picture(tab, "timeline")
    tab.locator('[data-name="run-chooser"] select').select_option(index=1)
    settle(tab)
    expect(visible(tab)[1] == theirs["time"]["cycles"]["hw"], "the timeline is not of the second")
    expect(picture(tab, "timeline") != before, "the timeline's picture stays")
    expect(column(tab, "layers", "cycles") == [grouped(one["cycles"]) for one in theirs["time"]["layers"]], "the layers stay")
    expect("run=1" in tab.evaluate("location.hash"), "the address does not keep it")
    is_quiet(tab)


@check
def layers_of_one_run_are_named(site):
    def drop(document):
        ours, theirs = document["runs"]
        for run, name in ((ours, "only_ours"), (theirs, "only_theirs")):
            run["time"]["layers"].append({**copy.deepcopy(run["time"]["layers"][-1]), "name": name})
    tab = site.open(site.edited("two", drop))
    texts = tab.locator('#compare [data-name="only"]').all_inner_texts()
    expect(len(texts) == 2 and "only_ours" in texts[0] and "only_theirs" in texts[1], f"it says {texts}")
    expect(not {"only_ours", "only_theirs"} & set(column(tab, "compare", "name")), "they are compared all the same")
    is_quiet(tab)


@check
def points_are_brushed_and_downloaded(site):
    tab = site.open("exploration", accept_downloads=True)
    points = site.made.explored()["points"]
    expect(sections(tab) == ["exploration"], f"sections are {sections(tab)}")
    marks = tab.locator('svg[data-name="pareto"] circle.point')
    expect(marks.count() == len(points), f"{marks.count()} marks for {len(points)} points")
    expect(tab.locator('svg[data-name="pareto"] .pareto').count() == sum(point["pareto"] for point in points), "the front is another")
    expect(tab.locator('svg[data-name="pareto"] .front').count() == 1, "the front has no line")
    expect(len(rows(tab, "points")) == len(points), "the table lacks points")
    svg = tab.locator('svg[data-name="pareto"]')
    svg.scroll_into_view_if_needed()
    centers = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (mark.bounding_box() for mark in marks.all())]
    keys = [mark.get_attribute("data-key") for mark in marks.all()]
    frame = svg.bounding_box()
    middle = sorted(x for x, _ in centers)[len(centers) // 2] + 1
    tab.mouse.move(frame["x"] + 2, frame["y"] + 2)
    tab.mouse.down()
    tab.mouse.move(middle, frame["y"] + frame["height"] - 2, steps=5)
    tab.mouse.up()
    settle(tab)
    wanted = {key for key, (x, _) in zip(keys, centers) if x <= middle}
    found = set(column(tab, "points", "index"))
    expect(found == wanted and 0 < len(wanted) < len(points), f"the rectangle selects {found}, in it are {wanted}")
    with tab.expect_download() as waiting:
        tab.click('[data-name="download"]')
    with open(waiting.value.path(), newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    expect({line["index"] for line in lines} == wanted, f"the file has {[line['index'] for line in lines]}")
    for line in lines:
        point = next(one for one in points if str(one["index"]) == line["index"])
        same = (float(line["milliseconds"]) == point["milliseconds"] and float(line["dsp"]) == point["area"]["dsp"]
                and line["target"] == point["target"] and line["pareto"] == str(point["pareto"]).lower()
                and all(line[name] == str(value) for name, value in point["parameters"].items()))
        expect(same, f"the file says {line}, the command {point}")
    tab.get_by_text("Clear selection").click()
    expect(len(rows(tab, "points")) == len(points), "the selection stays")
    is_quiet(tab)


@check
def points_are_filtered_and_walked(site):
    tab = site.open("exploration")
    points = site.made.explored()["points"]
    name, values = next((name, values) for name in points[0]["parameters"]
                        for values in [sorted({point["parameters"][name] for point in points})] if len(values) > 1)
    tab.locator(f'fieldset[data-parameter="{name}"] input').first.uncheck()
    left = [str(point["index"]) for point in points if point["parameters"][name] != values[0]]
    expect(column(tab, "points", "index") == left, "the filter leaves others")
    dim = tab.locator('svg[data-name="pareto"] .point.dim').count()
    expect(dim == len(points) - len(left), f"{dim} points are dim")
    tab.locator(f'fieldset[data-parameter="{name}"] input').first.check()
    tab.focus('svg[data-name="pareto"]')
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    fastest = min(points, key=lambda point: point["milliseconds"])
    expect(column(tab, "points", "index") == [str(fastest["index"])], "keys select another than the first point")
    tab.keyboard.press("Escape")
    expect(len(rows(tab, "points")) == len(points), "Escape does not clear")
    tab.get_by_label("Up", exact=True).select_option("cycles")
    settle(tab)
    expect(tab.locator('svg[data-name="pareto"] .front').count() == 0, "a front is drawn of other figures than the objectives")
    is_quiet(tab)


@check
def points_are_colored_and_labeled(site):
    tab = site.open("exploration")
    points = site.made.explored()["points"]
    svg = 'svg[data-name="pareto"]'
    front = [str(point["index"]) for point in points if point["pareto"]]
    labels = tab.locator(f"{svg} .point-label").all_text_contents()
    expect(labels and set(labels) <= set(front), f"labels are {labels}, on the front are {front}")
    expect(tab.locator(f"{svg} .colored").count() == 0 and tab.locator('[data-name="pareto-legend"]').count() == 0, "points begin with colors")
    tab.get_by_label("Color by", exact=True).select_option("array_size")
    settle(tab)
    color = {mark.get_attribute("data-key"): mark.evaluate("one => getComputedStyle(one).fill") for mark in tab.locator(f"{svg} circle.point").all()}
    sizes = sorted({point["parameters"]["array_size"] for point in points})
    of_size = {size: {color[str(point["index"])] for point in points if point["parameters"]["array_size"] == size} for size in sizes}
    expect(all(len(one) == 1 for one in of_size.values()) and len(set.union(*of_size.values())) == len(sizes), f"colors are {of_size}")
    legend = tab.locator('[data-name="pareto-legend"] li').all_inner_texts()
    expect(legend == ["array_size:", *map(str, sizes)], f"the legend says {legend}")
    tab.get_by_label("Color by", exact=True).select_option("")
    settle(tab)
    expect(tab.locator(f"{svg} .colored").count() == 0, "colors stay")
    given = site.open(site.edited("exploration", lambda document: document["exploration"].update(color_by="clock_mhz", label_by="array_size")))
    expect(len(given.locator('[data-name="pareto-legend"] li').all()) == 3, "the command's color is not taken")
    expect(set(given.locator(f"{svg} .point-label").all_text_contents()) <= set(map(str, sizes)), "the command's label is not taken")
    is_quiet(tab)
    is_quiet(given)


@check
def the_table_of_points_begins_with_the_objectives(site):
    tab = site.open("exploration")
    keys = tab.eval_on_selector_all('table[data-name="points"] thead th', "all => all.map((one) => one.dataset.key)")
    expect(keys[:3] == ["index", "milliseconds", "dsp"], f"columns are {keys}")
    expect("parameter-search" not in keys and "feasible" not in keys and "parameter-array_size" in keys, f"columns are {keys}")
    said = tab.inner_text('[data-name="constants"]')
    expect("search quick" in said, f"it says {said!r}")
    for key in keys:
        shown = set(column(tab, "points", key))
        expect(len(shown) > 1 or key in ("milliseconds", "dsp"), f"column {key} has only {shown}")
    is_quiet(tab)


@check
def accuracy_is_that_of_the_command(site):
    accuracy = site.made.ran("--labels", site.made.labels)["accuracy"]
    tab = site.open("labeled")
    expect(sections(tab) == ["summary", "accuracy", *RUN_SECTIONS[1:]], f"sections are {sections(tab)}")
    said = tab.inner_text("#accuracy .body p")
    for share in (accuracy["top1"], accuracy["top5"], accuracy["float"]["top1"]):
        expect(f"{100 * share:.1f} %" in said, f"{share} is not in {said!r}")
    tile = tab.locator(".tile", has_text="Accuracy").inner_text()
    expect(f"{100 * accuracy['top1']:.1f} %" in tile, f"the tile says {tile!r}")
    expect([number(text) for text in column(tab, "classes", "label")] == sorted(set(LABELS)), "classes are others than the labels'")
    right = sum(one["count"] for one in accuracy["confusion"] if one["label"] == one["predicted"])
    expect(sum(number(text) for text in column(tab, "classes", "right")) == right, "correct labels are others than the command's")
    wrong = [one for one in accuracy["confusion"] if one["label"] != one["predicted"]]
    expect(len(wrong) == 0 or len(rows(tab, "confusions")) == len(wrong), "confusions are others than the command's")
    expect([number(text) for text in column(tab, "worst", "sample")] == [one["sample"] for one in accuracy["worst"]], "samples are others")
    is_quiet(tab)


@check
def points_that_fail_are_told_apart(site):
    def change(document):
        points = document["exploration"]["points"]
        points[0].update(feasible=False)
        points[1].update(error="it does not fit, \"really\"", milliseconds=None, feasible=False)
        document["exploration"].update(pruned=1, pruned_points=[{**points[2], "index": 99, "bound_milliseconds": 9.5, "beaten_by": 3}])
    tab = site.open(site.edited("exploration", change))
    count = len(site.document("exploration")["exploration"]["points"])
    expect(tab.locator('svg[data-name="pareto"] .point').count() == count - 1, "a point without a figure is drawn")
    expect(tab.locator('svg[data-name="pareto"] .hollow').count() == 1, "an infeasible point is not hollow")
    expect(any("it does not fit" in text for text in column(tab, "points", "error")), "the error is not told")
    expect("Points left out (1)" in tab.inner_text("#exploration"), "what was left out is not told")
    is_quiet(tab)


@check
def names_are_text(site):
    def rename(document):
        run = document["runs"][0]
        name = run["time"]["layers"][1]["name"]
        text = json.dumps(run).replace(json.dumps(name), json.dumps(HOSTILE))
        document["runs"][0] = json.loads(text)
        document["title"] = HOSTILE
    path = site.edited("one", rename)
    for width in [1280, 400]:
        tab = site.open(path, width=width)
        expect(HOSTILE in column(tab, "layers", "name"), "the name is another")
        tab.locator('table[data-name="layers"] tbody tr').nth(1).click()
        settle(tab)
        expect(layer(tab) == HOSTILE and tab.inner_text('[data-name="chosen-name"]').split() == HOSTILE.split(), "it cannot be selected")
        expect(tab.evaluate("window.harm === undefined && document.images.length === 0"), "a name became an element")
        expect(fits(tab), f"at {width} pixels it scrolls sideways")
        is_quiet(tab)


@check
def problems_are_told(site):
    def add(document):
        run = document["runs"][0]
        run["check"]["groups"] = [{"op": "Softmax", "count": 2, "reason": "no exponential", "hint": "leave it to the host",
                                   "nodes": ["softmax_1", "softmax_2"], "consequences": []}]
        run["check"]["problems"] = [{"node": "softmax_1", "op": "Softmax", "reason": "no exponential", "hint": "leave it"}]
        run["check"]["host_steps"] = [{"node": "softmax_1", "op": "Softmax", "output": "y", "reason": "left to the host"}]
        run["time"]["flags"] = [{"flag": "a flag", "times": 3, "cycles": 12345, "first_cycle": 7, "first_instruction": 2}]
        run["run"]["layer_compare"]["parts_at"] = {"at": run["time"]["layers"][3]["name"], "input": False, "why": "saturation"}
        run["run"]["layer_compare"]["suggestions"] = ["calibrate with samples"]
        run["run"]["failures"] = ["output y is off"]
        run["run"]["saturations_by_layer"] = [{"layer": "a layer", "count": 4321}]
        run["time"]["warnings"] = ["a warning of the clock"]
        run["graph"]["nodes"][2]["place"] = "host"
    tab = site.open(site.edited("one", add))
    expect("12,345" not in tab.inner_text("#problems"), "notes that need no action are not folded")
    tab.locator("#problems summary").click()
    text = tab.inner_text("#problems")
    for wanted in ["no exponential", "leave it to the host", "softmax_1, softmax_2", "left to the host", "a flag", "12,345",
                   "do not fit the number format", "calibrate with samples", "output y is off", "4,321", "a warning of the clock"]:
        expect(wanted in text, f"{wanted!r} is not told")
    expect("a warning of the clock" in tab.inner_text("#summary"), "the summary does not warn")
    expect(tab.locator('svg[data-name="graph"] .node.host').count() == 1, "the node of the host is not marked")
    is_quiet(tab)


@check
def what_is_missing_is_told(site):
    def strip(document):
        run = document["runs"][0]
        for key in ["time", "compile", "run", "timeline", "area", "format"]:
            run[key] = None
        run.update(memories=[], distributions=[], graph={"nodes": [], "edges": []}, parameters={}, timeline_missing="it was not timed")
    def empty(document):
        document["runs"] = [{key: document["runs"][0][key] for key in ("label", "model", "target", "version")}]
    for change in [strip, empty]:
        tab = site.open(site.edited("one", change))
        expect(sections(tab) == RUN_SECTIONS, f"sections are {sections(tab)}")
        for name in RUN_SECTIONS[2:-1]:
            text = tab.inner_text(f"#{name} .body")
            expect(len(text) > 20 and "could not" not in text, f"{name} says {text!r}")
        expect(not re.search(r"NaN|undefined|null|Infinity|\[object", tab.inner_text("main")), "it shows what is no figure")
        is_quiet(tab)
    tab = site.open(site.edited("one", lambda document: document.update(runs=[])))
    expect("neither a run nor an exploration" in tab.inner_text("main"), "a report of nothing does not say so")
    is_quiet(tab)


@check
def figures_are_never_nonsense(site):
    for name in ["one", "two", "exploration"]:
        tab = site.open(name)
        text = tab.evaluate("document.querySelector('main').textContent")
        found = re.search(r".{30}(NaN|undefined|Infinity|\[object).{10}", text)
        expect(not found, f"{name}: {found and found[0]}")


@check
def long_programs_stay_quick(site):
    def lengthen(document):
        run = document["runs"][0]
        slices = [number for at in range(150_000) for number in (at * 10, 7, at % 5, at % 3, 1, 4)]
        run["timeline"].update(cycles=1_500_000, tracks=[{"name": "unit", "parent": None, "slices": slices},
                                                         {"name": "waits for", "parent": 0, "slices": slices[:60_000]}])
        nodes = [{"name": f"n{at}", "op": "Conv", "layer": at % 3, "place": "chip", "macs": 1, "shape": [1]} for at in range(600)]
        run["graph"] = {"nodes": nodes, "edges": [[at, at + 1] for at in range(599)] + [[at, at + 9] for at in range(0, 590, 7)]}
    tab = site.open(site.edited("one", lengthen))
    expect(visible(tab)[1] == 1_500_000, "it does not show all")
    expect(tab.locator('svg[data-name="graph"] .node').count() == 600, "the graph lacks nodes")
    slowest = tab.evaluate("""async () => {
        const canvas = document.querySelector('canvas[data-name="timeline"]');
        canvas.focus();
        const times = [];
        for (const key of ["+", "ArrowRight", "+", "ArrowLeft", "-", "0", "+"]) {
            const before = performance.now();
            canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
            await new Promise(requestAnimationFrame);
            await new Promise((done) => setTimeout(done));
            times.push(performance.now() - before);
        }
        return times.sort((a, b) => a - b)[times.length >> 1];
    }""")
    expect(slowest < 400, f"a step of zoom takes {slowest:.0f} ms")
    is_quiet(tab)


class Made:
    """Pages made by the command, and its output to compare with."""

    def __init__(self, npu):
        self.npu, self.pages = npu, npu.folder
        self.model, self.input, self.space = (npu.folder / name for name in ("model.onnx", "x.npy", "space.toml"))
        npu.run("zoo", NETWORK, "--output", self.model)
        np.save(self.input, np.random.default_rng(7).normal(0, 1, SHAPE).astype(np.float32))
        self.labels = npu.folder / "labels.txt"
        self.labels.write_text("".join(f"{label}\n" for label in LABELS), encoding="utf-8")
        self.space.write_text(SPACE, encoding="utf-8")
        npu.run("report", self.model, "--target", OTHER, "--input", self.input, "-o", self.pages / "other.html")
        for name, more in {"one": [], "two": ["--against", self.pages / "other.html"], "labeled": ["--labels", self.labels]}.items():
            npu.run("report", self.model, "--target", TARGET, "--input", self.input, *more, "-o", self.pages / f"{name}.html")
        self._explored = npu.run("explore", self.model, "--space", self.space, "--html", self.pages / "exploration.html")

    def time(self):
        return self.npu.run("time", self.model, "--target", TARGET)

    def ran(self, *more):
        return self.npu.run("run", self.model, "--target", TARGET, "--input", self.input, "--compare", *more)

    def explored(self):
        return self._explored


def judged(site, patterns):
    """Runs the checks; returns the numbers of passed and failed ones."""
    passed = failed = 0
    for function in CHECKS:
        if patterns and not any(fnmatch.fnmatch(function.__name__, pattern) for pattern in patterns):
            continue
        try:
            function(site)
            print(f"ok   {function.__name__}", flush=True)
            passed += 1
        except (Failure, Error, LookupError, TypeError, ValueError) as error:
            print(f"FAIL {function.__name__}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            failed += 1
        site.close()
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--browser", default=shutil.which("chromium"), help="the browser's command (chromium)")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of checks, for example `points_*`")
    arguments = parser.parse_intermixed_args()
    if not arguments.browser:
        raise SystemExit("error: `chromium` is not in the path; install it with `apt-get install chromium`, or pass --browser")
    made = Made(Npu(arguments.npu))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory(prefix="npukit-") as folder:
        browser = playwright.chromium.launch(executable_path=arguments.browser, args=["--no-sandbox"])
        passed, failed = judged(Site(browser, folder, made), arguments.patterns)
        browser.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
