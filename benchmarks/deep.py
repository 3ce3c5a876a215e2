"""A private training step beside a plain one: time and memory over eager PyTorch, for three small models and a large one.

    python benchmarks/deep.py [--device cuda] [--opacus FOLDER] [--quick] [--models convnet mlp transformer large ...]

All modes of one model take turns in one process (CPU: one thread, seconds of CPU; CUDA: seconds of the clock, of ten steps
in a row, as a training takes them, and one wait), and the median of the rounds counts, so that a busy machine slows them
alike. Memory is the peak above what was held before the model was made, each mode in a process of its own. The private
steps hold clipping, secure noise (`StepNoise`; on CUDA the keyed stream on the device) and the step of the optimizer; the
fallback is `engine="vmapped"`. "plain, compiled" is the
whole plain step compiled, and on CUDA captured: what a private step is fairly compared with where it is captured itself.
Opacus is looked for in FOLDER, unpacked (`pip install --no-deps --target FOLDER opacus==1.6.0`).
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
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet import deep
from privet.deep import stream
from privet.deep.batches import exact_value, joined, protected_mean
from privet.deep.captured_step import CapturedStep
from privet.deep.engines.compiled import Compiled
from privet.deep.engines.engine import ExampleLosses
from privet.deep.start import Start, descend
from privet.noise import KeyedStream

CLIP, MULTIPLIER, RATE = 1.0, 1.1, 0.05
ENGINES = {"book-keeping": "bookkeeping", "compiled": "compiled", "vmap": "vmapped"}
TARGETS = {"convnet": (1.7, 1.25), "mlp": (1.9, 1.5), "transformer": (1.6, 1.45)}
ON_CUDA = {
    "convnet": "(a) .5, (b) 1.5",
    "mlp": "(a) .5, (b) 1.5",
    "transformer": "(a) .5, (b) 1.5",
    "large": "(a) 1.2, memory 1.2",
    "large-bf16": "(a) 1.0, (b) 1.35, memory 1.25",
}


class Narrow(nn.Module):
    """A model whose products are computed in bfloat16."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        with torch.autocast(inputs.device.type, dtype=torch.bfloat16):
            outputs: Tensor = self.model(inputs)
        return outputs.float()


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
        return deep.SmallTransformer(96).to(device), ids[:, :-1].to(device), ids[:, 1:].to(device)
    if name.startswith("large"):
        ids = torch.randint(0, 96, (32, 257))
        large = deep.SmallTransformer(96, layers=12, width=768, heads=12, length=256)
        model = Narrow(large) if name.endswith("bf16") else large
        return model.to(device), ids[:, :-1].to(device), ids[:, 1:].to(device)
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


def plain_compiled(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
    """The whole plain step: the model and its loss compiled, on CUDA everything captured as one graph."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    loss = torch.compile(lambda x, y: losses(model(x), y).mean(), dynamic=False)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        loss(inputs, targets).backward()
        optimizer.step()

    if inputs.device.type != "cuda":
        return step
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        graph.replay()

    replay.kept = (model, optimizer, loss, inputs, targets)  # type: ignore[attr-defined]  # the graph reads and writes what they own
    return replay


def noise_on_cuda(made: deep.StepNoise) -> Callable[[Tensor, int], Tensor]:
    """The keyed stream's noise, on the grid of `StepNoise`."""
    keyed, noise = KeyedStream.fresh(), stream.NoiseOnDevice(made.steps, made.grid, made.dimension, "cuda")
    return lambda flat, step: noise.added(flat, torch.empty_like(flat), keyed, step)


def private(engine: str, *, noisy: bool = True) -> Callable[[nn.Module, Tensor, Tensor], Callable[[], object]]:
    """A step as `Trainer.fit` takes it: sums, one vector of them, noise, the mean, the optimizer."""

    def made(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        run = deep.make_engine(model, losses, deep.Flat(CLIP), engine=engine)
        parameters = dict(model.named_parameters())
        size = sum(each.numel() for each in parameters.values())
        mask = torch.ones(len(inputs), dtype=torch.bool, device=inputs.device)
        noise = deep.StepNoise(clip=CLIP, noise_multiplier=MULTIPLIER, dimension=size, single=True)
        on_cuda = noise_on_cuda(noise) if inputs.is_cuda else None
        done = [0]

        def step() -> None:
            done[0] += 1
            total = joined(run(parameters, inputs, targets, mask))
            if noisy and on_cuda is None:
                sums = np.asarray(noise.release(exact_value(total, noise)).value)
                del total
                total = protected_mean(sums, len(inputs))
            else:
                if on_cuda is not None and noisy:
                    total = on_cuda(total, done[0])
                total.div_(len(inputs))
            descend(parameters, [optimizer.step], total)

        return step

    return made


def captured(model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], object]:
    """The whole private step as `Trainer.fit` takes it on a device: graphs, noise through its mechanism, the optimizer.
    Batches lie in its memory, as those of the plain step do.
    """
    start = Start(model, torch.optim.SGD(model.parameters(), lr=RATE), losses)
    noise = deep.StepNoise(clip=CLIP, noise_multiplier=MULTIPLIER, dimension=start.dimension)
    engine = Compiled(ExampleLosses(start.model, losses), deep.Flat(CLIP), None)
    step = CapturedStep(engine, start.live(start.first()), noise, inputs, targets)
    step.begin(start.live(start.first()), len(inputs))
    mine, theirs, _ = step.batch  # filled once, as the plain step reads its batch where it lies
    mine.copy_(inputs)
    theirs.copy_(targets)
    return lambda: step.descend(noise.release(step.sum_of([lambda batch: None])).value)


def fit_seconds(name: str, device: str) -> float:
    """Seconds of a step within `Trainer.fit`: sampling, reading, price and progress included, from the second block on."""
    model, inputs, targets = task(name, device)
    many, steps = 8, 100 if name.startswith("large") else 400
    data = torch.cat([inputs] * many), torch.cat([targets] * many)
    plan = deep.Plan(
        noise_multiplier=MULTIPLIER, delta=1e-5, steps=steps, sampling=deep.Poisson(q=1 / many),
        expected_batch=len(inputs), clip_norm=CLIP,
    )  # fmt: skip
    told: list[tuple[float, int]] = []
    trainer = deep.Trainer(model, torch.optim.SGD(model.parameters(), lr=RATE), losses, plan, engine="compiled")
    trainer.fit(data, progress=lambda at: told.append((time.perf_counter(), at.step)))
    (begin, first), (end, last) = told[0], told[-1]
    return (end - begin) / (last - first)


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
    "plain, compiled": plain_compiled,
    **{name: private(engine) for name, engine in ENGINES.items()},
    "book-keeping without noise": private("bookkeeping", noisy=False),
    "compiled without noise": private("compiled", noisy=False),
    "captured": captured,
    "opacus": opacus,
}


COMPILED = "plain, compiled"


def seconds(step: Callable[[], object], device: str, many: int = 1) -> float:
    """Seconds of a step, of so many in a row."""
    if device == "cpu":
        begin = time.process_time()
        step()
        return time.process_time() - begin
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(many):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / many


def times(name: str, modes: list[str], device: str, rounds: int) -> dict[str, float]:
    """The median seconds of a step of each mode, all modes in turn."""
    steps: dict[str, Callable[[], object]] = {}
    for mode in modes:
        begin = time.perf_counter()
        try:
            steps[mode] = MODES[mode](*task(name, device))
            steps[mode]()
            steps[mode]()
        except Exception as problem:  # one mode that cannot run must not end the others
            steps.pop(mode, None)
            print(f"  {mode} cannot run: {type(problem).__name__}: {str(problem)[:300]}")
        else:
            print(f"  {mode}: ready after {time.perf_counter() - begin:.1f} s", flush=True)
    many = {mode: 10 if seconds(step, device) < 0.05 else 1 for mode, step in steps.items()}
    taken: dict[str, list[float]] = {mode: [] for mode in steps}
    for _ in range(rounds):
        for mode, step in steps.items():
            taken[mode].append(seconds(step, device, many[mode]))
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
    times = 3 if arguments.device == "cpu" else 1  # what a system takes back meanwhile is not seen: the median counts
    found = [
        int(subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()[-1]) for _ in range(times)
    ]
    return statistics.median_low(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--opacus", help="folder with an unpacked Opacus")
    parser.add_argument("--quick", action="store_true", help="few rounds, no memory")
    parser.add_argument("--models", nargs="*", default=list(TARGETS), choices=list(ON_CUDA))
    parser.add_argument("--modes", nargs="*", default=list(MODES), choices=list(MODES))
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
    chosen = [mode for mode in arguments.modes if mode != "opacus" or arguments.opacus]
    chosen = [mode for mode in chosen if mode != "captured" or arguments.device == "cuda"]
    found: dict[str, Any] = {}
    for name in arguments.models:
        modes = [mode for mode in chosen if not (name.startswith("large") and mode in ("vmap", "opacus"))]
        taken = times(name, modes, arguments.device, 5 if arguments.quick and arguments.device == "cpu" else 25)
        modes = list(taken)
        kept = {} if arguments.quick else {mode: memory_apart(name, mode, arguments) for mode in modes}
        found[name] = {"seconds": taken, "bytes": kept}
        must = f"{TARGETS[name][0]} time, {TARGETS[name][1]} memory" if arguments.device == "cpu" else ON_CUDA[name]
        print(f"{name}: plain {1e3 * taken['plain']:.2f} ms; must {must}")
        for mode in modes[1:]:
            share = f", memory {kept[mode] / kept['plain']:.2f}" if kept else ""
            fair = f", {taken[mode] / taken[COMPILED]:.2f} of the plain step compiled" if COMPILED in taken else ""
            print(f"  {mode}: time {taken[mode] / taken['plain']:.2f}{fair}{share}", flush=True)
        if arguments.device == "cuda" and "captured" in modes:
            fitted = fit_seconds(name, arguments.device)
            found[name]["fit"] = fitted
            fair = f", {fitted / taken[COMPILED]:.2f} of the plain step compiled" if COMPILED in taken else ""
            print(
                f"  Trainer.fit, sampled and read: {1e3 * fitted:.2f} ms, time {fitted / taken['plain']:.2f}{fair}",
                flush=True,
            )
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "deep.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
