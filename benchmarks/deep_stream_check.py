"""The keyed stream on a CUDA device against the cipher of the host: words, coins and noise bit for bit, and their speed.

Run where torch sees a GPU: `python benchmarks/deep_stream_check.py`. It says `all equal`, or which part is not.
"""

import time
from collections.abc import Callable

import numpy as np
import torch

from privet.deep import stream
from privet.noise import Grid, KeyedStream

PARAMETERS = 407_050
LARGE = 85_000_000


def milliseconds(task: Callable[[], object]) -> float:
    task()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        task()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def unequal(keyed: KeyedStream) -> list[str]:
    """The names of what differs between host and device."""
    found = []
    for domain, step, count, first in ((0, 0, 8, 0), (2, 2**40 + 1, 100_003, 5), (9, 2**64 - 1, 77, 2**35 - 100)):
        device = (
            stream.stream_words(keyed, domain, step, count, first=first, device="cuda").cpu().numpy().view(np.uint64)
        )
        if not (device == keyed.words(domain, step, count, first)).all():
            found.append(f"words {domain} {step} {first}")
        given = (*keyed.secret_words(), domain, step & 0xFFFFFFFF, step >> 32, first // 8)
        plain = stream._blocks(given, 4, torch.device("cuda")).reshape(-1).cpu().numpy().view(np.uint64)
        if not (plain[first % 8 :][:8] == keyed.words(domain, step, 8, first)).all():
            found.append(f"words by torch {domain} {step} {first}")
    for q in (0, 0.01, 0.75, 1):
        if not (stream.coins(keyed, 3, 60_000, q=q, device="cuda").cpu().numpy() == keyed.coins(3, 60_000, q=q)).all():
            found.append(f"coins {q}")
    for sigma in (1024, 2**30 + 1, 2**52):
        drawn = stream.rounded_gaussian(keyed, 4, 5_000_003, sigma=sigma, device="cuda").cpu().numpy()
        if not (drawn == keyed.rounded_gaussian(4, 5_000_003, sigma=sigma)).all():
            found.append(f"noise {sigma}")
    return found


def main() -> None:
    print("torch", torch.__version__, torch.cuda.get_device_name(), "kernel:", stream._kernel() is not None)
    keyed = KeyedStream.fresh()
    different = unequal(keyed)
    print("all equal" if not different else f"NOT EQUAL: {', '.join(different)}")
    for count in (PARAMETERS, LARGE):
        print(f"{count:,} numbers, ms")
        print(f"  torch.randn {milliseconds(lambda count=count: torch.randn(count, device='cuda')):.3f}")
        print(
            f"  words       {milliseconds(lambda count=count: stream.stream_words(keyed, 2, 0, count, device='cuda')):.3f}"
        )
        noise, numbers = stream.NoiseOnDevice(2**30, Grid(-20), count, "cuda"), torch.randn(count, device="cuda")
        out = torch.empty_like(numbers)
        noise.begin(keyed, 0)
        noise.launch(numbers, out)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            noise.launch(numbers, out)
        whole = milliseconds(lambda noise=noise, numbers=numbers, out=out: noise.added(numbers, out, keyed, 0))
        print(f"  noise added {whole:.3f}")
        print(f"  the same in a graph, without the host {milliseconds(graph.replay):.3f}")


if __name__ == "__main__":
    main()
