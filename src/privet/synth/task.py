"""The public facts of a synthesis: coded columns, who is protected, what may not occur."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array, root_up
from privet._validate import count, instance, items, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Sensitivity
from privet.privacy import Unit
from privet.synth.constraints import Constraint
from privet.synth.graph import Clique, TreePlan, tree_cells
from privet.tables import Coded

_MOST_CELLS = 2**24  # of the junction tree of the constraints


@final
@dataclass(frozen=True)
class Task:
    """Knowledge of a synthesizer before it looks: the coded rows, the number of rows where that is public, constraints.

    **Sensitivity:** of a table of counts, by the reach of the plan: all rows of a person may lie in one cell. The l1
    distance of a table from a public one moves by as much as the table does in l1.

    >>> from privet.tables import Coding, Int, Rows, Source
    >>> task = Task(Coded(Source("t", (("a", Int(0, 1)), ("b", Int(0, 2))), Rows()), Coding.of({"a": Int(0, 1)})))
    >>> task.sizes, float(task.l1), float(task.l2)
    ((2,), 1.0, 1.0)
    """

    coded: Coded
    rows: int | None = None
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        instance("coded", self.coded, Coded)
        if self.rows is not None:
            set_frozen(self, rows=count("rows", self.rows, 1))
        for each in items("constraints", self.constraints):
            instance("constraint", each, Constraint)
        set_frozen(self, constraints=tuple(self.constraints))
        self._check_constraints()

    def _check_constraints(self) -> None:
        """Refuse what is public about constraints before anything is paid: unknown columns, cliques that are too large
        together, and rules that leave nothing."""
        if not self.constraints:
            return
        cells = tree_cells(self.sizes, self.allowed)
        if cells > _MOST_CELLS:
            raise InvalidParameter(
                f"the constraints tie columns together in tables of {cells:.3g} cells, and at most {_MOST_CELLS:,} can be "
                "kept: take fewer constraints or wider bins"
            )
        TreePlan(self.sizes, [], self.allowed).calibrated([], 1.0)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.coded.coding.names

    @kept_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return self.coded.coding.sizes

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.coded.rows.unit.unit

    @property
    def l1(self) -> Sensitivity:
        """The distance by which a table of counts moves in l1."""
        return Sensitivity(Fraction(self.coded.reach.l1(self.unit)), norm="l1", unit=self.unit)

    @property
    def l2(self) -> Sensitivity:
        """The distance by which a table of counts moves in l2."""
        reach = root_up(Fraction(self.coded.reach.l2_squared(self.unit)))
        return Sensitivity(Fraction(reach), norm="l2", unit=self.unit)

    @kept_property
    def allowed(self) -> Mapping[Clique, Array]:
        """For each clique that constraints are about, the cells that may have rows."""
        found: dict[Clique, Array] = {}
        for each in self.constraints:
            clique, mask = each.mask(self.coded.coding)
            found[clique] = mask & found.get(clique, np.True_)
        return found

    def cells(self, clique: Clique) -> int:
        """The size of a clique's table."""
        return prod(self.sizes[i] for i in clique)

    def clique(self, names: Any) -> Clique:
        """The places of some columns, in increasing order."""
        listed = (names,) if isinstance(names, str) else items("the columns of a table", names)
        unknown = [each for each in listed if each not in self.names]
        if unknown or len(set(listed)) != len(listed) or not listed:
            raise InvalidParameter(
                f"a clique names columns, each once: {', '.join(map(repr, unknown)) or 'none or twice the same'}; there "
                f"are {', '.join(self.names)}"
            )
        return tuple(sorted(self.names.index(each) for each in listed))
