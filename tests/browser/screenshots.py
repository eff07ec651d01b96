"""Make the pictures of docs/howto/live.md: python tests/browser/screenshots.py ADDRESS DIRECTORY

ADDRESS is that of the page of a channel that runs (`tailrace run channel.toml --live`) and has come to t = 60.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from helpers.harness.browser import Browser  # found by the line before

MODEL = "Bokeh.documents[0].get_model_by_name('{}')"
TABS = ("curves", "slices", "surface", "profiles", "pictures", "state")
VIEWS = [
    (390, 844, "light", "curves"),
    (390, 844, "dark", "state"),
    (1280, 800, "light", "surface"),
    (1280, 800, "dark", "slices"),
    (2560, 1300, "light", "curves"),
    (2560, 1300, "dark", "state"),
]


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose something when it is there."""
    browser.wait(f"{MODEL.format(name)}.options.includes('{value}')")
    browser.value(f"{MODEL.format(name)}.value = '{value}'; 1")


def main(address: str, place: Path) -> None:
    """Make all pictures."""
    for wide, high, theme, tab in VIEWS:
        with Browser((wide, high)) as browser:
            browser.go(f"{address}?theme={theme}")
            browser.wait(f"!!{MODEL.format('tabs')}")
            browser.value(f"{MODEL.format('tabs')}.active = {TABS.index(tab)}; 1")
            choose(browser, "column", "time_series.csv: shear_y_lower_ux")
            if tab == "slices":
                choose(browser, "Field", "vorticity")
            if tab == "surface":
                choose(browser, "Surface of", "q")
                choose(browser, "coloured by", "ux")
                browser.wait("(() => { const press = (root) => { for (const one of root.querySelectorAll('*')) { "
                             "if (one.tagName === 'BUTTON' && one.textContent.includes('Show the surface')) "
                             "{ one.click(); return true } if (one.shadowRoot && press(one.shadowRoot)) return true } "
                             "return false }; return press(document) })()")  # fmt: skip
            time.sleep(15)
            path = place / f"live-{wide}-{theme}.png"
            browser.picture(path)
            with Image.open(path) as seen:
                seen.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
            print(path, path.stat().st_size, browser.errors)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
