"""Build the site into build/site/html and refuse it where it is broken: `python -m tools.site`."""

import os
import subprocess
import sys

from tools.site.browser import browser, cut
from tools.site.gate import faults
from tools.site.stage import ROOT, stage


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
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    found = list(faults(site))
    program = browser()
    if program is None:
        print("no browser here: that code is seen whole was not measured")
    else:
        found += cut(program, site, pages)
    for line in found:
        print(line)
    print(f"{len(pages)} pages in {site.relative_to(ROOT)}, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
