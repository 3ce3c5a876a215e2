"""Pages as a browser lays them out: code that is cut, and pages that are wider than the screen.

One browser measures all pages, each in a frame as wide as the screen that it stands for: to start a browser takes
longer than to lay out a page, and a window cannot be made as narrow as a telephone.
"""

import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

WIDTHS = (1280, 390)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--allow-file-access-from-files",
    "--virtual-time-budget=600000",
)
_PATIENCE = 900  # seconds, for all pages: the machine may be busy

# Scripts of a page do not run in its frame: they decide nothing about widths, and a page without them must be right, too.
_MEASURE = """<!DOCTYPE html><meta charset="utf-8"><body><script>
async function measured(page) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-same-origin";
  frame.style = "height: 1000px; border: 0";
  frame.src = page;
  const loaded = new Promise((done) => { frame.onload = done; });
  document.body.append(frame);
  await loaded;
  const inside = frame.contentDocument;
  const style = (box) => frame.contentWindow.getComputedStyle(box);
  const cut = (box) => box.scrollWidth > box.clientWidth + 2 && style(box).overflowX !== "auto";
  const found = WIDTHS.map((width) => {
    frame.style.width = `${width}px`;
    const blocks = [...inside.querySelectorAll("pre > code")].filter((code) => cut(code) || cut(code.parentElement));
    return [page, width, blocks.length, inside.documentElement.scrollWidth - width];
  });
  frame.remove();
  return found;
}
(async () => {
  const found = [];
  for (const page of PAGES) found.push(...await measured(page));
  document.body.dataset.found = JSON.stringify(found);
})();
</script></body>
"""


def browser() -> str | None:
    """A browser that can be asked without a window."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


def laid_out(program: str, site: Path, pages: Sequence[Path], widths: Sequence[int] = WIDTHS) -> list[list[int | str]]:
    """Page, width, number of blocks of code that are cut, and by how many pixels the page is too wide; for each."""
    names = [page.relative_to(site).as_posix() for page in pages]
    text = _MEASURE.replace("PAGES", json.dumps(names)).replace("WIDTHS", json.dumps(list(widths)))
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=site, encoding="utf-8") as asked:
        asked.write(text)
        asked.flush()
        command = [program, *FLAGS, "--dump-dom", Path(asked.name).as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True).stdout
    found = re.search(r'data-found="([^"]*)"', shown)
    if found is None:
        raise RuntimeError("the browser did not lay out all pages")
    return json.loads(html.unescape(found[1]))


def cut(program: str, site: Path, pages: Sequence[Path]) -> Iterator[str]:
    """What of these pages cannot be seen on a desk or on a telephone."""
    for page, width, blocks, beyond in laid_out(program, site, pages):
        if blocks:
            yield f"{page}: {blocks} blocks of code are cut at a width of {width}"
        if int(beyond) > 0:
            yield f"{page}: {beyond} pixels wider than a screen of {width}"
