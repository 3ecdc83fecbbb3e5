"""As a person would: notebook 00 in JupyterLab in a real browser, and the report of the demo.

Needs Chromium and playwright; skipped where one is absent. Screenshots stay in runs/browser/.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import here
from helpers.here import ROOT
from helpers.run import demo, headless, leaderboard, results

SHOTS = ROOT / "runs" / "browser"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt install chromium")


@pytest.fixture(scope="module")
def browser():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_api.sync_playwright() as playwright:
        with_sandbox = os.getuid() != 0  # root has none
        opened = playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=with_sandbox)
        yield opened
        opened.close()


def page_of(browser):
    """A new page, and what its console will say that is an error."""
    page, faults = browser.new_page(viewport={"width": 1200, "height": 1000}), []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    return page, faults


# --- the notebook ----------------------------------------------------------------------------------------


def with_parameters(name: str, path: Path, **values) -> None:
    """A copy of a notebook with other parameters and without outputs."""
    saved = json.loads(headless.find(name).read_text(encoding="utf-8"))
    for cell in saved["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            lines = "".join(cell["source"])
            for key, value in values.items():
                lines, found = re.subn(rf"^{key} = .*$", lambda _, k=key, v=value: f"{k} = {v!r}", lines, flags=re.M)
                assert found == 1, key
            cell["source"] = lines
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    path.write_text(json.dumps(saved), encoding="utf-8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of its own, without a token, that only this machine reaches."""
    home = tmp_path_factory.mktemp("lab")
    small = {"model": "tiny", "hardware": "cpu", "steps": 2, "eval_rows": 16, "out_dir": str(home / "out")}
    with_parameters("00", home / "quickstart.ipynb", **small)
    choices = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "apputils-extension/themes": {"adaptive-theme": True},
        "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are there, seen or not
    }
    for name, values in choices.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {f"JUPYTER_{what}_DIR": str(home / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")}
    folders |= {f"JUPYTERLAB_{what}_DIR": str(home / what.lower()) for what in ("SETTINGS", "WORKSPACES")}
    environment = {k: v for k, v in os.environ.items() if k != "TQDM_DISABLE"}  # it stands for a headless run
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
               "--IdentityProvider.token=", f"--ServerApp.root_dir={home}"]  # fmt: skip
    with (home / "lab.log").open("w") as log:
        server = subprocess.Popen(
            command, env=environment | folders | {"RLVR_WORKBOOK_HOME": str(ROOT)}, cwd=home, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 90
        while time.monotonic() < until and server.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(f"{address}/api", timeout=2).close()
                break
            time.sleep(0.5)
        else:
            pytest.fail(f"JupyterLab did not start: {(home / 'lab.log').read_text()[-2000:]}")
        yield address
    finally:
        server.terminate()
        server.wait(30)


def run_all(page, seconds: float) -> None:
    """Press Run All Cells, and wait until the last cell has its number."""
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt")
    for _ in range(6):  # a page that has only just opened may not take the first press
        page.keyboard.press("Escape")  # a menu that stayed open
        page.locator(".lm-MenuBar-item", has_text=re.compile("^Run$")).click()
        page.get_by_text("Run All Cells", exact=True).click()
        with suppress(sync_api.TimeoutError):
            prompts.filter(has_text=re.compile(r"[*\d]")).first.wait_for(timeout=15_000)
            break
    else:
        pytest.fail(f"Run All Cells ran none of {prompts.count()} cells")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        said = prompts.all_text_contents()
        if said and all(re.search(r"\d", text) for text in said):
            return
        assert not page.locator('.jp-OutputArea-output[data-mime-type*="error"]').count(), page.locator(
            '.jp-OutputArea-output[data-mime-type*="error"]'
        ).first.inner_text()
        page.wait_for_timeout(1000)
    pytest.fail(f"not all cells ran within {seconds} s: {prompts.all_text_contents()}")


def test_a_reader_runs_the_quickstart_and_looks_into_the_rollouts(browser, lab):
    page, faults = page_of(browser)
    page.goto(f"{lab}/lab/tree/quickstart.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=120_000)  # kernel is there
    run_all(page, 1500)
    cell = page.locator(".jp-CodeCell", has_text="browser.rollout_browser(before)")
    cell.scroll_into_view_if_needed()
    region, board = cell.get_by_role("region"), cell.locator("table.board")
    region.get_by_text("Conversation").wait_for(timeout=30_000)
    first = board.inner_text()
    assert "Episode 1 of" in region.get_attribute("aria-label")
    cell.screenshot(path=SHOTS / "quickstart-1-first.png")

    slider = cell.get_by_role("slider")
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    said(region, "Episode 9 of", page)
    assert board.inner_text() != first
    assert cell.get_by_label("Episode number").input_value() == "9"
    cell.screenshot(path=SHOTS / "quickstart-2-slider.png")

    number = cell.get_by_role("spinbutton", name="Episode number")  # the way of the slider for those who cannot see it
    number.focus()
    page.keyboard.press("ArrowUp")
    said(region, "Episode 10 of", page)
    number.fill("9")
    number.press("Enter")
    said(region, "Episode 9 of", page)
    assert slider.get_attribute("aria-valuetext") == "9"
    nameless = re.findall(
        r"- (slider|spinbutton|combobox|button|textbox)(?! \")", cell.locator(".jp-Cell-outputArea").aria_snapshot()
    )
    assert nameless in ([], ["slider"]), nameless

    failures = cell.get_by_label("Failure")
    wanted = failures.locator("option").nth(1).inner_text().replace("\xa0", " ")  # the most frequent kind
    kind, count = re.fullmatch(r"(.+) \((\d+)\)", wanted).groups()
    failures.select_option(index=1)
    said(region, f"Episode 1 of {count}: {kind}", page)
    assert region.get_by_text("✗ wrong").count() == 1
    cell.get_by_role("button", name="Next").click()
    said(region, f"Episode 2 of {count}: {kind}", page)
    cell.screenshot(path=SHOTS / "quickstart-3-failure.png")

    choices = cell.get_by_label("Reward").locator("option").all_inner_texts()
    cell.get_by_label("Reward").select_option(index=[text[:5] for text in choices].index("right"))
    cell.get_by_text("No episode passes these filters.").wait_for(timeout=10_000)
    failures.select_option(index=0)
    region.get_by_text("✓ right").wait_for(timeout=10_000)

    light = background(cell)
    page.emulate_media(color_scheme="dark")
    page.locator("body[data-jp-theme-light=false]").wait_for(state="attached", timeout=20_000)
    page.wait_for_timeout(1000)
    cell.screenshot(path=SHOTS / "quickstart-4-dark.png")
    assert brightness(background(cell)) < 80 < brightness(light)
    for part in ("table.board td >> nth=0", "pre >> nth=0", ".badge >> nth=0"):
        assert brightness(cell.locator(part).evaluate("e => getComputedStyle(e).color")) > 160, part
    assert not faults, faults
    page.close()


def said(region, label: str, page) -> None:
    """Wait until the region has this label."""
    for _ in range(100):
        if label in (region.get_attribute("aria-label") or ""):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{label!r} did not come; the region says {region.get_attribute('aria-label')!r}")


def background(cell) -> str:
    return cell.page.locator(".jp-Notebook").first.evaluate("e => getComputedStyle(e).backgroundColor")


def brightness(colour: str) -> float:
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


# --- the report ------------------------------------------------------------------------------------------


def test_the_report_opens_without_an_error_in_the_console(browser, tmp_path, monkeypatch):
    """The page itself is under test, so the notebooks before it are played by a stand-in that leaves what they do."""
    monkeypatch.setattr(demo, "run", stand_in)
    demo.demo(out=tmp_path / "demo")
    page, faults = page_of(browser)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "demo" / "report.html").as_uri())
    page.wait_for_timeout(500)
    page.screenshot(path=SHOTS / "report.png", full_page=True)
    assert "learns sudoku from verdicts" in page.get_by_role("heading", level=1).inner_text()
    broken = page.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth || !i.alt).length")
    assert broken == 0 and page.locator("img").count() >= 8
    assert not faults, faults
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    paper = {scheme: faint(page, scheme) for scheme in ("light", "dark")}
    page.screenshot(path=SHOTS / "report-dark.png", full_page=True)
    assert brightness(paper["dark"]) < 80 < brightness(paper["light"])
    page.close()


def test_a_batch_page_is_readable_in_light_and_in_dark(browser, tmp_path):
    states = [{"id": status, "notebook": "x.ipynb", "folder": str(tmp_path / status), "status": status, "seed": 0,
               "model": "tiny", "environment": "sudoku"}
              for status in ("complete", "failed", "dead", "skipped", "running")]  # fmt: skip
    leaderboard.write(tmp_path, states)
    index = tmp_path / "index.html"
    page, faults = page_of(browser)
    page.goto(index.as_uri())
    for scheme in ("light", "dark"):
        faint(page, scheme)
    assert not faults, faults
    page.close()


def faint(page, scheme: str) -> str:
    """The colour of the paper in this scheme, after a look that all text stands out from it: 4.5 to 1, the contrast
    that WCAG 2.1 asks for."""
    page.emulate_media(color_scheme=scheme)
    paper = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    colours = page.evaluate("[...document.querySelectorAll('body, body *')].filter(e => e.innerText)"
                            ".map(e => [e.tagName, getComputedStyle(e).color])")  # fmt: skip
    pale = [(tag, colour) for tag, colour in colours if contrast(colour, paper) < 4.5]
    assert colours and not pale, (scheme, paper, pale)
    return paper


def contrast(colour: str, other: str) -> float:
    """Of two colours as the browser names them, from 1 to 21 (WCAG 2.1, contrast ratio)."""

    def luminance(named: str) -> float:
        parts = [float(part) / 255 for part in re.findall(r"[\d.]+", named)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))

    dim, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dim + 0.05)


def stand_in(number: str, parameters: dict, stdout=None) -> None:
    """What the notebooks leave: the pictures and results that the report reads."""
    import matplotlib.pyplot as plt

    out = here.ROOT / parameters["out_dir"]
    out.mkdir(parents=True)
    shutil.copy(headless.find(number), out)
    names = {"01": ("benchmark",), "02": ("strength", "groups"), "04": ("pass_at_k",), "06": ("steps", "transfer"),
             "05": ("training", "contrast_reward", "contrast_entropy")}  # fmt: skip
    for name in names[number]:
        figure, axes = plt.subplots(figsize=(4, 2))
        axes.plot([0, 1])
        figure.savefig(out / f"{name}.png")
        plt.close(figure)
    part = {"n": 4, "pass_at_1": 0.5, "ci95": [0.4, 0.6]}
    gain = {"n": 4, "before": 0.25, "after": 0.5, "gain": 0.25, "ci95": [0.1, 0.4]}
    fields = {
        "01": {"failures": [{"kind": "<b>", "capability": "c", "share": 0.5, "example": "<script>throw 1</script>"}]},
        "02": {"profile": {"verdict": "go", "reasons": ["why"], "stress": {"empty": 0.0}}},
        "04": {},
        "05": {"gains": {"short warm-up": gain}, "training_s": 1.0},
        "06": {
            "summaries": {"base": part, "after SFT": part, "after GRPO": part},
            "changes": [gain | {"tasks": "t", "interval": "0 to 1", "fixed": 1, "broken": 0}],
            "greedy": [{"model": "base", "sampled": 0.5, "best": 0.6, "greedy": 0.5}],
            "kinds": [{"kind": "k", "capability": "c", "base": 0.5}],
        },
    }
    results.save_result(out, **fields[number])
