"""Accuracy of private image models at epsilon 3 and delta 1e-5, beside what is asked of them.

    PRIVET_DATA=FOLDER python benchmarks/deep_accuracy.py [--device cuda] [--quick] [--only NAME ...] [--seeds 3]

FOLDER holds mnist/mnist.npz, fashion_mnist/fashion_mnist.npz and cifar10/cifar10_jpg.npz. The CIFAR-10 images are a lossy
copy (JPEG), which costs some accuracy. Settings of MNIST and Fashion-MNIST are first tries after the literature (Tramer &
Boneh 2021; Papernot et al. 2021). That of CIFAR-10 was chosen on held-out training images, by a simulation of some thousand
settings; the test images had no part in that. No epsilon is charged for choosing. The noise is secure, so a seed decides
about the first weights only. `--quick` has fewer epochs, for a CPU.

Features of CIFAR-10 can be brought to a public scale first, which is that of made-up images: noise with the spectrum of
pictures, whose few constants were chosen by hand, one of four by a look at training images. Means, deviations and
covariances of the features of the records are releases: each is a noisy sum over all records, and the training gets the
noise at which these sums and its steps cost epsilon 3 *together*. What was paid is printed.
"""

import argparse
import io
import math
import os
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet import accounting, deep, mechanisms
from privet.privacy import Composed, PrivacyLoss

EPSILON, DELTA = 3.0, 1e-5


@dataclass(frozen=True)
class Setting:
    """One experiment: data, features or convnet, and the numbers of its training.

    Functions of one image: `scales` of the scattering; `opponent`: grey and two differences of colours in place of red,
    green and blue; `mirrored`: the mean of the features of an image and of its mirror image; `shape`: plain, or the root
    or the logarithm of all features but averages. `public_scale`: less the means of made-up images, over their deviations.

    Then come released means and deviations of channels, with the noise multiplier `scale_noise`, and channels turned and
    scaled by (covariance + ridge)^-power, a covariance of made-up images (`public_turn`) or one released with the noise
    multiplier `turn_noise`; None: not released. `groups` are those of the group normalisation that comes last; 0: none.
    `average` is that of `Trainer`.
    """

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
    scales: int = 2
    opponent: bool = False
    mirrored: bool = False
    shape: str = "plain"
    public_scale: bool = False
    public_turn: bool = False
    scale_noise: float | None = None
    turn_noise: float | None = None
    ridge: float = 1.0
    power: float = 0.25
    average: float | None = None


SETTINGS = {
    "mnist-scattering": Setting("mnist", True, 98.3, 4096, 40, 15, 8.0),
    "mnist-convnet": Setting("mnist", False, 97.8, 2048, 40, 15, 2.0),
    "fashion-scattering": Setting("fashion_mnist", True, 88.5, 8192, 40, 20, 16.0),
    "cifar10-scattering": Setting(
        "cifar10",
        True,
        65.0,
        50_000,
        60,
        30,
        0.2195,
        clip=3.741,
        groups=1,
        opponent=True,
        mirrored=True,
        shape="log",
        public_scale=True,
        public_turn=True,
        ridge=0.1,
        power=0.5,
    ),
}
FILES = {
    "mnist": "mnist/mnist.npz",
    "fashion_mnist": "fashion_mnist/fashion_mnist.npz",
    "cifar10": "cifar10/cifar10_jpg.npz",
}
OPPONENT = torch.tensor([[3**-0.5] * 3, [2**-0.5, 0.0, -(2**-0.5)], [6**-0.5, -2 * 6**-0.5, 6**-0.5]])


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


def features(batch: Tensor, setting: Setting, device: str) -> Tensor:
    """Scattering features, on the device that trains: functions of one image each."""
    transform, found = deep.Scattering(setting.scales), []
    for part in batch.split(1000):
        shown = part.to(device)
        if setting.opponent:
            shown = torch.einsum("dc,nchw->ndhw", OPPONENT.to(device), shown)
        made = transform(shown)
        if setting.mirrored:
            made = (made + transform(shown.flip(-1))) / 2
        if setting.shape != "plain":
            rest = made.unflatten(1, (-1, transform.features))[:, :, 1:]  # a view: averages come first, and stay
            rest.copy_(rest.clamp_min(0.0).sqrt() if setting.shape == "root" else (rest.clamp_min(0.0) + 0.003).log())
        found.append(made)
    return torch.cat(found)


def made_up_images(number: int = 2000, side: int = 32) -> Tensor:
    """Public images: Gaussian noise with the spectrum of outdoor pictures, whose colours are weak and without detail and
    whose contrasts differ."""
    coins = torch.Generator().manual_seed(0)
    frequency = torch.hypot(torch.fft.fftfreq(side)[:, None], torch.fft.fftfreq(side)[None, :])
    frequency[0, 0] = 1 / side
    spectrum = torch.stack([frequency**-1.25, frequency**-1.75, frequency**-1.75])
    made = torch.fft.ifft2(torch.fft.fft2(torch.randn(number, 3, side, side, generator=coins)) * spectrum).real
    made = made / made.std(dim=(0, 2, 3), keepdim=True) * torch.tensor([0.4, 0.08, 0.08])[:, None, None]
    made = made * (0.25 + 1.25 * torch.rand(number, 1, 1, 1, generator=coins))
    return (torch.einsum("dc,ndhw->nchw", OPPONENT, made) + 0.5).clamp(0.0, 1.0)


def on_public_scale(x: Tensor, setting: Setting) -> Tensor:
    """Features less the means of made-up images, place by place, over the deviations of their channels; and turned."""
    public = features(made_up_images(), setting, str(x.device))
    spread = (public.square().mean((0, 2, 3)) - public.mean((0, 2, 3)).square()).sqrt() + 1e-6
    mean = public.mean(0)
    x = (x - mean) / spread[:, None, None]
    if setting.public_turn:
        public = (public - mean) / spread[:, None, None]
        flat = public.transpose(0, 1).flatten(1).double()
        x = turned(x, flat @ flat.T / flat.shape[1], setting)
    return x


def turned(x: Tensor, covariance: Tensor, setting: Setting) -> Tensor:
    """Channels multiplied by (covariance + ridge)^-power."""
    values, vectors = torch.linalg.eigh(covariance)
    turn = (vectors * (values.clamp_min(0.0) + setting.ridge).pow(-setting.power)) @ vectors.T
    return torch.einsum("dc,nchw->ndhw", turn.float(), x)


def released_mean(rows: Iterable[Tensor], clip: float, noise: float, size: int) -> tuple[Tensor, PrivacyLoss]:
    """The noisy mean of rows, which come in parts, each row clipped to the length `clip`; and its price.

    Sums are of doubles. With 50,000 rows rounding moves one by less than 50,000 x 50,000 x 2^-53 clips, 6e-7 for two data
    sets: rows are a millionth shorter than the sensitivity.
    """
    total = 0.0
    for part in rows:
        lengths = part.norm(dim=1, keepdim=True).clamp_min(1e-12)
        total = total + (part * ((1.0 - 1e-6) * clip / lengths).clamp_max(1.0)).sum(0)
    mechanism = mechanisms.Gaussian(scale=noise * clip, sensitivity=clip)
    assert isinstance(total, Tensor)
    noisy = mechanism.release(total.cpu().numpy()).value
    return torch.from_numpy(np.array(noisy)).to(total.device) / size, mechanism.loss


def paid_scale(x: Tensor, setting: Setting) -> tuple[Tensor, Tensor, PrivacyLoss]:
    """Released means and deviations of channels, [C, 1, 1]: one noisy sum, to which a record adds means and squares."""
    assert setting.scale_noise is not None
    parts = (part.double() for part in x.split(2000))
    rows = (torch.cat([part.mean((2, 3)), part.square().mean((2, 3))], 1) for part in parts)
    clip = 3.0 * math.sqrt(x.shape[1])
    found, loss = released_mean(rows, clip, setting.scale_noise, public_size(setting))
    mean, square = found.float().chunk(2)
    spread = (square - mean.square()).clamp_min(0.01).sqrt()
    return mean[:, None, None], spread[:, None, None], loss


def paid_covariance(x: Tensor, setting: Setting) -> tuple[Tensor, PrivacyLoss]:
    """The released covariance of channels: entries off the diagonal count twice in the length of what a record adds."""
    assert setting.turn_noise is not None
    channels = x.shape[1]
    up, right = torch.triu_indices(channels, channels, device=x.device)
    weight = torch.where(up == right, 1.0, math.sqrt(2.0)).double()

    def rows() -> Iterable[Tensor]:
        for part in x.split(500):
            flat = part.double().flatten(2)
            yield (flat @ flat.mT / flat.shape[2])[:, up, right] * weight

    found, loss = released_mean(rows(), float(channels), setting.turn_noise, public_size(setting))
    covariance = torch.zeros(channels, channels, dtype=torch.float64, device=x.device)
    covariance[up, right] = covariance[right, up] = found / weight
    return covariance, loss


def scaled(x_train: Tensor, x_test: Tensor, setting: Setting) -> tuple[Tensor, Tensor, list[PrivacyLoss]]:
    """Features as the model sees them, and the prices of what was released of them."""
    prices = []
    if setting.scale_noise is not None:
        mean, spread, loss = paid_scale(x_train, setting)
        x_train, x_test = (x_train - mean) / spread, (x_test - mean) / spread
        prices.append(loss)
    if setting.turn_noise is not None:
        covariance, loss = paid_covariance(x_train, setting)
        x_train, x_test = (turned(each, covariance, setting) for each in (x_train, x_test))
        prices.append(loss)
    return x_train, x_test, prices


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets, reduction="none")


def model_of(setting: Setting, example: Tensor, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    if not setting.scattering:
        return deep.tempered_convnet(10, channels=example.shape[1], side=example.shape[2])
    norm = nn.GroupNorm(setting.groups, example.shape[1], affine=False) if setting.groups else nn.Identity()
    return nn.Sequential(norm, nn.Flatten(), nn.Linear(example[0].numel(), 10))


def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).sum() for x, y in zip(inputs.split(2000), targets.split(2000), strict=True)]
    return 100.0 * float(sum(hits)) / len(targets)


def public_size(setting: Setting) -> int:
    """The number of training images, which the world knows."""
    return 50_000 if setting.data == "cifar10" else 60_000


def plan_of(setting: Setting, epochs: int, paid: list[PrivacyLoss]) -> deep.Plan:
    """The plan with the least noise at which it costs epsilon 3 together with what was paid before it."""
    q = setting.batch / public_size(setting)

    def plan(noise_multiplier: float | None = None) -> deep.Plan:
        return deep.Plan(
            epsilon=EPSILON if noise_multiplier is None else None,
            noise_multiplier=noise_multiplier,
            delta=DELTA,
            steps=round(epochs / q),
            sampling=deep.Poisson(q=q),
            clip_norm=setting.clip,
            expected_batch=setting.batch,
        )

    if not paid:
        return plan()
    noise = accounting.calibrate(lambda each: Composed((*paid, plan(each).loss)), epsilon=EPSILON, delta=DELTA)
    return plan(noise)


def trained(setting: Setting, data: tuple[Tensor, Tensor, Tensor, Tensor], epochs: int, seed: int) -> float:
    x_train, y_train, x_test, y_test = data
    x_train, x_test, paid = scaled(x_train, x_test, setting)
    plan = plan_of(setting, epochs, paid)
    model = model_of(setting, x_train, seed).to(x_train.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.rate, momentum=setting.momentum)
    trainer = deep.Trainer(model, optimizer, losses, plan, average=setting.average)
    release = trainer.fit((x_train, y_train)).release
    whole = accounting.epsilon(Composed((*paid, release.loss)), delta=DELTA).upper
    if whole > EPSILON:
        sys.exit(f"epsilon {whole} is more than {EPSILON}")
    if paid:
        before = accounting.epsilon(Composed(paid), delta=DELTA).upper
        print(
            f"  paid: {before:.3f} for scales, {whole:.4f} with the training (noise {plan.noise_multiplier:.3f})",
            flush=True,
        )
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
            x_train, x_test = (features(each, setting, arguments.device) for each in (x_train, x_test))
        if setting.public_scale:
            x_train, x_test = (on_public_scale(each, setting) for each in (x_train, x_test))
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
