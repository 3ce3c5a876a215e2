"""The contract of engines: from a batch to the sum of its clipped gradients.

An engine is handed parameters, records and a mask. What it returns is a **sum**: the divisor is public and belongs to the
plan. Shapes follow the padded batch, never the number of records that the mask keeps.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from privet.deep.clipping import Clip
from privet.deep.rules.use import sum_type
from privet.errors import InvalidData, InvalidParameter, LedgerError, PrivetError

_STEEP = (
    4.0  # votes turn between 7/8 and 9/8 of the clip: a rounding of a norm moves one by no more than a few roundings
)

Batch = Any
"""A tensor, or a tuple or a mapping of such; the first axis of each tensor counts the records."""

_LIST_OF_LOSSES = (
    "the loss must return one number a record, a tensor of shape [B]: use reduction='none', and take means over the parts "
    "of one record only"
)


class ExampleLosses(nn.Module):
    """A model and its loss as one module, that returns one loss a record.

    The loss takes `(outputs, targets)`; one whose first argument is called `model` takes `(model, batch)` instead, and
    calls the model as it likes.
    """

    def __init__(self, model: nn.Module, per_example_loss: Callable[[Any, Any], Tensor]) -> None:
        super().__init__()
        self.model = model
        self.loss = per_example_loss
        names = [] if isinstance(per_example_loss, nn.Module) else list(inspect.signature(per_example_loss).parameters)
        self.whole = names[:1] == ["model"]
        if isinstance(per_example_loss, nn.Module) and any(
            each.requires_grad for each in per_example_loss.parameters()
        ):
            raise InvalidParameter("the loss has parameters of its own: make them part of the model")

    def forward(self, inputs: Batch, targets: Batch) -> Tensor:
        """The losses of a batch, in a tensor of shape [B]."""
        if self.whole:
            losses = self.loss(self.model, inputs if targets is None else (inputs, targets))
        else:
            losses = self.loss(called(self.model, inputs), targets)
        size = batch_size(inputs)
        if not isinstance(losses, Tensor) or losses.shape != (size,):
            got = f"shape {list(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
            raise InvalidParameter(f"{_LIST_OF_LOSSES}; got {got} for a batch of {size}")
        return losses


def refuse_autocast() -> None:
    """Refuse an autocast around a private step.

    >>> with torch.autocast("cpu", torch.bfloat16):
    ...     refuse_autocast()
    Traceback (most recent call last):
    privet.errors.InvalidParameter: torch.autocast around a private step would compute norms and sums in low precision ...
    """
    if any(torch.is_autocast_enabled(each) for each in ("cpu", "cuda")):
        raise InvalidParameter(
            "torch.autocast around a private step would compute norms and sums in low precision too: open it inside "
            "the model's forward, or in the loss"
        )


class Engine(ABC):
    """One way to the clipped sums of a model's gradients.

    **Guarantee:** none: what it returns has no noise yet.
    **Sensitivity:** `bound`, in l2 over all parameters together, for one record more or less.
    """

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None) -> None:
        self.losses = losses
        self.clip = clip
        self.chunk = chunk
        trained = {name: each for name, each in losses.model.named_parameters() if each.requires_grad}
        if not trained:
            raise InvalidParameter("no parameter of the model requires a gradient: nothing would be trained")
        self.shapes = {name: each.shape for name, each in trained.items()}
        self.groups = clip.groups(list(self.shapes))
        self._votes: list[Tensor] | None = None
        self._heard = 0

    @property
    def bound(self) -> float:
        """The distance, in l2 over all parameters together, that one record moves the sum by at most."""
        return self.clip.bound

    def __call__(
        self, parameters: Mapping[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> dict[str, Tensor]:
        """The sum of the clipped gradients of the records that `mask` keeps, by the name of the parameter."""
        size = batch_size(inputs)
        trained = self._trained(parameters)
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != (size,):
            raise InvalidData(f"mask must be a boolean tensor of shape [{size}], one entry a record")
        refuse_autocast()
        if size == 0:
            return {name: each.new_zeros(each.shape, dtype=sum_type(each)) for name, each in trained.items()}
        inputs, targets = _as_dict(inputs), _as_dict(targets)
        self._heard = len(self._votes or ())  # votes of batches before this one
        with exact_products():
            try:
                return self._sums(trained, inputs, targets, mask)
            except LedgerError:  # a model that releases for some records
                pass
            except PrivetError:
                raise
            except Exception:  # a class or a word that nobody knows, say: the text may quote it, and is dropped here
                pass
            return self._record_by_record(trained, inputs, targets, mask)

    def follow(self, clip: Clip) -> None:
        """Clip by this from now on, and let every record vote whether its gradient is shorter than the clip norm."""
        self.clip, self._votes = clip, []

    def exact_votes(self) -> float:
        """The votes since `follow`: of each record that counts, +1/2 if it is short, -1/2 if it is long, and in between
        from 7/8 to 9/8 of the clip. They are exact, and not releasable."""
        return float(sum(float(each) for each in self._votes or ()))

    def _record_by_record(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> dict[str, Tensor]:
        """The sums where a record cannot be computed: that record adds nothing, as one that is not finite. A model that
        fails on zeros too fails for everybody, which is public, and is refused."""
        try:
            blank = [mapped(lambda each: torch.zeros_like(each[:1]), part) for part in (inputs, targets)]
            like = self._sums(parameters, blank[0], blank[1], torch.ones_like(mask[:1]))
        except Exception as problem:
            raise InvalidParameter(
                f"{type(self).__name__} cannot follow this model, whatever the records are ({type(problem).__name__}): "
                "choose engine='microbatch', or look at the model with made-up records"
            ) from None
        total = {name: torch.zeros_like(each) for name, each in like.items()}
        self._unheard()
        good = torch.zeros_like(mask)
        for row in range(len(mask)):
            one = slice(row, row + 1)
            try:
                sums = self._sums(parameters, rows(inputs, one), rows(targets, one), mask[one])
            except Exception:
                continue
            total = {name: each + sums[name] for name, each in total.items()}
            good[row] = True
        singly = self._unheard()
        try:  # The others as if that record had never been: in their batch, with the roundings that they have there.
            left = [mapped(lambda each: _blanked(each, good), part) for part in (inputs, targets)]
            return self._sums(parameters, left[0], left[1], mask & good)
        except Exception:
            self._unheard()
            if self._votes is not None:
                self._votes.extend(singly)
            return total

    def _unheard(self) -> list[Tensor]:
        """The votes of this batch, taken back: of a pass that failed, or of zeros. Every record votes once at most."""
        taken = [] if self._votes is None else self._votes[self._heard :]
        if self._votes is not None:
            del self._votes[self._heard :]
        return taken

    @abstractmethod
    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        """The sums of a batch that has records."""

    def _trained(self, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        missing = [name for name in self.shapes if name not in parameters]
        wrong = [name for name, shape in self.shapes.items() if name in parameters and parameters[name].shape != shape]
        if missing or wrong:
            raise InvalidData(
                f"parameters must hold every trained parameter of the model: look at {(missing + wrong)[0]!r}"
            )
        return {name: parameters[name].detach() for name in self.shapes}

    def _losses(self, parameters: Mapping[str, Tensor], inputs: Batch, targets: Batch) -> Tensor:
        """The losses under these parameters; those that are not named keep the model's values."""
        named = {f"model.{name}": each for name, each in parameters.items()}
        losses: Tensor = torch.func.functional_call(self.losses, named, (inputs, targets))
        return losses

    def _factors(self, norms: Sequence[Tensor], mask: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """The factor of each record for each parameter, from its norm in every group of them, and which records count at
        all: those that the mask keeps and that are finite everywhere."""
        counts = torch.isfinite(torch.stack(list(norms))).all(0) & mask
        if self._votes is not None:
            short = _STEEP * (1.0 - torch.where(counts, norms[0], 1.0) / self.clip.clip_norm)
            self._votes.append(torch.where(counts, short.clamp(-0.5, 0.5), 0.0).sum())
        part, found = self.clip.share(len(self.groups)), {}
        for group, each in zip(self.groups, norms, strict=True):
            factors = torch.where(counts, part.factors(torch.where(counts, each, 1.0).to(torch.float64)), 0.0)
            found.update(dict.fromkeys(group, factors))
        return found, counts


def called(model: nn.Module, inputs: Batch) -> Any:
    """The model's outputs: a tuple is spread over its arguments, a mapping over its keywords."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple | list) else model(inputs)


def batch_size(batch: Batch) -> int:
    """The number of records: the first axis of every tensor."""
    tensors = leaves(batch)
    if not tensors or any(each.ndim == 0 for each in tensors):
        raise InvalidData(
            "inputs must be a tensor, or a tuple or mapping of tensors, whose first axis counts the records"
        )
    sizes = {each.shape[0] for each in tensors}
    if len(sizes) > 1:
        raise InvalidData("the tensors of a batch disagree about the number of records: their first axes must be equal")
    return sizes.pop()


def leaves(batch: Batch) -> list[Tensor]:
    """The tensors of a batch."""
    if isinstance(batch, Tensor):
        return [batch]
    parts = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, tuple | list) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def mapped(make: Callable[[Tensor], Tensor], batch: Batch) -> Batch:
    """The same batch with every tensor replaced."""
    if isinstance(batch, Tensor):
        return make(batch)
    if isinstance(batch, Mapping):
        return {name: mapped(make, part) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        return tuple(mapped(make, part) for part in batch)
    return batch


def rows(batch: Batch, part: slice) -> Batch:
    """Some of the records."""
    return mapped(lambda each: each[part], batch)


def _blanked(each: Tensor, good: Tensor) -> Tensor:
    """The rows that are good, and zeros in the place of all others."""
    return torch.where(good.view(-1, *[1] * (each.ndim - 1)).to(each.device), each, torch.zeros_like(each))


def slices(size: int, chunk: int) -> Iterator[slice]:
    """Pieces of a batch, in order."""
    return (slice(first, min(first + chunk, size)) for first in range(0, size, chunk))


def cast_down(factors: Tensor, kind: torch.dtype) -> Tensor:
    """Factors in the type of the sum, shrunk by more than casting them and multiplying by them can add.

    Proof: `docs/proofs/deep/clipped_sums.md`.
    """
    return (factors * (1.0 - (2.0**-49 if kind == torch.float64 else 2.0**-21))).to(kind)


@contextmanager
def exact_products() -> Iterator[None]:
    """A region in which products of float32 numbers are those of float32: no TF32, no bfloat16 behind the curtain."""
    before, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        torch.backends.cudnn.allow_tf32 = convolutions


def _as_dict(batch: Batch) -> Batch:
    """The same batch in tuples and dicts, which `vmap` knows; other mappings it does not."""
    return mapped(lambda each: each, batch)
