"""A private training step beside a plain one: time and memory over eager PyTorch, for three small models.

    python benchmarks/deep.py [--device cuda] [--opacus FOLDER] [--quick]

All modes of one model take turns in one process (CPU: one thread, seconds of CPU; CUDA: seconds of the clock), and the
median of the rounds counts, so that a busy machine slows them alike. Memory is the peak above what was held before the
model was made, each mode in a process of its own. The private steps hold clipping, exact noise and the step
of the optimizer; the fallback is `engine="vmapped"`. Opacus is looked for in FOLDER, unpacked
(`pip install --no-deps --target FOLDER opacus==1.6.0`).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet import deep, noise

CLIP, MULTIPLIER, RATE = 1.0, 1.1, 0.05
ENGINES = {"book-keeping": "bookkeeping", "vmap": "vmapped"}
TARGETS = {"convnet": (1.7, 1.25), "mlp": (1.9, 1.5), "transformer": (1.6, 1.45)}


class Block(nn.Module):
    """A pre-norm block of a causal transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.first(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    """A small language model over 96 characters."""

    def __init__(self, layers: int = 4, width: int = 128, length: int = 64, words: int = 96) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.register_buffer("places", torch.sin(torch.arange(length)[:, None] * torch.logspace(0, -4, width)))
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.last(self.blocks(self.words(ids) + self.places)))


def convnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """One loss a record; for sequences, the mean over its own positions."""
    if outputs.ndim == 3:
        return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(1)
    return F.cross_entropy(outputs, targets, reduction="none")


def task(name: str, device: str) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    if name == "transformer":
        ids = torch.randint(0, 96, (64, 65))
        return Transformer().to(device), ids[:, :-1].to(device), ids[:, 1:].to(device)
    shape = (512, 1, 28, 28) if name == "convnet" else (512, 784)
    model = convnet() if name == "convnet" else mlp()
    return model.to(device), torch.randn(*shape, device=device), torch.randint(0, 10, (512,), device=device)


def plain(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def step() -> None:
        optimizer.zero_grad()
        losses(model(inputs), targets).mean().backward()
        optimizer.step()

    return step


def with_noise(flat: Any) -> Any:
    """The sum on a grid of 2^-26 of the clip, with exact normal noise in whole steps of it."""
    steps = np.rint(flat.astype(np.float64) * (2.0**26 / CLIP)).astype(np.int64)
    return (steps + noise.rounded_gaussian(sigma=Fraction(MULTIPLIER) * 2**26, size=len(flat))) * (CLIP / 2.0**26)


def private(engine: str, *, noisy: bool = True) -> Callable[[nn.Module, Tensor, Tensor], Callable[[], object]]:
    def made(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        run = deep.make_engine(model, losses, deep.Flat(CLIP), engine=engine)
        parameters = dict(model.named_parameters())
        sizes = [each.numel() for each in parameters.values()]
        mask = torch.ones(len(inputs), dtype=torch.bool, device=inputs.device)

        def step() -> None:
            sums = run(parameters, inputs, targets, mask)
            flat = torch.cat([sums[name].flatten() for name in parameters]).cpu().numpy()
            value = with_noise(flat) if noisy else flat
            moved = torch.from_numpy(np.asarray(value, dtype=np.float32)).to(inputs.device)
            for part, each in zip(moved.split(sizes), parameters.values(), strict=True):
                each.grad = part.view(each.shape).div_(len(inputs))
            optimizer.step()

        return step

    return made


def opacus(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
    from opacus import PrivacyEngine

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=len(inputs))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    wrapped, optimizer, _ = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=data, noise_multiplier=MULTIPLIER, max_grad_norm=CLIP,
        poisson_sampling=False,
    )  # fmt: skip

    def step() -> None:
        optimizer.zero_grad()
        losses(wrapped(inputs), targets).mean().backward()
        optimizer.step()

    return step


MODES: dict[str, Callable[[nn.Module, Tensor, Tensor], Callable[[], object]]] = {
    "plain": plain,
    **{name: private(engine) for name, engine in ENGINES.items()},
    "book-keeping without noise": private("bookkeeping", noisy=False),
    "opacus": opacus,
}


def seconds(step: Callable[[], object], device: str) -> float:
    if device == "cpu":
        begin = time.process_time()
        step()
        return time.process_time() - begin
    torch.cuda.synchronize()
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def times(name: str, modes: list[str], device: str, rounds: int) -> dict[str, float]:
    """The median seconds of a step of each mode, all modes in turn."""
    steps = {mode: MODES[mode](*task(name, device)) for mode in modes}
    for step in steps.values():
        step()
        step()
    taken: dict[str, list[float]] = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode, step in steps.items():
            taken[mode].append(seconds(step, device))
    return {mode: statistics.median(each) for mode, each in taken.items()}


def held(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024


def memory(name: str, mode: str, device: str) -> int:
    """The peak of three steps above what was held before the model was made, in bytes; to be asked in a fresh process."""
    model, inputs, targets = task(name, device)
    MODES[mode](model, inputs[:2], targets[:2])()  # whatever is loaded or made once
    del model, inputs, targets
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    else:
        before = held("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
    step = MODES[mode](*task(name, device))
    for _ in range(3):
        step()
    return (torch.cuda.max_memory_allocated() if device == "cuda" else held("VmHWM")) - before


def memory_apart(name: str, mode: str, arguments: argparse.Namespace) -> int:
    call = [sys.executable, __file__, "--device", arguments.device, "--memory-of", name, mode]
    call += ["--opacus", arguments.opacus] if arguments.opacus else []
    return int(subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--opacus", help="folder with an unpacked Opacus")
    parser.add_argument("--quick", action="store_true", help="few rounds, no memory")
    parser.add_argument("--models", nargs="*", default=list(TARGETS))
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.opacus:
        sys.path.insert(0, arguments.opacus)
    if arguments.device == "cpu":
        torch.set_num_threads(1)
    if arguments.memory_of:
        print(memory(*arguments.memory_of, arguments.device))
        return
    modes = [mode for mode in MODES if mode != "opacus" or arguments.opacus]
    found: dict[str, Any] = {}
    for name in arguments.models:
        taken = times(name, modes, arguments.device, 5 if arguments.quick else 25)
        kept = {} if arguments.quick else {mode: memory_apart(name, mode, arguments) for mode in modes}
        found[name] = {"seconds": taken, "bytes": kept}
        print(f"{name}: plain {1e3 * taken['plain']:.2f} ms; must {TARGETS[name][0]} time, {TARGETS[name][1]} memory")
        for mode in modes[1:]:
            share = f", memory {kept[mode] / kept['plain']:.2f}" if kept else ""
            print(f"  {mode}: time {taken[mode] / taken['plain']:.2f}{share}", flush=True)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "deep.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
