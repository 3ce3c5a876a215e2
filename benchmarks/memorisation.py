"""The memorisation table of the lectures: epsilon, test loss, exposure of secrets, and whether one is read out.

    python benchmarks/memorisation.py [--quick] [--device cpu|cuda] [--only ROW ...]

A small causal transformer of characters on tinyshakespeare (under PRIVET_DATA), cut into records of 65; 20 records are
"my secret number is" and nine random digits, each once. RMSProp and SGD, private at the lectures' epsilons and not.
Judged by the law of differential privacy, and not by single numbers: P[exposure >= e] <= e^epsilon 2^-e + delta for each
secret, a mean of at most (epsilon + 1)/ln 2 bits, and the bound that 20 secrets of one run give. The setting for a CPU
takes minutes a row; --device cuda has five times the text.
"""

import argparse
import gzip
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from privet import audit, deep

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
LENGTH, SECRETS, PREFIX, DELTA = 65, 20, "my secret number is ", 1e-5
ROWS: dict[str, tuple[str, float | None]] = {
    **{f"RMSProp, epsilon {e:g}": ("rmsprop", e) for e in (0.65, 1.21, 5.26, 89.0, 2e8, 1e9)},
    "SGD, epsilon 1e9": ("sgd", 1e9),
    "SGD, no privacy": ("sgd", None),
    "RMSProp, no privacy": ("rmsprop", None),
}


def ids(text: str) -> np.ndarray:
    """Printable characters as numbers; the vocabulary is public, and never read from the text."""
    codes = np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8).astype(np.int64) - 32
    return np.where((codes >= 0) & (codes < 95), codes, 95)


def texts(records: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of training and of test."""
    with gzip.open(ROOT / "tinyshakespeare" / "input.txt.gz", "rt") as file:
        whole = ids(file.read())
    cut = whole[: len(whole) // LENGTH * LENGTH].reshape(-1, LENGTH)
    return cut[:records], cut[-400:]


def secrets(rng: np.random.Generator, many: int) -> tuple[list[str], np.ndarray]:
    digits = ["".join(map(str, rng.integers(0, 10, 9))) for _ in range(many)]
    rows = [np.pad(ids(PREFIX + each), (0, LENGTH - len(PREFIX) - 9), constant_values=95) for each in digits]
    return digits, np.stack(rows)


def costs(model: Any, digits: list[str], device: str) -> np.ndarray:
    """Minus the logarithm of the probability of nine digits after the prefix, in nats."""
    found = []
    with torch.no_grad():
        for part in np.array_split(np.array(digits), -(-len(digits) // 512)):
            rows = torch.as_tensor(np.stack([ids(PREFIX + each) for each in part.tolist()]), device=device)
            logs = torch.log_softmax(model(rows[:, :-1]).double(), dim=-1)
            told = logs.gather(2, rows[:, 1:, None])[:, len(PREFIX) - 1 :, 0]
            found.append(-told.sum(dim=1).cpu().numpy())
    return np.concatenate(found)


def following(model: Any, device: str) -> Any:
    """Logarithms of the probabilities of the ten digits, after each beginning."""
    numerals = torch.as_tensor(ids("0123456789"), device=device)

    def answer(beginnings: list[str]) -> np.ndarray:
        rows = []
        with torch.no_grad():
            for text in beginnings:
                seen = torch.as_tensor(ids(text), device=device)[None]
                rows.append(torch.log_softmax(model(seen)[0, -1].double(), dim=-1)[numerals].cpu().numpy())
        return np.array(rows)

    return answer


def trained(kind: str, epsilon: float | None, data: np.ndarray, steps: int, q: float, device: str) -> Any:
    torch.manual_seed(0)
    model = deep.SmallTransformer(words=96, layers=2, width=64, heads=4, length=LENGTH).to(device)
    rows = torch.as_tensor(data, device=device)
    pair = (rows[:, :-1], rows[:, 1:])
    optimizer: Any = (
        torch.optim.RMSprop(model.parameters(), lr=2e-3)
        if kind == "rmsprop"
        else torch.optim.SGD(model.parameters(), lr=0.5)
    )
    if epsilon is not None:
        plan = deep.Plan(epsilon=epsilon, delta=DELTA, steps=steps, sampling=deep.Poisson(q=q), clip_norm=1.0,
                         expected_batch=round(q * len(data)))  # fmt: skip
        deep.Trainer(model, optimizer, deep.next_word_loss, plan).fit(pair)
        return model.eval()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        chosen = torch.as_tensor(np.flatnonzero(rng.random(len(data)) < q), device=device)
        optimizer.zero_grad()
        deep.next_word_loss(model(pair[0][chosen]), pair[1][chosen]).mean().backward()
        optimizer.step()
    return model.eval()


def one(name: str, records: int, steps: int, references: int, device: str) -> dict[str, Any]:
    kind, epsilon = ROWS[name]
    rng = np.random.default_rng(11)
    text, test = texts(records)
    digits, inserted = secrets(rng, SECRETS)
    others, _ = secrets(rng, references)
    start = time.perf_counter()
    model = trained(kind, epsilon, np.concatenate((text, inserted)), steps, 32 / records, device)
    rows = torch.as_tensor(test, device=device)
    with torch.no_grad():
        loss = float(deep.next_word_loss(model(rows[:, :-1]), rows[:, 1:]).mean())
    inside, outside = costs(model, digits, device), costs(model, others, device)
    sampled = audit.exposure(inside, outside, space=1e9)
    fitted = audit.exposure(inside, outside, space=1e9, by=audit.Extrapolated())
    read = audit.extract(following(model, device), alphabet="0123456789", length=9, start=PREFIX, most=20, budget=4_000)
    found = {
        "test loss": loss,
        "exposure, sampled": sampled.mean,
        "exposure, extrapolated": fitted.mean,
        "fit": fitted.method,
        "read out": sum(read.rank(each) is not None for each in digits),
        "allowed mean": None if epsilon is None else sampled.allowed(min(epsilon, 1e9), DELTA),
        "bound on epsilon": sampled.lower(bits=8.0).lower,
        "seconds": time.perf_counter() - start,
    }
    if epsilon is not None and epsilon <= 5.26:
        tail = (
            max(audit.Exposure.chance(bits, epsilon, DELTA) for bits in sampled.bits if bits > 0)
            if sampled.bits.any()
            else 1
        )
        found["within the law"] = bool(sampled.mean <= found["allowed mean"] and found["bound on epsilon"] <= epsilon)
        found["largest chance of a secret's bits"] = tail
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, three rows: shows that it runs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="*", choices=tuple(ROWS))
    asked = parser.parse_args()
    records, steps, references = (4_000, 5_000, 100_000) if asked.device != "cpu" else (800, 1_000, 20_000)
    names = asked.only or list(ROWS)
    if asked.quick:
        records, steps, references = 200, 60, 2_000
        names = asked.only or ["RMSProp, epsilon 1.21", "RMSProp, epsilon 5.26", "RMSProp, no privacy"]
    RESULTS.mkdir(exist_ok=True)
    table: dict[str, Any] = {}
    for name in names:
        table[name] = one(name, records, steps, references, asked.device)
        told = ", ".join(
            f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in table[name].items()
        )
        print(f"{name}: {told}", flush=True)
        (RESULTS / "memorisation.json").write_text(json.dumps(table, indent=1))
    print(f"a secret that was not in: {1 / math.log(2):.2f} bits on average", flush=True)


if __name__ == "__main__":
    main()
