"""G-PATE on images: accuracy of a small network that is trained on generated images alone, at the price of the noise.

Run with `python benchmarks/pate_images.py --epsilon 10 [--data mnist] [--device cuda]`; data under PRIVET_DATA.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from privet import pate

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"


def images(name: str) -> dict[str, np.ndarray]:
    with np.load(ROOT / name / f"{name}.npz") as held:
        return {part: held[part] for part in ("x_train", "y_train", "x_test", "y_test")}


def accuracy(made, labels, test, test_labels, device: str) -> float:
    """Of a small convolutional network on real images."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = torch.tensor(made, dtype=torch.float32, device=device).reshape(-1, 1, 28, 28) / 255
    y = torch.tensor(labels, device=device)
    for _ in range(6):
        for chosen in torch.randperm(len(x), device=device).split(128):
            optimizer.zero_grad()
            rows = (x[chosen] + 0.2 * torch.randn_like(x[chosen])).clamp(0, 1)
            nn.functional.cross_entropy(net(rows), y[chosen]).backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        t = torch.tensor(test, dtype=torch.float32, device=device).reshape(-1, 1, 28, 28) / 255
        told = torch.cat([net(each).argmax(1) for each in t.split(2000)]).cpu().numpy()
    return float((told == test_labels).mean())


def grid(made, labels, path: Path) -> None:
    """Ten images of each class, a row each, as a grey PNG."""
    from PIL import Image

    rows = [np.concatenate(list(made[labels == each][:10]), axis=1) for each in range(10)]
    Image.fromarray(np.concatenate(rows)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epsilon", type=float, default=10.0)
    for name, kind, value in (
        ("teachers", int, 2000), ("sigma", float, 200.0), ("batch", int, 20), ("dimensions", int, 32), ("blur", float, 1.5),
        ("hidden", int, 64), ("latent", int, 8), ("teacher_steps", int, 3), ("generator_steps", int, 10),
        ("teacher_hidden", int, 0), ("move", float, 2.0),
        ("rate", float, 0.003), ("reach", float, 0.1), ("bins", int, 2), ("rounds", int, 0),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind, default=value)
    parser.add_argument("--picture", default="")
    asked = parser.parse_args()
    data = images(asked.data)
    private = pate.Images(data["x_train"].reshape(-1, 28, 28), data["y_train"].astype(np.int64), classes=10)
    shared = {
        name: getattr(asked, name) for name in ("teachers", "batch", "dimensions", "blur", "latent", "teacher_steps")
    }
    shared |= {name: getattr(asked, name) for name in ("generator_steps", "move", "rate", "reach", "bins", "device")}
    model = pate.GPATE(
        sigma2=asked.sigma,
        hidden=(asked.hidden,),
        teacher_hidden=(asked.teacher_hidden,) * (asked.teacher_hidden > 0),
        label_share=0.0,
        rounds=asked.rounds or None,
        **shared,
    )
    plan = model.plan(private, epsilon=asked.epsilon, delta=1e-5)
    begin = time.time()
    made = model.fit(private, epsilon=asked.epsilon, delta=1e-5)
    seconds = time.time() - begin
    rows = made.sample(20_000)
    found = accuracy(rows.images, rows.classes, data["x_test"], data["y_test"], asked.device)
    figures = {**vars(asked), "rounds": plan.rounds, "accuracy": round(found, 4), "seconds": round(seconds, 1)}
    print(json.dumps(figures), flush=True)
    if asked.picture:
        grid(rows.images, rows.classes, Path(asked.picture))


if __name__ == "__main__":
    main()
