"""Clipped sums by book-keeping: one backward pass over the batch, no parameter gradients, no second pass.

The pass is differentiated with respect to the outputs of layers only. From each layer's input and the gradient at its
output, rules find the norm of every record's gradient and then, once the factors are known, the weighted sum.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.linalg import vector_norm
from torch.nn.attention import SDPBackend, sdpa_kernel

from privet.deep.clipping import Clip
from privet.deep.engines.engine import (
    Batch,
    Engine,
    ExampleLosses,
    batch_size,
    cast_down,
    leaves,
    mapped,
    rows,
    slices,
)
from privet.deep.engines.microbatch import Microbatch
from privet.deep.engines.public import NoCoins, public_like
from privet.deep.engines.watch import Watch, noticed
from privet.deep.rules.term import shares, weight_term
from privet.deep.rules.use import Term, Use, Written, sum_type, widened
from privet.errors import InvalidParameter

Met = tuple[list[Use], dict[str, Tensor]]

_AXES = {"conv1d": 1, "conv2d": 2, "conv3d": 3}
_AT_ONCE = 2**24  # numbers of inputs and gradients of layers held at once on the CPU: 64 MiB in float32


class Unfit(Exception):
    """A finding that the batched pass cannot go on with: records not first, or parameters used outside of layers."""

    def __init__(self, outside: set[str]) -> None:
        super().__init__()
        self.outside = outside


class Bookkeeping(Engine):
    """Norms and sums by rules; parameters that no rule covers are differentiated record by record in the same pass."""

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None) -> None:
        super().__init__(losses, clip, chunk)
        self.apart = False
        self.narrow = False  # whether the model computes in less than float32: then two ways to a gradient differ more
        self.outside: frozenset[str] = frozenset()
        self._checked: dict[tuple[object, ...], int] = {}  # the numbers that a record of a form takes

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        numbers = self._check_once(parameters, inputs, targets)
        total: dict[str, Tensor] = {}
        size = batch_size(inputs)
        for part in slices(size, self.chunk or _at_once(size, numbers, mask.device)):
            found = self.summed(parameters, self.met(parameters, rows(inputs, part), rows(targets, part)), mask[part])
            total = {name: total[name].add_(each) if total else each for name, each in found.items()}
        return total

    def summed(self, parameters: Mapping[str, Tensor], met: Met, mask: Tensor) -> dict[str, Tensor]:
        """Norms, factors and weighted sums, from what a pass has met; of parameters, only shapes and types count."""
        terms = terms_of(parameters, met)
        sizes = [norms({n: terms[n] for n in group if n in terms}, mask) for group in self.groups]
        factors, counts = self._factors(sizes, mask)
        total = {}
        for name, each in parameters.items():
            kind = sum_type(each)
            found = terms[name].total(cast_down(factors[name], kind), counts) if name in terms else None
            total[name] = torch.zeros(each.shape, dtype=kind, device=mask.device) if found is None else found
        return total

    def _check_once(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch) -> int:
        """The start-up check, for each new form of records: on made-up ones, rules must find the true gradients. What
        comes back is how many numbers are held for one record.
        """
        form = tuple((each.shape[1:], each.dtype) for each in (*leaves(inputs), *leaves(targets)))
        if form in self._checked:
            return self._checked[form]
        taken = {size for each in leaves(inputs) for size in each.shape}
        size = next(each for each in range(3, 100) if each not in taken)  # so that records are no other axis
        batch = public_like(inputs, size), public_like(targets, size)
        near = {
            name: public_like(each, len(each), scale=0.1).add_(each) if each.ndim else each
            for name, each in parameters.items()
        }
        sizes, summed = [], dict[str, Tensor]()
        with NoCoins():
            met = self.met(near, *batch)
            terms = terms_of(near, met)
            plain = Microbatch(self.losses, self.clip, None)  # as the definition has it: no model is too odd for that
            for row in range(size):
                found = plain.gradient(near, *(rows(part, slice(row, row + 1)) for part in batch))
                sizes.append(
                    torch.stack([vector_norm(each, dtype=sum_type(each)).double() for each in found.values()]).norm()
                )
                summed = {name: summed[name].add_(each) for name, each in found.items()} if summed else found
                del found
        del near
        everyone = torch.ones(size, dtype=torch.bool, device=leaves(inputs)[0].device)
        compare(terms, norms(terms, everyone), torch.stack(sizes), summed, narrow=self.narrow)
        held = [each.numel() for use in met[0] for each in (use.given, use.back_as_is)]
        self._checked[form] = (sum(held) + sum(each.numel() for each in met[1].values())) // size
        return self._checked[form]

    def met(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch) -> Met:
        """The finds of one pass: uses of weights that rules measure, and shares that are small enough to be written out."""
        if not self.apart:
            try:
                return shares(self._noted(self._batched(parameters, inputs, targets)), {})
            except Unfit as reason:
                self.apart, self.outside = True, frozenset(reason.outside)
        uses, rest = self._apart(parameters, inputs, targets)
        return shares(self._noted(uses), rest)

    def _noted(self, uses: list[Use]) -> list[Use]:
        kinds = {each.dtype for use in uses for each in (use.given, use.gradient) if each is not None}
        self.narrow = not kinds.isdisjoint((torch.bfloat16, torch.float16))
        return uses

    def _batched(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch) -> list[Use]:
        """All uses, from one pass over the batch as it is."""
        size, uses, edges, versions = batch_size(inputs), list[Use](), list[GradientEdge](), list[int]()

        def tap(use: Use, output: Tensor) -> Tensor:
            if not _has_records_first(use, output, size):
                raise Unfit(set())
            known = noticed(output)
            uses.append(use)
            edges.append(get_gradient_edge(known))
            versions.append(use.given._version)
            return known

        tracked = {name: each.detach().requires_grad_() for name, each in parameters.items()}
        with torch.enable_grad(), Watch(tracked, tap):
            losses = self._losses(tracked, inputs, targets)
        if not losses.requires_grad:
            return []
        wanted: list[Any] = [*edges, *tracked.values()]
        found = torch.autograd.grad(losses.sum(), wanted, allow_unused=True)
        outside = {name for name, each in zip(tracked, found[len(edges) :], strict=True) if each is not None}
        if outside:
            raise Unfit(outside)
        if any(use.given._version != version for use, version in zip(uses, versions, strict=True)):
            raise InvalidParameter(
                "the model writes over a layer's input after the layer has read it (x += y, relu_): compute a new tensor "
                "instead, or choose engine='vmapped'"
            )
        for use, gradient in zip(uses, found, strict=False):
            use.gradient = gradient
            use.given = use.given.detach()
        return [use for use in uses if use.gradient is not None]

    def _apart(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch
    ) -> tuple[list[Use], dict[str, Tensor]]:
        """All uses, from one pass in which each record is a batch of its own, and the gradients of what has no rule."""
        ruled = {name: each for name, each in parameters.items() if name not in self.outside}
        others = {name: parameters[name] for name in self.outside}
        shapes: list[tuple[torch.Size, torch.dtype, torch.device]] = []

        def look(use: Use, output: Tensor) -> Tensor:
            shapes.append((output.shape, output.dtype, output.device))
            return output

        with torch.no_grad(), Watch(ruled, look):
            self._losses(parameters, rows(inputs, slice(0, 1)), rows(targets, slice(0, 1)))
        probes = [torch.zeros((), dtype=kind, device=device).expand(shape) for shape, kind, device in shapes]
        kinds: list[Use] = []

        def loss(
            probes: list[Tensor], others: dict[str, Tensor], inputs: Batch, targets: Batch
        ) -> tuple[Tensor, list[Tensor]]:
            uses: list[Use] = []

            def tap(use: Use, output: Tensor) -> Tensor:
                uses.append(use)
                return output + probes[len(uses) - 1]

            record = [mapped(lambda each: each.unsqueeze(0), part) for part in (inputs, targets)]
            with Watch(ruled, tap):
                one = self._losses({**ruled, **others}, *record).sum()
            kinds[:] = [Use(use.kind, probes[0], use.weight, use.bias, use.options) for use in uses]
            return one, [use.given for use in uses]

        each = torch.func.vmap(
            torch.func.grad(loss, argnums=(0, 1), has_aux=True),
            in_dims=(None, None, 0, None if targets is None else 0),
            randomness="different",
        )
        with sdpa_kernel(
            SDPBackend.MATH
        ):  # the fused kernels of attention have no rule for `vmap`: one record at a time
            (backs, rest), givens = each(probes, others, inputs, targets)
        uses = [
            one
            for use, given, back in zip(kinds, givens, backs, strict=True)
            for one in _records_first(use, given, back)
        ]
        return uses, rest


def _at_once(size: int, numbers: int, device: torch.device) -> int:
    """The number of records of so many numbers each that are computed at once, in pieces of nearly one size: a public
    choice. An accelerator takes a batch whole, and its memory is the user's to divide.

    >>> _at_once(64, 500_000, torch.device("cpu")), _at_once(512, 12_000, torch.device("cpu"))
    (32, 512)
    """
    pieces = -(-size * numbers // _AT_ONCE) if device.type == "cpu" else 1
    return -(-size // max(1, min(pieces, size)))


def _records_first(use: Use, given: Tensor, back: Tensor) -> list[Use]:
    """The uses behind one call on a single record: for layers on images, one for each image of the record."""
    plain = 2 + _AXES.get(use.kind, 0)  # records, channels, space
    if use.kind == "group_norm" or (use.kind in _AXES and given.ndim > plain):
        pairs = zip(given.unbind(1), back.unbind(1), strict=True)
        return [replace(use, given=one, gradient=other) for one, other in pairs]
    return [replace(use, given=given, gradient=back)]


def _has_records_first(use: Use, output: Tensor, size: int) -> bool:
    """A check that the first axis counts records, as far as it can be seen here; the start-up check sees the rest."""
    if min(output.ndim, use.given.ndim) == 0 or len(output) != size or len(use.given) != size:
        return False
    return use.given.ndim == 2 + _AXES[use.kind] if use.kind in _AXES else True


def norms(terms: Mapping[str, Term], mask: Tensor) -> Tensor:
    """An upper bound on what each record adds to the weighted sum under a factor of one, one number an entry of `mask`."""
    if not terms:  # a loss that no parameter moves
        return torch.zeros_like(mask, dtype=torch.float64)
    square = torch.stack([term.square for term in terms.values()]).sum(0).clamp(min=0.0)
    slack = torch.stack([term.slack for term in terms.values()]).sum(0)
    return (square.sqrt() + slack.sqrt()) * (1.0 + 2.0**-45)


def compare(
    terms: Mapping[str, Term], found: Tensor, exact: Tensor, summed: Mapping[str, Tensor], *, narrow: bool
) -> None:
    """Nothing, or an error where norms or sums by rules are not those of the gradients that are written out."""
    near = 0.1 if narrow or any(each.dtype in (torch.bfloat16, torch.float16) for each in summed.values()) else 1e-3
    agree = bool((found >= exact * (1.0 - near)).all()) and bool((found <= 1.5 * exact + near * exact.max()).all())
    everyone = torch.ones_like(exact, dtype=torch.bool)
    for name, each in summed.items():
        sums = terms[name].total(everyone.to(sum_type(each)), everyone) if name in terms else torch.zeros_like(each)
        agree = agree and bool(sums.sub_(each).abs_().max() <= near * exact.max())
    if not agree:
        raise InvalidParameter(
            "on made-up records the quick engine does not find the gradients that the model has, record by record: the "
            "model draws randomness other than nn.Dropout, or lets records meet; choose engine='vmapped' "
            "or see check_isolation"
        )


def terms_of(parameters: Mapping[str, Tensor], met: Met) -> dict[str, Term]:
    """Uses gathered by parameter, not by layer: there tied and repeated uses meet. Who was not met has no gradient."""
    uses, rest = met
    terms: dict[str, Term] = {name: Written(widened(each)) for name, each in rest.items()}
    for name, each in parameters.items():
        as_weight = [use for use in uses if use.weight == name]
        if as_weight:
            terms[name] = weight_term(as_weight, each.shape)
    return terms
