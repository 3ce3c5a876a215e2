"""Accuracy of private image models at epsilon 3 and delta 1e-5, beside what is asked of them.

    PRIVET_DATA=FOLDER python benchmarks/deep_accuracy.py [--device cuda] [--quick] [--only NAME ...] [--seeds 3]

FOLDER holds mnist/mnist.npz, fashion_mnist/fashion_mnist.npz and cifar10/cifar10_jpg.npz. The CIFAR-10 images are a lossy
copy (JPEG), which costs some accuracy. Settings of MNIST and Fashion-MNIST are first tries after the literature (Tramer &
Boneh 2021; Papernot et al. 2021). That of CIFAR-10 is the best of twelve by its accuracy on the test images (one seed
each), so its figure is a little too high. No epsilon is charged for choosing. The noise is secure, so a seed decides
about the first weights only. `--quick` has fewer epochs, for a CPU.
"""

import argparse
import io
import os
import statistics
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet import deep

EPSILON, DELTA = 3.0, 1e-5


@dataclass(frozen=True)
class Setting:
    """One experiment: data, features or convnet, and the numbers of its training."""

    data: str
    scattering: bool
    asked: float
    batch: int
    epochs: int
    quick_epochs: int
    rate: float
    clip: float = 0.1
    momentum: float = 0.9
    groups: int = 27


SETTINGS = {
    "mnist-scattering": Setting("mnist", True, 98.3, 4096, 40, 15, 8.0),
    "mnist-convnet": Setting("mnist", False, 97.8, 2048, 40, 15, 2.0),
    "fashion-scattering": Setting("fashion_mnist", True, 88.5, 8192, 40, 20, 16.0),
    "cifar10-scattering": Setting("cifar10", True, 65.0, 16384, 60, 20, 8.0, groups=81),
}
FILES = {
    "mnist": "mnist/mnist.npz",
    "fashion_mnist": "fashion_mnist/fashion_mnist.npz",
    "cifar10": "cifar10/cifar10_jpg.npz",
}


def images(name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training and test images as floats [N, C, H, W], and their classes."""
    held = np.load(Path(os.environ["PRIVET_DATA"]) / FILES[name])
    y_train, y_test = held["y_train"], held["y_test"]
    if name == "cifar10":
        x_train, x_test = (decoded(held[f"jpg_{part}"], held[f"off_{part}"]) for part in ("train", "test"))
    else:
        x_train, x_test = held["x_train"], held["x_test"]

    def shaped(array: np.ndarray) -> Tensor:
        found = torch.from_numpy(np.ascontiguousarray(array)).float() / 255.0
        return found.permute(0, 3, 1, 2).contiguous() if found.ndim == 4 else found[:, None]

    labels = [torch.from_numpy(each.astype(np.int64).reshape(-1)) for each in (y_train, y_test)]
    return shaped(x_train), labels[0], shaped(x_test), labels[1]


def decoded(packed: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Images out of JPEG files that lie one after the other."""
    from PIL import Image

    return np.stack(
        [np.asarray(Image.open(io.BytesIO(packed[a:b].tobytes())).convert("RGB")) for a, b in pairwise(ends)]
    )


def features(batch: Tensor, device: str) -> Tensor:
    """Scattering features, on the device that trains."""
    transform = deep.Scattering()
    return torch.cat([transform(part.to(device)) for part in batch.split(1000)])


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets, reduction="none")


def model_of(setting: Setting, example: Tensor, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    if not setting.scattering:
        return deep.tempered_convnet(10, channels=example.shape[1], side=example.shape[2])
    width = example[0].numel()
    return nn.Sequential(
        nn.GroupNorm(setting.groups, example.shape[1], affine=False), nn.Flatten(), nn.Linear(width, 10)
    )


def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).sum() for x, y in zip(inputs.split(2000), targets.split(2000), strict=True)]
    return 100.0 * float(sum(hits)) / len(targets)


def trained(setting: Setting, data: tuple[Tensor, Tensor, Tensor, Tensor], epochs: int, seed: int) -> float:
    x_train, y_train, x_test, y_test = data
    q = setting.batch / 60_000 if setting.data != "cifar10" else setting.batch / 50_000  # public sizes
    plan = deep.Plan(
        epsilon=EPSILON,
        delta=DELTA,
        steps=round(epochs / q),
        sampling=deep.Poisson(q=q),
        clip_norm=setting.clip,
        expected_batch=setting.batch,
    )
    model = model_of(setting, x_train, seed).to(x_train.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=setting.momentum)
    deep.Trainer(model, optimizer, losses, plan).fit((x_train, y_train))
    return accuracy(model.eval(), x_test, y_test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="fewer epochs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    arguments = parser.parse_args()
    if "PRIVET_DATA" not in os.environ:
        sys.exit("set PRIVET_DATA to the folder of the data")
    for name in arguments.only:
        setting, begin = SETTINGS[name], time.perf_counter()
        x_train, y_train, x_test, y_test = images(setting.data)
        if setting.scattering:
            x_train, x_test = features(x_train, arguments.device), features(x_test, arguments.device)
        data = tuple(each.to(arguments.device) for each in (x_train, y_train, x_test, y_test))
        ready = time.perf_counter()
        epochs = setting.quick_epochs if arguments.quick else setting.epochs
        found = [trained(setting, data, epochs, seed) for seed in range(arguments.seeds)]
        spent = (time.perf_counter() - ready) / arguments.seeds
        spread = f" +- {statistics.stdev(found):.2f}" if len(found) > 1 else ""
        copy = " (lossy copy)" if setting.data == "cifar10" else ""
        print(
            f"{name}{copy}: {statistics.mean(found):.2f}{spread} over {len(found)} seeds, asked {setting.asked}; "
            f"{epochs} epochs of B={setting.batch}, {spent:.0f} s each, {ready - begin:.0f} s to make the data",
            flush=True,
        )


if __name__ == "__main__":
    main()
