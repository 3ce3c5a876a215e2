"""G-PATE as it was published, on images: an odometer reading, not a promise.

    python benchmarks/pate_published.py --epsilon 10 [--data mnist] [--device cuda] [--stand-in 200] [--picture FILE]

Teachers are small convolutional discriminators of equal shares of the rows (a shuffled cut, as published), trained beside
the generator on all of their rows. Each projects its gradient at every generated image on ten public random directions, new
ones for every image, and votes for one of ten bins of each; Confident-GNMax decides, and the generator makes a step towards
the images so moved. Rounds go on until the published data-dependent cost, summed over what was answered, reads epsilon.
Queries follow from earlier answers, so that such a sum bounds nothing: what the same votes are worth by the price of their
noise is printed beside it. The noise is that of torch. The sound setting is `pate_images.py`.

`--stand-in 200` trains so few teachers, with as many rows each as the published ones have, and counts every vote as
many times as makes up the published number: noise, thresholds and odometer are those of the published number. `--stage`
takes the votes apart: `plain` gradients (their mean, as of a generator with many discriminators), `projected` on the
directions, the fullest `binned` without noise, or as `published`. `--stage own` has teachers of `privet.pate.GPATE`, no
networks (linear rules; 20 points a round, 32 directions of unit length, blurred, `--bins` 2), with the published
number, noise, threshold and odometer.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from pate_images import accuracy, grid, images
from torch import Tensor, nn
from torch.nn import functional

from privet import accounting
from privet.noise import KeyedStream
from privet.pate import GPATE, ConfidentGNMax, Images
from privet.pate.gans.centroids import Centroids
from privet.pate.gans.follower import Follower
from privet.pate.gans.generator import Generator as Plain
from privet.pate.gans.parts import exact_parts
from privet.pate.vote_theorems import epsilon_of, gn_theorem, log_losing_normal, threshold_theorem
from privet.privacy import Repeated

DELTA, DIRECTIONS, BINS, REACH, MOST = 1e-5, 10, 10, 1e-4, 64
ORDERS = np.concatenate([np.linspace(1.1, 10.9, 99), np.arange(11.0, 200.0)])
# teachers, deviation of noise on thresholds and on votes, latent numbers: by epsilon, as published
PUBLISHED = {1.0: (4000, 3000.0, 1000.0, 50), 10.0: (2000, 600.0, 100.0, 100)}


class Generator(nn.Module):
    """A convolutional generator of images of 28 x 28 by class; every layer is told the class."""

    def __init__(self, latent: int, channels: int, wide: int = 1024) -> None:
        super().__init__()
        self.latent, self.channels = latent, channels
        self.one = nn.Linear(latent + 10, wide)
        self.two = nn.Linear(wide + 10, channels * 49)
        self.three = nn.ConvTranspose2d(channels + 10, channels, 5, 2, 2, output_padding=1)
        self.four = nn.ConvTranspose2d(channels + 10, 1, 5, 2, 2, output_padding=1)
        self.norms = nn.ModuleList(
            [nn.BatchNorm1d(wide, track_running_stats=False), nn.BatchNorm1d(channels * 49, track_running_stats=False),
             nn.BatchNorm2d(channels, track_running_stats=False)]
        )  # fmt: skip
        for layer in (self.one, self.two, self.three, self.four):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def drawn(self, many: int) -> Tensor:
        """So many latent points."""
        return torch.rand(many, self.latent, device=self.one.weight.device) * 2.0 - 1.0

    def forward(self, latent: Tensor, classes: Tensor) -> Tensor:
        told = functional.one_hot(classes, 10).float()
        planes = told[:, :, None, None]
        held = torch.relu(self.norms[0](self.one(torch.cat([latent, told], dim=1))))
        held = torch.relu(self.norms[1](self.two(torch.cat([held, told], dim=1))))
        held = torch.cat([held.reshape(-1, self.channels, 7, 7), planes.expand(-1, -1, 7, 7)], dim=1)
        held = torch.relu(self.norms[2](self.three(held)))
        held = torch.cat([held, planes.expand(-1, -1, 14, 14)], dim=1)
        return torch.sigmoid(self.four(held)).reshape(-1, 784)


class Teachers:
    """Discriminators in one stack: two convolutions, a dense layer, a sum, and what each class adds to each.

    The norms of the second and third layer are those of the batch, real and generated ones apart, as published.
    """

    def __init__(self, many: int, sizes: tuple[int, int, int], device: str, rate: float) -> None:
        one, two, dense = self.sizes = sizes
        shapes = {"one": (one, 1, 5, 5), "one_class": (10, one), "two": (two, one, 5, 5), "two_class": (10, two)}
        shapes |= {"dense": (49 * two, dense), "dense_class": (10, dense), "last": (dense, 1), "last_class": (10, 1)}
        self.layers = {name: torch.randn(many, *shape, device=device) * 0.02 for name, shape in shapes.items()}
        for name, width in (("two", two), ("dense", dense)):
            self.layers[f"{name}_scale"] = torch.ones(many, width, device=device)
            self.layers[f"{name}_shift"] = torch.zeros(many, width, device=device)
        for each in self.layers.values():
            each.requires_grad_()
        self._learn = torch.optim.Adam(self.layers.values(), lr=rate, betas=(0.5, 0.999))

    def told(self, own: dict[str, Tensor], x: Tensor, classes: Tensor) -> Tensor:
        """Logits (teachers, images) of images (teachers, images, 784) with classes (teachers, images)."""
        many, size = x.shape[:2]

        def joined(name: str) -> Tensor:  # (images, teachers x width)
            width = own[f"{name}_class"].shape[-1]
            return (
                torch.gather(own[f"{name}_class"], 1, classes[..., None].expand(-1, -1, width))
                .transpose(0, 1)
                .flatten(1)
            )

        def even(name: str, held: Tensor) -> Tensor:
            scale, shift = own[f"{name}_scale"].flatten(), own[f"{name}_shift"].flatten()
            return functional.batch_norm(held, None, None, scale, shift, training=True)

        def step(name: str, held: Tensor) -> Tensor:
            held = functional.pad(held, (1, 2, 1, 2))
            held = functional.conv2d(held, own[name].flatten(0, 1), stride=2, groups=many)
            return held + joined(name)[:, :, None, None]

        held = functional.leaky_relu(step("one", x.transpose(0, 1).reshape(size, many, 28, 28)), 0.2)
        held = functional.leaky_relu(even("two", step("two", held)), 0.2)
        held = held.reshape(size, many, -1).transpose(0, 1) @ own["dense"]
        held = held.transpose(0, 1).flatten(1) + joined("dense")
        held = functional.leaky_relu(even("dense", held), 0.2).reshape(size, many, -1).transpose(0, 1)
        return (held @ own["last"])[..., 0] + torch.gather(own["last_class"][..., 0], 1, classes)

    def pieces(self, piece: int):
        many = len(self.layers["one"])
        for start in range(0, many, piece):
            chosen = slice(start, min(start + piece, many))
            yield chosen, {name: each[chosen] for name, each in self.layers.items()}

    def train(self, x: Tensor, y: Tensor, made: Tensor, piece: int) -> None:
        """A step of each teacher: its own rows against generated ones of the same classes. `made` has an image of each
        class (first) for each latent point (second)."""
        self._learn.zero_grad()
        slots = torch.arange(y.shape[1], device=y.device)
        for chosen, own in self.pieces(piece):
            real = self.told(own, x[chosen].float() / 255.0, y[chosen])
            fake = self.told(own, made[y[chosen], slots], y[chosen])
            loss = functional.softplus(-real).mean(dim=1) + functional.softplus(fake).mean(dim=1)
            loss.sum().backward()
        self._learn.step()

    def gradients(self, fake: Tensor, classes: Tensor, piece: int):
        """The ways to what is taken for real, (teachers, images, 784): gradients of the mean over the batch."""
        for _, own in self.pieces(piece):
            size = len(own["one"])
            x = fake[None].expand(size, -1, -1).clone().requires_grad_()
            held = {name: each.detach() for name, each in own.items()}
            wanted = -functional.softplus(-self.told(held, x, classes[None].expand(size, -1))).mean(dim=1).sum()
            yield torch.autograd.grad(wanted, x)[0]


class Asked:
    """The images of a round, and what teachers say of where they should go."""

    def __init__(self, fake: Tensor, ways, stage: str) -> None:
        size, width = fake.shape
        # as published: each image has directions of its own
        self.along = torch.randn(size, width, DIRECTIONS, device=fake.device) / DIRECTIONS**0.5
        self.counts = torch.zeros(size, DIRECTIONS, BINS, device=fake.device)
        self.mean, self.share, teachers = torch.zeros_like(fake), 0.0, 0
        for way in ways:
            teachers += len(way)
            self.mean += way.sum(dim=0)
            if stage in ("binned", "published"):
                told = torch.einsum("tbw,bwd->tbd", way, self.along)
                self.share += float((told.abs() >= REACH).float().mean()) * len(way)
                bins = (told.clamp(-REACH, REACH * (1 - 1e-6)) + REACH) / (2 * REACH) * BINS
                self.counts += functional.one_hot(bins.long(), BINS).sum(dim=0)
        self.mean, self.share = self.mean / teachers, self.share / teachers

    def way(self, stage: str, sigmas: tuple[float, float], least: float) -> tuple[Tensor, Tensor]:
        """The way that each image goes, and which directions were answered."""
        answered = torch.ones(self.counts.shape[:2], dtype=torch.bool, device=self.mean.device)
        if stage == "plain":
            return self.mean, answered
        if stage == "projected":
            values = torch.einsum("bw,bwd->bd", self.mean, self.along)
        else:
            counts = self.counts
            if stage == "published":
                answered = counts.amax(-1) + sigmas[0] * torch.randn_like(counts[..., 0]) >= least
                counts = counts + sigmas[1] * torch.randn_like(counts)
            values = torch.where(answered, (counts.argmax(-1) + 0.5) / BINS * 2 * REACH - REACH, 0.0)
        return torch.einsum("bd,bwd->bw", values, self.along), answered


class Odometer:
    """The published cost of what was answered, summed up: no promise."""

    def __init__(self, teachers: int, sigma1: float, sigma2: float, queries: int, bins: int = BINS) -> None:
        self.least, self.sigma1, self.sigma2 = 0.5 * teachers, sigma1, sigma2
        self.total, self.rounds, self.answers, self.queries = np.zeros(len(ORDERS)), 0, 0, queries
        self.asked = ConfidentGNMax(
            threshold=self.least, sigma1=sigma1, sigma2=sigma2, queries=queries, answers=queries, classes=bins,
            teachers=teachers,
        )  # fmt: skip

    def add(self, counts: np.ndarray, answered: np.ndarray) -> float:
        self.rounds += 1
        self.answers += int(answered.sum())
        tops = counts.max(axis=1).astype(float)
        self.total += threshold_theorem(tops, self.least, self.sigma1, ORDERS).sum(axis=0)
        if answered.any():
            self.total += gn_theorem(log_losing_normal(counts[answered], self.sigma2), self.sigma2, ORDERS).sum(axis=0)
        return epsilon_of(self.total, ORDERS, DELTA, classic=True)

    def sound(self) -> float:
        """The epsilon of so many rounds by the price of their noise."""
        return float(accounting.epsilon(Repeated(self.asked.loss, self.rounds), delta=DELTA).upper)


def generated(maker: Generator, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Images as bytes, with their classes, in batches that have all classes."""
    told = torch.arange(many, device=maker.one.weight.device) % 10
    with torch.no_grad():
        made = torch.cat([maker(maker.drawn(len(part)), part) for part in told.split(200)])
    return (made.cpu().numpy() * 255).astype(np.uint8), told.cpu().numpy()


def run(asked: argparse.Namespace) -> None:
    torch.manual_seed(asked.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    many, sigma1, sigma2, latent = PUBLISHED[asked.epsilon]
    data, device = images(asked.data), asked.device
    each = len(data["x_train"]) // many
    fewer = min(asked.stand_in or many, many)
    order = np.random.default_rng(asked.seed).permutation(len(data["x_train"]))[: each * fewer]
    x = torch.tensor(data["x_train"][order].reshape(fewer, each, 784), device=device)
    y = torch.tensor(data["y_train"][order].astype(np.int64).reshape(fewer, each), device=device)
    batch, times = min(MOST, each), many / fewer
    teachers = Teachers(fewer, tuple(map(int, asked.sizes.split(","))), device, asked.rate)
    maker = Generator(latent, asked.channels).to(device)
    makes = torch.optim.Adam(maker.parameters(), lr=asked.rate, betas=(0.5, 0.999))
    odometer, begin, read, looked = Odometer(many, sigma1, sigma2, batch * DIRECTIONS), time.time(), 0.0, 0.0
    row = {"data": asked.data, "setting": asked.epsilon, "stage": asked.stage, "teachers": fewer, "for": many}
    classes_of_all = torch.arange(10, device=device).repeat_interleave(batch)

    def look(share: float) -> None:
        nonlocal looked
        start = time.time()
        pictures, told = generated(maker, asked.judged)
        found = accuracy(pictures, told, data["x_test"], data["y_test"], device)
        now = row | {"rounds": odometer.rounds, "odometer": round(read, 3), "accuracy": round(found, 4)}
        now |= {"at the ends": round(share, 3), "by the price of the noise": round(odometer.sound(), 1)}
        now |= {"answered": round(odometer.answers / (odometer.rounds * odometer.queries), 3)}
        print(json.dumps(now | {"seconds": round(start - begin - looked, 1)}), flush=True)
        if asked.picture:
            grid(pictures.reshape(-1, 28, 28), told, Path(asked.picture))
        looked += time.time() - start

    while read < asked.epsilon and odometer.rounds < asked.rounds and time.time() - begin - looked < asked.seconds:
        drawn = maker.drawn(batch)
        for _ in range(asked.steps):
            with torch.no_grad():
                made = maker(drawn.repeat(10, 1), classes_of_all).reshape(10, batch, 784)
            teachers.train(x, y, made, asked.piece)
        classes = torch.randint(10, (batch,), device=device)
        fake = maker(drawn, classes)
        said = Asked(fake.detach(), teachers.gradients(fake.detach(), classes, asked.piece), asked.stage)
        said.counts *= times
        way, answered = said.way(asked.stage, (sigma1, sigma2), 0.5 * many)
        makes.zero_grad()
        fake.backward(gradient=-2.0 * way)
        makes.step()
        counts = said.counts.reshape(-1, BINS).round().cpu().numpy().astype(np.int64)
        reads = odometer.add(counts, answered.reshape(-1).cpu().numpy())
        read = reads if asked.stage == "published" else 0.0
        if odometer.rounds % asked.every == 0:
            look(said.share)
    look(said.share)


def own(asked: argparse.Namespace) -> None:
    """The odometer of linear rules: the same teachers, points and moves as at the sound price, the published noise."""
    many, sigma1, sigma2, _ = PUBLISHED[asked.epsilon]
    data, points, directions, reach = images(asked.data), 20, 32, 0.1
    private = Images(data["x_train"].reshape(-1, 28, 28), data["y_train"].astype(np.int64), classes=10)
    task, key = GPATE(teachers=many, sigma2=sigma2).task(private), bytes([asked.seed]) * 32
    rules = Centroids(exact_parts(task.exact_units(private), key, many), 10, device=asked.device)
    stream = KeyedStream(key)
    begun = Plain.begun(task.heads, np.ones(10), 8, (64,), stream, asked.device)
    public = Follower(begun, task.grid, stream, rate=0.003)
    odometer, read, begin = Odometer(many, sigma1, sigma2, points * directions, asked.bins), 0.0, time.process_time()
    while read < asked.epsilon and odometer.rounds < asked.rounds:
        given = public.ask(points, directions, 1.5)
        votes = rules.exact_bins(public.centres(64), given.classes, given.along, asked.bins, reach)
        told = odometer.asked.release(votes).value
        read = odometer.add(votes.exact_counts.astype(np.int64), np.asarray(told) >= 0)
        move = asked.move * max(1.0 - read / asked.epsilon, 0.0)  # shorter and shorter, as the reading goes on
        public.follow(given, told, asked.bins, reach, move, 10)
    spent = time.process_time() - begin
    row = {"data": asked.data, "setting": asked.epsilon, "stage": "own", "bins": asked.bins, "rounds": odometer.rounds}
    row |= {"odometer": round(read, 3), "by the price of the noise": round(odometer.sound(), 1)}
    row |= {"answered": round(odometer.answers / (odometer.rounds * odometer.queries), 3), "CPU seconds": round(spent)}
    print(json.dumps(row), flush=True)
    latents, classes = public.drawn(asked.judged)
    made = task.decoded(latents.detach().cpu().numpy(), classes.cpu().numpy()).images
    found = accuracy(made, classes.cpu().numpy(), data["x_test"], data["y_test"], asked.device)
    print(json.dumps(row | {"judged by": asked.judged, "accuracy": round(found, 4)}), flush=True)
    if asked.picture:
        grid(made, classes.cpu().numpy(), Path(asked.picture))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epsilon", type=float, default=10.0, choices=list(PUBLISHED))
    parser.add_argument("--stage", default="published", choices=["plain", "projected", "binned", "published", "own"])
    parser.add_argument("--stand-in", type=int, default=0, help="so few teachers vote for all")
    parser.add_argument("--channels", type=int, default=128, help="of the generator")
    parser.add_argument("--sizes", default="11,42,256", help="channels of two layers and width of the third")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--rounds", type=int, default=10**6)
    parser.add_argument("--every", type=int, default=250, help="rounds between looks at the accuracy")
    parser.add_argument("--judged", type=int, default=20_000, help="images to judge by")
    parser.add_argument("--piece", type=int, default=50, help="teachers at once")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=1, help="of teachers, a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", default="")
    parser.add_argument("--bins", type=int, default=2, help="of linear rules (--stage own)")
    parser.add_argument("--move", type=float, default=2.0, help="of linear rules, in the first round")
    asked = parser.parse_args()
    (own if asked.stage == "own" else run)(asked)


if __name__ == "__main__":
    main()
