#!/usr/bin/env python3
"""The page of `breakeven report` in headless Chromium. Exit 77: no browser here.

    browser.py BREAKEVEN [SCREENSHOT_FOLDER]
"""
import base64
import copy
import json
import math
import os
import subprocess
import sys
import tempfile

import chromium

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">"


def make(tool, folder):
    """Three files: two predictions and a hostile copy of the first."""
    for name, node, tiers in (("one", "h100-sxm", ["memory=50GB/s", "nvme=14GB/s,shared=2,piece=20us"]),
                              ("two", "l40s", ["nvme=gen4-class,piece=20us"])):
        arguments = [tool, "predict", "--model", "llama-3.1-8b", "--node", node, "--fixed", "5ms", "-o",
                     f"{folder}/{name}.json"]
        for tier in tiers:
            arguments += ["--tier", tier]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    with open(f"{folder}/one.json") as stream:
        file = json.load(stream)
    poisoned = copy.deepcopy(file)

    def poison(value, key=""):
        if isinstance(value, dict):
            return {k: v if k == "schema" else poison(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [poison(v, key) for v in value]
        if isinstance(value, str) and key not in ("status", "verdict", "winner"):
            return HOSTILE + value
        return value

    poisoned = poison(poisoned)
    with open(f"{folder}/hostile.json", "w") as stream:
        json.dump(poisoned, stream)
    return file


def report(tool, folder, page, *files):
    subprocess.run([tool, "report", *[f"{folder}/{name}.json" for name in files], "-o", f"{folder}/{page}.html", "--quiet"],
                   check=True)
    return f"{folder}/{page}.html"


def near(a, b, relative=1e-4):
    return math.isclose(a, b, rel_tol=relative)


def clean(browser):
    assert browser.complaints() == [], browser.complaints()
    assert browser.evaluate("window.__report.errors") == []
    assert all(url.startswith("file:") for url in browser.requests()), browser.requests()


STATE = "JSON.parse(JSON.stringify(window.__report.plots()))"


def check_plots(browser, file):
    plots = browser.evaluate(STATE)
    assert list(plots) == ["times", "bandwidth", "frontier", "contention", "pieces"], list(plots)
    times = plots["times"]
    lengths = file["calibrated_lengths"]
    assert times["x"]["type"] == times["y"]["type"] == "logarithmic"
    assert near(times["x"]["min"], lengths[0]) and near(times["x"]["max"], lengths[-1]), times["x"]
    saved = file["lengths"][-1]["saved_s"]["value"]
    assert times["y"]["min"] < saved < times["y"]["max"]
    assert times["shades"] >= 1
    marks = {mark["name"]: mark for mark in times["marks"]}
    for tier in file["tiers"]:
        answer, mark = tier["break_even"], marks[tier["name"]]
        assert answer["verdict"] == "at"
        assert (mark["x"], mark["lo"], mark["hi"]) == (answer["tokens"], answer["lo_tokens"], answer["hi_tokens"])
        # The ring stands where both lines cross in pixels, too.
        share = math.log(answer["tokens"] / lengths[0]) / math.log(lengths[-1] / lengths[0])
        left, _ = browser.evaluate(f"window.__report.plots().times.pixel({lengths[0]}, {saved})")
        right, _ = browser.evaluate(f"window.__report.plots().times.pixel({lengths[-1]}, {saved})")
        assert abs(mark["px"] - (left + share * (right - left))) < 0.5
        _, top = browser.evaluate(f"window.__report.plots().times.pixel({answer['tokens']}, {times['y']['max']})")
        assert mark["shown"] and top <= mark["py"] <= times["height"]
    return plots


def check_pixels(browser):
    """Ink on the canvas, and a hover that shows values."""
    painted = browser.evaluate("""(() => { const c = document.querySelector('#times canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i] > 0) ++n; return n; })()""")
    assert painted > 5000, painted
    box = browser.evaluate("(() => { const r = document.querySelector('#times canvas').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] / 2, y=box[1] + box[3] / 2)
    browser.settle()
    shown = browser.evaluate("Chart.getChart(document.querySelector('#times canvas')).tooltip.opacity")
    text = browser.evaluate("Chart.getChart(document.querySelector('#times canvas')).tooltip.body.map(b => b.lines.join()).join('; ')")
    assert shown > 0 and "recompute" in text and "load from nvme" in text and " to " in text, text


def check_keyboard(browser):
    reached = set()
    browser.evaluate("document.activeElement.blur()")
    for _ in range(60):
        browser.key("Tab")
        reached.add(browser.evaluate("(e => (e.closest('section') ? e.closest('section').id : '') + ':' + e.tagName + ':' + e.className)(document.activeElement)"))
    for place in ("times:DIV:plot", "times:BUTTON:", "times:SUMMARY:", "pieces:DIV:plot", "pieces:SUMMARY:"):
        assert place in reached, (place, reached)
    browser.evaluate("document.querySelector('#times .plot').focus()")
    browser.key("Home")
    first = browser.evaluate("document.querySelector('#times .value').textContent")
    browser.key("End")
    last = browser.evaluate("document.querySelector('#times .value').textContent")
    browser.key("ArrowDown")
    other = browser.evaluate("document.querySelector('#times .value').textContent")
    assert first.startswith("recompute, 128 tokens: "), first
    assert last.startswith("recompute, 131,072 tokens: "), last
    assert other.startswith("load from memory, 131,072 tokens: "), other
    browser.key("Escape")
    assert browser.evaluate("document.querySelector('#times .value').textContent") == ""
    # The tables: names, rows and captions as a screen reader gets them.
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    names = [node.get("name", {}).get("value") for node in browser.call("Accessibility.getFullAXTree")["nodes"]
             if node.get("role", {}).get("value") in ("rowheader", "columnheader", "group", "image", "img", "button", "region")]
    for name in ("131,072", "load from nvme", "Load or recompute", "Load or recompute, table"):
        assert name in names, (name, names)


def check_legend(browser):
    browser.evaluate("document.querySelectorAll('#times .legend button')[2].click()")
    marks = browser.evaluate(STATE)["times"]["marks"]
    assert [mark["shown"] for mark in marks] == [True, False], marks
    browser.evaluate("document.querySelectorAll('#times .legend button')[2].click()")


def check_themes(browser, page):
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.scheme("light")
    browser.open(page)
    light = browser.evaluate(paper)
    browser.evaluate("document.getElementById('theme').click()")
    toggled = browser.evaluate(paper)
    clean(browser)
    browser.scheme("dark")
    browser.open(page)
    dark = browser.evaluate(paper)
    clean(browser)
    assert light == "rgb(255, 255, 255)" and dark == toggled != light, (light, toggled, dark)
    browser.scheme("light")


def check_phone_and_print(browser, page):
    browser.size(360, 740, 2, True)
    browser.open(page)
    clean(browser)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert browser.evaluate(STATE)["times"]["width"] > 300
    browser.size(1120, 900)
    browser.open(page)
    pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20000
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.querySelector('#times .still')).display") == "block"
    assert browser.evaluate("getComputedStyle(document.querySelector('#times .plot')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")


def main():
    tool = sys.argv[1]
    binary = chromium.find()
    if binary is None:
        print("skipped: no Chromium on this machine (Debian: apt-get install chromium)")
        return 77
    with tempfile.TemporaryDirectory() as folder, chromium.Browser(binary) as browser:
        file = make(tool, folder)
        one = report(tool, folder, "one", "one")
        assert os.path.getsize(one) < 2_000_000
        browser.size(1120, 900)
        browser.scheme("light")
        browser.open(one)
        clean(browser)
        check_plots(browser, file)
        check_pixels(browser)
        check_keyboard(browser)
        check_legend(browser)
        clean(browser)
        check_themes(browser, one)
        check_phone_and_print(browser, one)

        browser.open(report(tool, folder, "both", "one", "two"))
        clean(browser)
        lines = [line["name"] for line in browser.evaluate(STATE)["times"]["lines"]]
        assert len(lines) == 5 and any(name.endswith("two") for name in lines), lines

        browser.open(report(tool, folder, "hostile", "hostile"))
        assert browser.evaluate("window.pwned") is None
        assert browser.evaluate("document.querySelectorAll('img').length") == 0
        assert browser.evaluate("document.scripts.length") == 3
        assert len(browser.evaluate(STATE)) == 5
        assert "<script>" in browser.evaluate("document.querySelector('#times .legend').textContent")
        clean(browser)
    print("the page renders, its crossings are the file's, keyboard and screen reader reach the values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
