"""The face of the room: torch is loaded by what needs it."""

import subprocess
import sys


def test_votes_and_teachers_do_not_load_torch():
    code = "import sys; from privet import pate; pate.Teachers, pate.GNMax; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
