"""A small algorithm for the tests, and its broken twins: a noisy count, the choice of a column, a noisy vector."""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet import noise
from privet.mechanisms import Algorithm, Example, Exponential, Gaussian, Laplace, carry
from privet.privacy import Composed, PoissonSampled, PrivacyLoss

COUNT = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
CHOICE = Exponential.for_budget(epsilon=0.5, sensitivity=1.0, monotonic=True)
TOTAL = Gaussian.for_budget(rho=0.1, sensitivity=2.0)

LEFT = np.array([[1.0, 0.0, 0.2], [0.4, 0.3, 0.0], [0.0, 1.0, 0.0], [0.3, 0.3, 0.9]])
RIGHT = LEFT[:-1]


@dataclass(frozen=True, kw_only=True)
class Toy(Algorithm):
    """Rows in [0, 1]^3: how many there are, which column is largest, and the clipped sum of rows."""

    name = "toy_of_the_tests"
    count: Laplace = COUNT
    choice: Exponential = CHOICE
    total: Gaussian = TOTAL

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.count.loss, self.choice.loss, self.total.loss))

    def _run(self, prepared: Any, source: Any) -> Any:
        rows = np.clip(np.nan_to_num(prepared), 0.0, 1.0)
        n = self.count.release(len(rows), source=source).value
        column = self.choice.release(rows.sum(axis=0), source=source).value
        total = self.total.release(rows.sum(axis=0), source=source).value
        return {"column": int(column), "n": n, "total": total}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(), LEFT, RIGHT)


class Threads(Toy):
    """Its parts run in a pool of threads and in threads of its own."""

    name = "toy_with_threads_of_the_tests"

    def _run(self, prepared: Any, source: Any) -> Any:
        rows = np.clip(np.nan_to_num(prepared), 0.0, 1.0)
        out: dict[str, Any] = {}
        with ThreadPoolExecutor(2) as pool:
            jobs = [
                pool.submit(carry(self.count.release), len(rows), source=source),
                pool.submit(carry(self.choice.release), rows.sum(axis=0), source=source),
            ]
            out["n"], out["column"] = (job.result().value for job in jobs)
        total = carry(lambda: out.update(total=self.total.release(rows.sum(axis=0), source=source).value))
        thread = threading.Thread(target=total)
        thread.start()
        thread.join()
        return {name: out[name] for name in ("column", "n", "total")}


class Jobs(Toy):
    """Its parts run through joblib."""

    name = "toy_with_jobs_of_the_tests"

    def _run(self, prepared: Any, source: Any) -> Any:
        from joblib import Parallel, delayed

        rows = np.clip(np.nan_to_num(prepared), 0.0, 1.0)
        sums = rows.sum(axis=0)
        asked = ((self.count, len(rows)), (self.choice, sums), (self.total, sums))
        calls = (delayed(carry(part.release))(value, source=source) for part, value in asked)
        n, column, total = (made.value for made in Parallel(n_jobs=2, backend="threading")(calls))
        return {"column": int(column), "n": n, "total": total}


@dataclass(frozen=True, kw_only=True)
class Sampled(Algorithm):
    """Noisy sums of samples: declared coins, and a price that the sampling makes smaller."""

    name = "toy_with_samples_of_the_tests"
    steps: int = 3
    q: float = 0.25
    total: Gaussian = TOTAL

    @property
    def loss(self) -> PrivacyLoss:
        return Composed([PoissonSampled(self.total.loss, self.q)] * self.steps)

    def _run(self, prepared: Any, source: Any) -> Any:
        out = []
        for _ in range(self.steps):
            picked = self._coins("sample", lambda s: noise.poisson_subset(len(prepared), q=self.q, source=s), source)
            with self._priced(lambda parts: PoissonSampled(Composed(parts), self.q)):
                out.append(
                    self.total.release(np.clip(np.nan_to_num(prepared[picked]), 0, 1).sum(axis=0), source=source).value
                )
        return np.array(out)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(), LEFT, RIGHT)


# --- broken twins ------------------------------------------------------------------------------------------------------


class NotCharged(Toy):
    """The choice of the column is for free."""

    name = "toy_that_forgets_a_part"

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.count.loss, self.total.loss))


class ChargedLess(Toy):
    """The count runs with half the noise that is charged."""

    name = "toy_that_charges_less"

    def _run(self, prepared: Any, source: Any) -> Any:
        louder = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
        object.__setattr__(self, "count", louder)
        return super()._run(prepared, source)

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((COUNT.loss, self.choice.loss, self.total.loss))


class ChargedMore(Toy):
    """A part that is charged never runs."""

    name = "toy_that_charges_more"

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.count.loss, self.choice.loss, self.total.loss, self.total.loss))


class OwnCoin(Toy):
    """It adds noise by itself, from the given source."""

    name = "toy_with_its_own_coin"

    def _run(self, prepared: Any, source: Any) -> Any:
        made = super()._run(prepared, source)
        return {**made, "n": made["n"] + float(noise.discrete_laplace(scale=3, source=source))}


class SecretCoin(Toy):
    """It adds noise by itself, from the secure source."""

    name = "toy_with_a_secret_coin"

    def _run(self, prepared: Any, source: Any) -> Any:
        made = super()._run(prepared, source)
        return {**made, "n": made["n"] + float(noise.discrete_laplace(scale=3))}


class Steered(Toy):
    """The noisy number of rows decides what is summed; on a few rows it never does."""

    name = "toy_that_is_steered_on_many_rows"

    def _run(self, prepared: Any, source: Any) -> Any:
        rows = np.clip(np.nan_to_num(prepared), 0.0, 1.0)
        n = self.count.release(len(rows), source=source).value
        column = self.choice.release(rows.sum(axis=0), source=source).value
        total = self.total.release(rows.sum(axis=0) if n < 300 else rows[:, ::-1].sum(axis=0), source=source).value
        return {"column": int(column), "total": total}


class SteeredAndShown(Steered):
    """The same with neighbours of 300 and 299 rows, of which one decides the column too."""

    name = "toy_that_is_steered_by_its_last_row"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        many = np.tile([[0.999, 0.0, 0.2], [0.0, 1.0, 0.2]], (150, 1))
        yield Example(cls(), many, many[:-1])


class Leaking(Toy):
    """The exact number of rows comes out beside the noisy one."""

    name = "toy_that_leaks"

    def _run(self, prepared: Any, source: Any) -> Any:
        return {**super()._run(prepared, source), "rows": len(prepared)}


class TooSensitive(Toy):
    """Three times the sum goes through a mechanism that is made for one."""

    name = "toy_with_a_part_that_moves_too_far"

    def _run(self, prepared: Any, source: Any) -> Any:
        return super()._run(3.0 * np.clip(prepared, 0.0, 1.0), source) | {
            "more": self.total.release(9.0 * np.clip(prepared, 0, 1).sum(axis=0), source=source).value
        }


class Strays(Toy):
    """A part runs in a thread that it is not carried to: it is refused."""

    name = "toy_with_a_stray_thread"

    def _run(self, prepared: Any, source: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            more = pool.submit(self.count.release, len(prepared), source=source).result().value
        return {**super()._run(prepared, source), "more": more}


class Seeding(Toy):
    """A part draws seeded noise while the whole is asked for secure noise."""

    name = "toy_that_seeds"

    def _run(self, prepared: Any, source: Any) -> Any:
        return super()._run(prepared, noise.Seeded(1))
