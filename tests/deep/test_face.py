"""The face of the room: what it says where torch is missing, and that nothing else of privet needs torch."""

import json
import subprocess
import sys

WITHOUT = """
import importlib.util, json, sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else real(name, *rest)
sys.meta_path.insert(0, NoTorch())

import privet as pv
said = []
try:
    pv.deep.Plan
except ImportError as refused:
    said.append([type(refused).__name__, str(refused)])
try:
    from privet.deep import Plan
except pv.errors.PrivetError as refused:
    said.append([type(refused).__name__, str(refused)])
try:
    pv.pate.PATEGAN
except pv.errors.PrivetError as refused:
    generators = [type(refused).__name__, str(refused)]
told = {"generators": generators, "votes": pv.pate.GNMax.__name__, "said": said, "names": dir(pv.deep)}
left_out = dict(pv.testing.load_rooms())
names = [each.__name__ for each in pv.mechanisms.registered_mechanisms().values()]
print(json.dumps({**told, "left out": left_out, "mechanisms": names}))
"""


def test_a_missing_torch_is_named_with_its_remedy_and_no_other_room_misses_it():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    words = "privet.deep needs torch, which is not installed; run: pip install 'privet[torch]'"
    assert found["said"] == [["MissingExtra", words]] * 2
    assert found["names"] == []  # to look at the room is no error
    assert found["generators"] == ["MissingExtra", words.replace("privet.deep", "privet.pate.PATEGAN")]
    assert found["votes"] == "GNMax"
    gans = {name for name in found["left out"] if name.startswith("privet.pate")}
    assert gans == {"privet.pate.gans"}  # no file of it: what cannot run has registered nothing
    assert all(name.startswith("privet.deep.") for name in found["left out"].keys() - gans)
    assert "GNMax" in found["mechanisms"]
    assert not {"GPATE", "PATEGAN"} & set(found["mechanisms"])
