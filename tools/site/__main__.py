"""Build the site into build/site/html and refuse it where it is broken: `python -m tools.site`."""

import os
import subprocess
import sys

from tools.site.gate import browser, cut_blocks, faults
from tools.site.stage import ROOT, stage

# Pages that are laid out in a browser: the front, a tutorial, a how-to, the reference, a proof.
SHOWN = ("", "tutorials/first-price/", "how-to/keep-a-ledger/", "reference/mechanisms/", "proofs/accounting/pld/")
WIDTHS = (1280, 500)  # a browser without a window is not made narrower than that


def main() -> int:
    settings = stage(ROOT / "build" / "site")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    # The generator stops at a link to a page that does not exist.
    made = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(settings)],
        cwd=settings.parent,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    if made.returncode:
        return made.returncode
    site = settings.parent / "html"
    found = list(faults(site))
    program = browser()
    if program is None:
        print("no browser here: that code is seen whole was not measured")
    else:
        for page in SHOWN:
            for width in WIDTHS:
                if count := cut_blocks(program, site / page / "index.html", width=width):
                    found.append(f"{page}index.html: {count} blocks of code are cut at a width of {width}")
    for line in found:
        print(line)
    print(f"{len(list(site.rglob('*.html')))} pages in {site.relative_to(ROOT)}, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
