"""G-PATE as it was published, on images: an odometer reading, not a promise.

    python benchmarks/pate_published.py --epsilon 10 [--data mnist] [--device cuda] [--seconds 240] [--picture FILE]

Teachers are small convolutional discriminators of equal shares of the rows (a shuffled cut, as published), trained beside
the generator; each projects its gradient at every generated image on ten public random directions and votes for one of ten
bins of each; Confident-GNMax decides. Rounds go on until the published data-dependent cost, summed over what was answered,
reads epsilon. Queries follow from earlier answers, so that such a sum bounds nothing: what the same votes are worth by the
price of their noise is printed beside it. The noise is that of torch. The sound setting is `pate_images.py`.
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
from privet.pate import ConfidentGNMax
from privet.pate.vote_theorems import epsilon_of, gn_theorem, log_losing_normal, threshold_theorem
from privet.privacy import Repeated

DELTA, BATCH, DIRECTIONS, BINS, REACH = 1e-5, 64, 10, 10, 1e-4
ORDERS = np.concatenate([np.linspace(1.1, 10.9, 99), np.arange(11.0, 200.0)])
# teachers, deviation of noise on thresholds and on votes, latent numbers: by epsilon, as published
PUBLISHED = {1.0: (4000, 3000.0, 1000.0, 50), 10.0: (2000, 600.0, 100.0, 100)}
FIRST, SECOND = 8, 16  # channels


class Generator(nn.Module):
    """A convolutional generator of images of 28 x 28 by class."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.latent = latent
        self.start = nn.Sequential(nn.Linear(latent + 10, 128 * 49), nn.BatchNorm1d(128 * 49), nn.ReLU())
        self.rest = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 1, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, classes: Tensor) -> Tensor:
        drawn = torch.rand(len(classes), self.latent, device=classes.device) * 2 - 1
        given = torch.cat([drawn, functional.one_hot(classes, 10).float()], dim=1)
        return self.rest(self.start(given).reshape(-1, 128, 7, 7))


def patches(x: Tensor) -> Tensor:
    """The patches of 5 x 5 around every other pixel: (images, rows, columns, channels x 25)."""
    held = functional.pad(x, (0, 0, 2, 2, 2, 2))
    return held.unfold(1, 5, 2).unfold(2, 5, 2).flatten(3)


class Teachers:
    """Discriminators in one stack: two layers of patches, a sum, and what each class adds to both."""

    def __init__(self, many: int, device: str, rate: float) -> None:
        shapes = {"one": (25, FIRST), "by_class": (10, FIRST), "two": (25 * FIRST, SECOND), "bias": (1, SECOND)}
        shapes |= {"last": (49 * SECOND, 1), "last_class": (10, 1)}
        self.layers = {
            name: (torch.randn(many, *shape, device=device) * 0.02).requires_grad_() for name, shape in shapes.items()
        }
        self._learn = torch.optim.Adam(self.layers.values(), lr=rate, betas=(0.5, 0.999))

    def told(self, own: dict[str, Tensor], x: Tensor, classes: Tensor) -> Tensor:
        """Logits of images (teachers, images, 784) with classes (teachers, images)."""
        many, size = x.shape[:2]
        rows = patches(x.reshape(many * size, 28, 28, 1)).reshape(many, size * 196, 25)
        picked = torch.gather(own["by_class"], 1, classes[..., None].expand(-1, -1, FIRST))
        held = functional.leaky_relu((rows @ own["one"]).reshape(many, size, 196, FIRST) + picked[:, :, None], 0.2)
        rows = patches(held.reshape(many * size, 14, 14, FIRST)).reshape(many, size * 49, 25 * FIRST)
        held = functional.leaky_relu(rows @ own["two"] + own["bias"], 0.2).reshape(many, size, 49 * SECOND)
        return (held @ own["last"])[..., 0] + torch.gather(own["last_class"][..., 0], 1, classes)

    def pieces(self, piece: int):
        many = len(self.layers["one"])
        for start in range(0, many, piece):
            chosen = slice(start, min(start + piece, many))
            yield chosen, {name: each[chosen] for name, each in self.layers.items()}

    def train(self, x: Tensor, y: Tensor, fake: Tensor, classes: Tensor, piece: int) -> None:
        """A step of each teacher: its own rows against the generated ones."""
        self._learn.zero_grad()
        for chosen, own in self.pieces(piece):
            size = len(x[chosen])
            real = self.told(own, x[chosen].float() / 255.0, y[chosen])
            made = self.told(own, fake[None].expand(size, -1, -1), classes[None].expand(size, -1))
            loss = functional.softplus(-real).mean(dim=1) + functional.softplus(made).mean(dim=1)
            loss.sum().backward()
        self._learn.step()

    def votes(self, fake: Tensor, classes: Tensor, along: Tensor, piece: int) -> Tensor:
        """The number of teachers in each bin, for each image and direction."""
        counts = torch.zeros(len(fake), along.shape[1], BINS, device=fake.device)
        for _, own in self.pieces(piece):
            size = len(own["one"])
            x = fake[None].expand(size, -1, -1).clone().requires_grad_()
            held = {name: each.detach() for name, each in own.items()}
            wanted = -functional.softplus(-self.told(held, x, classes[None].expand(size, -1))).sum()
            (way,) = torch.autograd.grad(wanted, x)
            bins = ((way @ along).clamp(-REACH, REACH * (1 - 1e-6)) + REACH) / (2 * REACH) * BINS
            counts += functional.one_hot(bins.long(), BINS).sum(dim=0)
        return counts


class Odometer:
    """The published cost of what was answered, summed up: no promise."""

    def __init__(self, teachers: int, sigma1: float, sigma2: float) -> None:
        self.least, self.sigma1, self.sigma2 = 0.5 * teachers, sigma1, sigma2
        self.total, self.rounds = np.zeros(len(ORDERS)), 0
        self._asked = ConfidentGNMax(
            threshold=self.least, sigma1=sigma1, sigma2=sigma2, queries=BATCH * DIRECTIONS,
            answers=BATCH * DIRECTIONS, classes=BINS, teachers=teachers,
        )  # fmt: skip

    def add(self, counts: np.ndarray, answered: np.ndarray) -> float:
        self.rounds += 1
        tops = counts.max(axis=1).astype(float)
        self.total += threshold_theorem(tops, self.least, self.sigma1, ORDERS).sum(axis=0)
        if answered.any():
            self.total += gn_theorem(log_losing_normal(counts[answered], self.sigma2), self.sigma2, ORDERS).sum(axis=0)
        return epsilon_of(self.total, ORDERS, DELTA, classic=True)

    def sound(self) -> float:
        """The epsilon of so many rounds by the price of their noise."""
        return float(accounting.epsilon(Repeated(self._asked.loss, self.rounds), delta=DELTA).upper)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epsilon", type=float, default=10.0, choices=list(PUBLISHED))
    parser.add_argument("--teachers", type=int, default=0, help="other than published, to try")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--every", type=int, default=250, help="rounds between looks at the accuracy")
    parser.add_argument("--piece", type=int, default=500, help="teachers at once")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=1, help="of teachers, a round")
    parser.add_argument("--picture", default="")
    asked = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    many, sigma1, sigma2, latent = PUBLISHED[asked.epsilon]
    if asked.teachers:
        share = asked.teachers / many
        many, sigma1, sigma2 = asked.teachers, sigma1 * share, sigma2 * share
    data, device = images(asked.data), asked.device
    each = len(data["x_train"]) // many
    order = np.random.default_rng(0).permutation(len(data["x_train"]))[: each * many]
    x = torch.tensor(data["x_train"][order].reshape(many, each, 784), device=device)
    y = torch.tensor(data["y_train"][order].astype(np.int64).reshape(many, each), device=device)
    teachers, maker = Teachers(many, device, asked.rate), Generator(latent).to(device)
    makes = torch.optim.Adam(maker.parameters(), lr=asked.rate, betas=(0.5, 0.999))
    odometer, begin, read, answers = Odometer(many, sigma1, sigma2), time.time(), 0.0, 0
    looked = 0.0  # seconds of looks at the accuracy

    def look(end: bool) -> None:
        nonlocal looked
        start = time.time()
        spent = start - begin - looked
        maker.eval()
        with torch.no_grad():
            told = torch.arange(20_000, device=device) % 10
            made = torch.cat([maker(part) for part in told.split(2000)])
        maker.train()
        pictures = (made[:, 0].cpu().numpy() * 255).astype(np.uint8)
        found = accuracy(pictures, told.cpu().numpy(), data["x_test"], data["y_test"], device)
        looked += time.time() - start
        row = {"data": asked.data, "setting": asked.epsilon, "teachers": many, "rounds": odometer.rounds}
        row |= {"odometer": round(read, 3), "by the price of the noise": round(odometer.sound(), 1)}
        row |= {"answered": round(answers / (odometer.rounds * BATCH * DIRECTIONS), 3), "accuracy": round(found, 4)}
        print(json.dumps(row | {"seconds": round(spent, 1), "end": end}), flush=True)
        if asked.picture:
            grid(pictures, told.cpu().numpy(), Path(asked.picture))

    while read < asked.epsilon and time.time() - begin < asked.seconds:
        classes = torch.randint(10, (BATCH,), device=device)
        for _ in range(asked.steps):
            with torch.no_grad():
                shown = maker(classes).reshape(BATCH, 784)
            teachers.train(x, y, shown, classes, asked.piece)
        fake = maker(classes).reshape(BATCH, 784)
        along = torch.randn(784, DIRECTIONS, device=device) / DIRECTIONS**0.5
        counts = teachers.votes(fake.detach(), classes, along, asked.piece).reshape(-1, BINS)
        agreed = counts.max(dim=1).values + sigma1 * torch.randn(len(counts), device=device) >= 0.5 * many
        won = (counts + sigma2 * torch.randn_like(counts)).argmax(dim=1)
        told = torch.where(agreed, (won + 0.5) / BINS * 2 * REACH - REACH, 0.0).reshape(BATCH, DIRECTIONS)
        makes.zero_grad()
        fake.backward(gradient=-(told @ along.T) / REACH)
        makes.step()
        answered = agreed.cpu().numpy()
        read = odometer.add(counts.cpu().numpy().astype(np.int64), answered)
        answers += int(answered.sum())
        if odometer.rounds % asked.every == 0:
            look(False)
    look(True)


if __name__ == "__main__":
    main()
