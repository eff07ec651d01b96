"""The live page in a real browser: it shows what runs have written, follows them, and asks nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.browser import MISSING, PROGRAM, Browser
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

pytest.importorskip("bokeh")
pytestmark = pytest.mark.skipif(not PROGRAM, reason=MISSING)
TABS = "Bokeh.documents[0].get_model_by_name('tabs')"
MODEL = "Bokeh.documents[0].get_model_by_name('{}')"
EXTRA = """
[[analysis]]
script = "own.py"
every = 1
"""
OWN = """
import numpy as np


def analyse(step):
    return {"largest": abs(step["ux"]).max(), "k": np.arange(5.0), "energy": np.arange(5.0) + step.time}
"""


@pytest.fixture
def served(tmp_path):
    """A function that serves sources, and returns the address of the page."""
    programs = []

    def serve(*sources):
        command = [*mpi_run.tailrace_command("live", "--port", "0"), *map(str, sources)]
        programs.append(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True))
        return programs[-1].stdout.readline().strip()

    yield serve
    for program in programs:
        program.send_signal(signal.SIGTERM)
        assert program.wait(120) == 0
        program.stdout.close()


def run_of(place, steps=4):
    path = cases.write_case(place, "mixed", steps=steps, every=2, outputs=("hdf5",), extra=EXTRA)
    (place / "own.py").write_text(OWN)
    return path


def data(name, column):
    return f"Array.from({MODEL.format(name)}.data.{column})"


def select(browser, name, value):
    browser.value(f"{MODEL.format(name)}.value = {value!r}; 1")


def test_what_a_run_has_written(tmp_path, served):
    assert cases.run(run_of(tmp_path / "a")).code == 0
    with Browser() as browser:
        browser.go(served("a"))
        browser.wait(f"!!{TABS}")
        table = read_time_series(tmp_path / "a/time_series.csv")
        browser.wait(f"{data('curve 0', 'y')}.length == 5")
        np.testing.assert_array_equal(browser.value(data("curve 0", "y")), table["kinetic_energy"])
        select(browser, "column", "time_series.csv: enstrophy")
        browser.wait(f"Math.abs({data('curve 0', 'y')}[0] - {float(table['enstrophy'][0])!r}) < 1e-15")
        select(browser, "column", "analysis/own.h5: largest")
        browser.wait(f"{data('curve 0', 'y')}[0] > 0.1")
        browser.value(f"{TABS}.active = 1; 1")
        select(browser, "Field", "uy")
        with tr.open(tmp_path / "a/out.h5") as stored:
            step = stored[-1]
            plane = np.asarray(step["uy"].data)[6]
        shape = list(plane.shape)
        browser.wait(f"{MODEL.format('plane')}.data.image[0].shape[0] == {shape[0]}")
        seen = browser.wait(f"Array.from({MODEL.format('plane')}.data.image[0])")
        for _ in range(100):  # the plane of the field before may be seen first
            if np.allclose(seen, plane.ravel(), atol=1e-6):
                break
            time.sleep(0.1)
            seen = browser.value(f"Array.from({MODEL.format('plane')}.data.image[0])")
        np.testing.assert_allclose(seen, plane.ravel(), atol=1e-6)
        browser.value(f"{TABS}.active = 3; 1")
        select(browser, "Array", "energy")
        browser.wait(f"{data('profile', 'y')}.length == 5 && Math.abs({data('profile', 'y')}[0] - 0.04) < 1e-9")
        assert browser.value(data("profile", "x")) == [0, 1, 2, 3, 4]
        browser.call("Page.reload")
        browser.wait(f"{data('profile', 'y')}.length == 0 && {data('curve 0', 'y')}.length == 5")
        assert browser.errors == []
        address = browser.asked[0].split("/")[2]
        assert {one.split("/")[2] for one in browser.asked if not one.startswith("data:")} == {address}


def test_a_run_is_followed_and_goes_on_after_a_restart(tmp_path, served):
    path = run_of(tmp_path / "a", steps=100000)
    path.write_text(path.read_text().replace("dt = 0.01", "dt = 1e-4"))
    assert cases.run(run_of(tmp_path / "b")).code == 0
    job = mpi_run.start(mpi_run.tailrace_command("run", "case.toml"), tmp_path / "a")
    end = time.monotonic() + 240
    while not (tmp_path / "a/time_series.csv").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    address = served("a", "b")
    with Browser() as first, Browser() as second:
        for browser in (first, second):
            browser.go(address)
            browser.wait(f"!!{TABS}")
        count = first.wait(f"{data('curve 0', 'x')}.length")
        first.wait(f"{data('curve 0', 'x')}.length > {count}")
        select(second, "column", "time_series.csv: cfl")
        second.wait(f"{data('curve 1', 'y')}.length == 5")
        assert "kinetic_energy" in first.value(f"{MODEL.format('column')}.value"), "viewers choose for themselves"
        os.kill(job.pid, signal.SIGKILL)
        mpi_run.kill_session(job)
        mpi_run.finish(job, 180)
        more = mpi_run.tailrace("run", "case.toml", "--resume", "--set=time.steps=2", cwd=tmp_path / "a")
        last = len(read_time_series(tmp_path / "a/time_series.csv")["step"])
        if more.code != 0:  # its checkpoint is later
            more = mpi_run.tailrace("run", "case.toml", "--overwrite", "--set=time.steps=3", cwd=tmp_path / "a")
            last = 4
        assert more.code == 0, more.text
        for browser in (first, second):
            browser.wait(f"{data('curve 0', 'x')}.length == {last}")
            assert browser.errors == []


PRESS = """((text) => {
  const press = (root) => {
    for (const one of root.querySelectorAll("*")) {
      if (one.tagName === "BUTTON" && one.textContent.includes(text) && one.offsetParent) {
        one.click()
        return true
      }
      if (one.shadowRoot && press(one.shadowRoot)) return true
    }
    return false
  }
  return press(document)
})"""


def click(browser, text):
    """Press the button with a text when it is there; it is in a tree of its own, as Bokeh makes it."""
    browser.wait(f"{PRESS}({text!r})")


def drag(browser, begin, end):
    """Move the pressed mouse."""
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=begin[0], y=begin[1], button="left", clickCount=1)
    for share in np.linspace(0, 1, 8):
        x, y = (a + share * (b - a) for a, b in zip(begin, end, strict=True))
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)


def seen(browser, path):
    """What is seen of the page, as numbers."""
    browser.picture(path)
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def says(browser, text, limit=60):
    browser.wait(f"{MODEL.format('headline')}.text.includes({text!r})", limit)


def test_a_run_shows_what_it_has_in_memory_and_is_stopped_from_the_page(tmp_path, served):
    path = run_of(tmp_path / "a", steps=100000)
    path.write_text(path.read_text().replace("dt = 0.01", "dt = 1e-5").replace("every = 2\nkeep", "every = 1000\nkeep"))
    job = mpi_run.start(mpi_run.tailrace_command("run", "case.toml", "-n", "2", "--live-control"), tmp_path / "a")
    end = time.monotonic() + 240
    while not (tmp_path / "a/.time_series.csv.live/now.json").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    with Browser() as browser:
        browser.go(served("a"))
        browser.wait(f"!!{TABS}")
        says(browser, "running")
        browser.value(f"{TABS}.active = 1; 1")
        browser.wait(f"{MODEL.format('series of Field')}.value == 'a: now, in memory'")
        browser.wait(f"{MODEL.format('Field')}.options.includes('vorticity')")
        select(browser, "Field", "vorticity")
        picture = f"{MODEL.format('plane')}.data.image[0]"
        browser.wait(f"Math.min(...{picture}) >= 0 && {picture}.shape.join() == '11,16'")
        number = browser.value(f"Array.from({MODEL.format('plane')}.data.number)[0]")
        browser.wait(f"Array.from({MODEL.format('plane')}.data.number)[0] > {number} + 1")  # it follows the run
        browser.value(f"{TABS}.active = 2; 1")
        browser.wait(f"{MODEL.format('Surface of')}.options.includes('ux')")
        select(browser, "Surface of", "ux")
        browser.wait(f"{MODEL.format('coloured by')}.options.includes('uy')")
        select(browser, "coloured by", "uy")
        click(browser, "Show the surface")
        browser.wait(f"{MODEL.format('surface view')}.text.includes('iframe')")
        place, before = tmp_path / "seen.png", None
        for _ in range(300):  # until something in colours is drawn
            before = seen(browser, place)[300:700, 300:1000]
            if (np.ptp(before, axis=2) > 60).mean() > 0.01:
                break
            time.sleep(0.1)
        assert (np.ptp(before, axis=2) > 60).mean() > 0.01, "the surface is not drawn"
        drag(browser, (640, 500), (800, 430))
        for _ in range(100):
            after = seen(browser, place)[300:700, 300:1000]
            if (np.abs(after - before).max(axis=2) > 60).mean() > 0.01:
                break
            time.sleep(0.1)
        assert (np.abs(after - before).max(axis=2) > 60).mean() > 0.01, "the surface does not turn"
        browser.value(f"{TABS}.active = 5; 1")
        browser.wait(f"{MODEL.format('state of a')}.text.includes('pressure')")
        click(browser, "Stop with a checkpoint")
        click(browser, "No, let it go on")
        time.sleep(3)
        assert job.poll() is None, "it was asked only to be asked"
        click(browser, "Stop with a checkpoint")
        click(browser, "Yes, stop the run")
        ended = mpi_run.finish(job, 180)
        assert ended.code == 143, ended.text
        browser.value(f"{TABS}.active = 1; 1")
        browser.wait(f"{MODEL.format('series of Field')}.value == 'a: out.h5'")  # there is no memory any more
        assert "stopped on request" in ended.text
        says(browser, "stopped")
        end = f"--set=time.steps={cases.checkpoints(tmp_path / 'a')[-1] + 5}"
        again = mpi_run.tailrace("run", "case.toml", "--resume", "--live", end, cwd=tmp_path / "a")
        assert again.code == 0, again.text
        says(browser, "finished")
        assert browser.errors == []
        own = urlsplit(browser.asked[0]).netloc
        assert {urlsplit(one).netloc for one in browser.asked} - {""} == {own}


def test_a_run_that_dies_is_told(tmp_path, served):
    path = run_of(tmp_path / "a", steps=100000)
    path.write_text(path.read_text().replace("dt = 0.01", "dt = 1e-5"))
    job = mpi_run.start(mpi_run.tailrace_command("run", "case.toml", "--live"), tmp_path / "a")
    with Browser((390, 800)) as browser:
        end = time.monotonic() + 240
        while not (tmp_path / "a/.time_series.csv.live/now.json").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        browser.go(served("a"))
        browser.wait(f"!!{TABS}")
        says(browser, "running")
        browser.value(f"{TABS}.active = 5; 1")
        assert not browser.value(f"{MODEL.format('stop')}.visible"), "it was not allowed"
        mpi_run.kill_session(job)
        mpi_run.finish(job, 180)
        says(browser, "died")
        assert browser.errors == []
