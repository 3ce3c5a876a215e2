"""Two laws on a grid for a loss variable: one that dominates it (upper) and one that it dominates (lower).

The variable is the log-ratio of a pair of distributions P and Q. A node is a loss on the grid; for the upper law a cell
lies between two nodes, for the lower law around one node, between two walls.

Upper (connect the dots): the mass of a cell goes to the two nodes at its ends, so that its P-mass and its Q-mass are kept.
Lower (contraction): a cell is merged into one outcome, a garbling, which can only hide information. An outcome lies on its
node if P-mass = exp(node) Q-mass; a cell that lacks some P or Q for that borrows it from the cell above or below, that is,
merges a share of that neighbour too.
Both keep the P- and Q-mass, but for tails that are dropped and cells with nobody to merge with, so the error of both is of
second order in the grid step.

**Reference:** Doroshenko et al. 2022 for connect the dots. **Proof:** docs/proofs/accounting/pld.md.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from privet._cache import kept_property, remember
from privet._numerics import LARGEST_EXPONENT, TINY, Array
from privet.accounting.pld.contract import contract_in_turn
from privet.accounting.pld.mesh import lattice_places, walls_between
from privet.accounting.pld.plan import Priced, Summary, summary_of
from privet.errors import NoGuarantee
from privet.privacy import Direction, LossVariable
from privet.privacy.atoms import blur_of

# These make the laws valid: errors of arithmetic that are charged, and masses too small for arithmetic.
_MOST_BORROWED = 0.45  # of a neighbour: what a cell lends to both sides stays below 1, so what it retains is positive
_ALIGNED = 1e-9  # distance from its node, in steps, at which an atom counts as lying on it
_VANISHED = 1e-280  # a ratio of masses below this cannot be trusted
_SHARE_ERROR = 2e-14  # relative error of the shares of a cell: what `_pass_on` leaves, and a handful of roundings
_SAME = 1e-15  # shares that change by no more are only rounded: they are then known to 1e-14
_MARGIN = 1e-11  # a loss this little below its node may be lifted onto it; the law charges the lift as a shift
_LARGEST_NODE = 690.0  # e^690 is a float with room to multiply
_FARTHEST = 1 << 60  # places are 64-bit numbers
# The effort for cells that cannot borrow, and the size of a grid: they change speed and width, not the side of a law.
_WORTH_SETTLING = 1e-9  # of the P-mass: a lighter cell that cannot borrow is simply rounded down
_MOST_ROUGH = 2000  # heavier ones that are settled one by one; of more, none
_NEAR = 32  # neighbours of such a cell that are looked at first
_ROUNDS = 6  # of settling: one changes what the neighbours can lend
_HEAVY_END = 1e-6  # the mass near an end from which on the grid is moved so that this end balances
_MOST_NODES = 1 << 23  # of an even grid: memory; what needs more is refused
_MOST_PLACES = 1 << 40  # of an uneven mesh, most of which stay empty
_AROUND = 4  # nodes beside an atom or a heavy end that are never left out
_FEW_ATOMS = 64  # so many atoms may lie among the cells of an uneven mesh
# A lower law that lost much is also made by `contract_in_turn`, and the better one taken:
_FEW_NODES = 2000  # if it has at most so many nodes, since that way is slow,
_MOST_LOST = 1e-2  # and lost more than this part of its variance
_PER_CELL = 32  # pieces into which a cell is cut for it
_PASSES = 400  # of the iteration of `_pass_on`, each of which leaves 0.9 of the error: 0.9^400 < 1e-18


@dataclass(frozen=True, eq=False)
class GridLaw:
    """A law on a grid: P-masses at the losses offset + place * step and at +infinity, with bounds on their errors."""

    offset: float
    step: float
    places: Array  # increasing whole numbers
    mass: Array
    infinite: float  # mass at +infinity
    error: float  # relative error of each mass
    shift: float  # losses may be off by this much (atoms that lie a little beside their node)
    token: object = field(init=False, default_factory=object)  # stands for this law in the caches
    moments: dict[float, float] = field(init=False, default_factory=dict)  # those of `log_moment` found so far

    def log_moment(self, t: float) -> float:
        """ln of the sum of p exp(t loss)."""
        if t not in self.moments:
            self.moments[t] = _log_moment(self.losses(), self.mass, t)
        return self.moments[t]

    def split(self, cut: float) -> tuple["GridLaw", "GridLaw"]:
        """The law up to the cut with the mass at infinity, and the law above it.

        Neither is without a node: the first has at least one; the second, if it were empty, has one of no mass.
        """
        below = max(1, int(np.searchsorted(self.losses(), cut, side="right")))
        rest = self.places[below:], self.mass[below:]
        if below == len(self.mass):
            rest = self.places[-1:], np.zeros(1)
        low = replace(self, places=self.places[:below], mass=self.mass[:below])
        return low, replace(self, places=rest[0], mass=rest[1], infinite=0.0)

    @property
    def start(self) -> int:
        return int(self.places[0])

    @property
    def stop(self) -> int:
        return int(self.places[-1])

    def losses(self) -> Array:
        """The losses of the nodes."""
        return self._losses

    @kept_property
    def _losses(self) -> Array:
        return self.offset + self.places * self.step

    @property
    def reach(self) -> float:
        """Bound on the modulus of offset, nodes and everything between."""
        return abs(self.offset) + max(abs(self.start), abs(self.stop) + 1) * self.step


def _log_moment(losses: Array, mass: Array, t: float) -> float:
    if t == 0.0:
        return math.log(max(float(mass.sum()), TINY))
    peak = float(losses[-1] if t > 0.0 else losses[0]) * t
    total = float((mass * np.exp(np.maximum(losses * t - peak, -600.0))).sum())  # not @: BLAS would start threads
    return peak + math.log(max(total, TINY))


@dataclass(frozen=True, eq=False)
class _Mesh:
    """The nodes for one variable, and all of the variable that both laws need beside its continuous part."""

    offset: float
    places: Array
    nodes: Array  # their losses: offset + places * step
    atoms: tuple[Array, Array, Array]  # losses, P-masses, Q-masses
    continuous: bool  # does the variable have a continuous part?
    infinite_upper: float  # mass that an upper law sends to infinity: what lies there, and the tail that was cut
    infinite: float  # mass that truly lies there
    below: float  # mass of atoms cut off at the bottom
    error: float  # relative error of a mass
    blur: float  # the losses of atoms may be off by this much

    def masses(self, variable: LossVariable, edges: Array) -> tuple[Array, Array]:
        """The P- and Q-masses of the continuous part: below the edges, between each two, and above."""
        return variable.cells(edges) if self.continuous else (np.zeros(len(edges) + 1), np.zeros(len(edges) + 1))


@remember(6_000_000)
def _mesh(loss: Priced, direction: Direction, step: float, tail: float, order: float, fine: float = math.inf) -> _Mesh:
    """The mesh for one direction of a price.

    With many atoms it is even: all places of the range. Otherwise it is uneven: dense where the mass lies after a tilt by
    exp(order loss), since that mass decides, and wide in the tails, but no cell wider than `fine` times its loss.
    """
    variable = loss.variable(direction)
    losses, p_atoms, q_atoms = variable.atoms()
    lost_above, lost_below, kept = _trim(p_atoms, tail)
    losses, p_atoms, q_atoms = losses[kept], p_atoms[kept], q_atoms[kept]
    ends = [*variable.span(tail)]
    continuous = ends[1] > ends[0]
    if len(losses):
        ends = [*(ends if continuous else []), float(losses[0]), float(losses[-1])]
    outline = summary_of(loss, direction, tail)
    offset = _offset(variable, step, outline)
    first = math.floor((min(ends) - offset) / step) - 1
    last = math.ceil((max(ends) - offset) / step) + 1
    uneven = continuous and len(losses) <= _FEW_ATOMS
    if not last - first < (_MOST_PLACES if uneven else _MOST_NODES) or max(-first, last) > _FARTHEST:
        raise NoGuarantee("the loss of one step is too wide for a grid of this fineness; use RDP, or more noise")
    if uneven:
        places = lattice_places(first, last, step, offset, outline.points, outline.inside, order, fine)
        if len(losses) or offset != 0.0:
            centres = np.floor((np.append(losses, offset) - offset) / step).astype(np.int64)
            near = np.unique(np.add.outer(centres, np.arange(-_AROUND, _AROUND + 1)))
            near = near[(near >= first) & (near <= last)]
            at = np.searchsorted(places, near)  # a handful among perhaps millions: no sort of them all
            missing = places[np.minimum(at, len(places) - 1)] != near
            places = np.insert(places, at[missing], near[missing])
    else:
        places = np.arange(first, last + 1)
    infinite = variable.p_only
    atoms = (losses, p_atoms, q_atoms)
    nodes = offset + places * step
    error = variable.mass_error + _SHARE_ERROR
    return _Mesh(
        offset,
        places,
        nodes,
        atoms,
        continuous,
        infinite_upper=infinite + lost_above,
        infinite=infinite,
        below=lost_below,
        error=error,
        blur=blur_of(variable),
    )


def _offset(variable: LossVariable, step: float, outline: Summary) -> float:
    """The loss of place 0, chosen so that the lower law loses little.

    Atoms on a lattice (a first loss and a gap) lie on nodes, if their gap is no smaller than a step. A law that piles up at
    one end of its support (small sampling rates) has no neighbour there to borrow from: its grid is placed so that the last
    cell is balanced by itself. Otherwise place 0 is the loss 0.
    """
    if variable.lattice is not None:
        atom, gap = variable.lattice
        return atom if gap >= step * (1.0 - 1e-9) else 0.0
    low, high = float(outline.points[0]), float(outline.points[-1])
    middle = 0.5 * (outline.points[1:] + outline.points[:-1])
    if high - low < 4.0 * step or float((outline.inside * middle**2).sum()) < (0.5 * step) ** 2:
        return 0.0  # all of it goes to the nodes beside 0, the loss of knowing nothing
    below = np.concatenate(([0.0], np.cumsum(outline.inside)))
    at_low, before_high = np.interp([low + step, high - step], outline.points, below)
    at_high = below[-1] - before_high
    if max(at_low, at_high) < _HEAVY_END:
        return 0.0
    offset = low + step / 2.0 if at_low > at_high else high - step / 2.0
    for _ in range(
        8
    ):  # the loss of the cell around the offset is the next offset; wherever this ends, place 0 may lie there
        p, q = variable.cells(np.array([offset - step / 2.0, offset + step / 2.0]))
        if not (p[1] > 0.0 and q[1] > 0.0):
            break
        before, offset = offset, math.log(p[1] / q[1])
        if abs(offset - before) < 1e-7 * step:
            break
    return offset


def _trim(p_atoms: Array, tail: float) -> tuple[float, float, slice]:
    """The mass of the atoms cut off above, that of those below, and the slice of those kept.

    On each side as many are cut as have less than `tail` together.
    """
    if len(p_atoms) < 64:
        return 0.0, 0.0, slice(None)
    from_top = np.cumsum(p_atoms[::-1])
    above = int(np.searchsorted(from_top, tail))
    from_bottom = np.cumsum(p_atoms)
    below = int(np.searchsorted(from_bottom, tail))
    lost = [float(sums[cut - 1]) if cut else 0.0 for sums, cut in ((from_top, above), (from_bottom, below))]
    return lost[0], lost[1], slice(below, len(p_atoms) - above)


@remember(10_000_000)
def upper_law(
    loss: Priced, direction: Direction, step: float, tail: float, order: float = 0.0, fine: float = math.inf
) -> GridLaw:
    """A law on the grid that dominates the variable; `order` and `fine` say where its nodes are dense (`_mesh`)."""
    mesh = _mesh(loss, direction, step, tail, order, fine)
    n = len(mesh.places)
    all_p, all_q = mesh.masses(loss.variable(direction), mesh.nodes)
    p, q = all_p[1:n], all_q[1:n]  # of the cells between two nodes
    on_nodes, shift, (losses, p_atoms, q_atoms) = _aligned(mesh, step)
    if len(losses):
        place = np.searchsorted(mesh.places, np.floor((losses - mesh.offset) / step), side="right") - 1
        p = p + np.bincount(place, weights=p_atoms, minlength=n - 1)[: n - 1]
        q = q + np.bincount(place, weights=q_atoms, minlength=n - 1)[: n - 1]
    growth = np.exp(np.minimum(mesh.nodes[:-1], LARGEST_EXPONENT))  # beyond, q is 0 and the mass moves up
    width = np.diff(mesh.places) * step
    split = (p - growth * q * (1.0 - 2.0 * mesh.error)) / -np.expm1(
        -width
    )  # what goes to the upper node keeps both masses
    # if the rounded split is more than the cell has, mass is added, so that the curve holds at every node; only a cell
    # whose Q-mass is too small for its ratio moves up as a whole
    up = np.where(q > _VANISHED, np.maximum(split, 0.0), np.clip(split, 0.0, p))
    mass = on_nodes
    mass[:-1] += np.maximum(p - up, 0.0)
    mass[1:] += up
    mass[0] += all_p[0] + mesh.below  # below the grid: moved up
    infinite = float(all_p[n] + mesh.infinite_upper)
    return _law(mesh, step, mass, infinite, shift)


@remember(10_000_000)
def lower_law(
    loss: Priced, direction: Direction, step: float, tail: float, order: float = 0.0, fine: float = math.inf
) -> GridLaw:
    """A law on the grid that the variable dominates; mass beyond the grid is dropped."""
    mesh = _mesh(loss, direction, step, tail, order, fine)
    n = len(mesh.places)
    walls = mesh.offset + walls_between(mesh.places) * step
    p, q = (mass[1 : n + 1] for mass in mesh.masses(loss.variable(direction), walls))
    on_nodes, shift, (losses, p_atoms, q_atoms) = _aligned(mesh, step)
    if len(losses):
        place = np.clip(np.searchsorted(walls, losses) - 1, 0, n - 1)
        p = p + np.bincount(place, weights=p_atoms, minlength=n)
        q = q + np.bincount(place, weights=q_atoms, minlength=n)
    merged, lifted = _contract(p, q, mesh.nodes, step)
    if mesh.continuous and n <= _FEW_NODES and _lost(merged, p, q, mesh.nodes) > _MOST_LOST:
        other, other_lifted = contract_in_turn(*_fine_cells(loss.variable(direction), mesh, walls), mesh.nodes, _MARGIN)
        # `other` holds the atoms that lie on nodes too
        if _lost(other - on_nodes, p, q, mesh.nodes) < _lost(merged, p, q, mesh.nodes):
            merged, lifted, on_nodes, shift = other, other_lifted, np.zeros(n), 0.0
    return _law(mesh, step, on_nodes + merged, mesh.infinite * (1.0 - mesh.error), max(shift, lifted))


def _lost(mass: Array, p: Array, q: Array, nodes: Array) -> float:
    """The loss of information by rounding down: the Q-mass that a law on the nodes has more than its cells, relative to
    their variance."""
    decay = np.exp(-np.maximum(nodes, -_LARGEST_NODE))
    variance = float((p * np.minimum(np.abs(nodes), 1.0) ** 2).sum())
    return float((mass * decay).sum() - q.sum()) / max(variance, TINY)


def _fine_cells(variable: LossVariable, mesh: _Mesh, walls: Array) -> tuple[Array, Array]:
    """The P- and Q-masses of small cells between the outer walls, in the order of their losses; an atom is one of them."""
    edges = np.interp(np.arange((len(walls) - 1) * _PER_CELL + 1) / _PER_CELL, np.arange(len(walls)), walls)
    losses, *atoms = mesh.atoms
    place = np.clip(np.searchsorted(edges, losses), 1, len(edges) - 1)
    p, q = (np.insert(cell[1:-1], place, atom) for cell, atom in zip(mesh.masses(variable, edges), atoms, strict=True))
    return p, q


def _aligned(mesh: _Mesh, step: float) -> tuple[Array, float, tuple[Array, Array, Array]]:
    """The P-mass that atoms put on each node, the largest distance of such an atom from its node (it is charged as a shift
    of the losses), and the atoms that lie on no node."""
    losses, p, q = mesh.atoms
    if len(losses) == 0:
        return np.zeros(len(mesh.places)), 0.0, mesh.atoms
    nearest = np.rint((losses - mesh.offset) / step)
    beside = np.abs((losses - mesh.offset) / step - nearest)
    place = np.minimum(np.searchsorted(mesh.places, nearest), len(mesh.places) - 1)
    on = (beside <= _ALIGNED) & (mesh.places[place] == nearest)
    mass = np.bincount(place[on], weights=p[on], minlength=len(mesh.places))
    shift = float(beside[on].max(initial=0.0)) * step
    return mass.astype(float), shift, (losses[~on], p[~on], q[~on])


def _law(mesh: _Mesh, step: float, mass: Array, infinite: float, shift: float) -> GridLaw:
    """The law with these masses on the nodes of a mesh; empty nodes are left out."""
    seen = np.flatnonzero(mass)
    kept = seen if len(seen) else slice(0, 1)
    return GridLaw(mesh.offset, step, mesh.places[kept], mass[kept], infinite, mesh.error, shift + mesh.blur)


def _contract(p: Array, q: Array, node: Array, step: float) -> tuple[Array, float]:
    """The masses on the nodes after the cells around them are merged, by garbling only, and how far a loss was lifted.

    First the heavy cells that cannot borrow enough of one neighbour are settled, one by one; then all others borrow at
    once. (A law narrower than a step has one heavy cell that balances on its node but for rounding: to lift it there by a
    little, which is charged, is far better than to round it down by a step.)
    """
    if not np.any(p):
        return np.zeros(len(p)), 0.0
    p, q, growth = p.copy(), q.copy(), np.exp(np.minimum(node, _LARGEST_NODE))
    settled = np.zeros(len(p))  # masses on the nodes of cells that are done: their p and q are set to 0
    beyond = int(np.searchsorted(node, _LARGEST_NODE))
    if beyond < len(p):  # exp would overflow: these losses are rounded down to the last node before (or dropped)
        if beyond > 0:
            settled[beyond - 1] = float(p[beyond:].sum())
        p[beyond:] = q[beyond:] = 0.0
    heavy = _WORTH_SETTLING * float(p.sum())
    for _ in range(_ROUNDS):  # such cells lie at edges, jumps and lone atoms
        share, _, _ = _shares(p, q, growth)
        rough = np.flatnonzero((share > _MOST_BORROWED) & (p > heavy))
        if len(rough) == 0 or len(rough) > _MOST_ROUGH:
            break
        moved = [_settle(p, q, growth, settled, int(index)) for index in rough]
        if not any(moved):
            break
    share, up, down = _shares(p, q, growth)
    stuck = share > _MOST_BORROWED
    from_above, from_below = (np.where(side & ~stuck, share, 0.0) for side in (up, down))
    rest, lifted = _pass_on(p, q, from_above, from_below, stuck, node, step)
    return settled + rest, lifted


def _settle(p: Array, q: Array, growth: Array, settled: Array, index: int) -> bool:
    """True if the cell could be merged with as many neighbours as it takes to balance on a node, above it or below it.

    Their mass then stands in `settled`, and is gone from p and q.
    """
    here = float(p[index])
    if here == 0.0:
        return False
    surplus = here > growth[index] * q[index]
    above = index + 1 if surplus else index  # the cell's own loss lies between the nodes above - 1 and above
    for move, reach in ((1, _NEAR), (-1, _NEAR), (1, len(p)), (-1, len(p))):
        target = above if move == 1 else above - 1
        if not 0 <= target < len(p):
            continue
        near = slice(index, index + reach) if move == 1 else slice(max(0, index - reach + 1), index + 1)
        found = (_enough_near if reach == _NEAR else _enough)(p[near][::move], q[near][::move], growth[target], move)
        if found is None:
            continue
        cells, share, mass = found
        last = index + move * cells  # the cell of which only a share is taken
        whole = slice(index, last) if move == 1 else slice(last + 1, index + 1)
        settled[target] += mass + share * float(p[last])
        p[whole] = q[whole] = 0.0
        p[last] *= 1.0 - share
        q[last] *= 1.0 - share
        return True
    return False


def _enough(p: Array, q: Array, growth: float, move: int) -> tuple[int, float, float] | None:
    """The number of further cells that the first one needs to balance on a node, the share that it needs of the last one,
    and the P-mass of all before that; None where no number is enough.

    `move` is 1 for a node above the first cell, whose P-mass is then too small, and -1 for one below.
    """
    excess = (p - growth * q) * move
    total = excess.cumsum()
    steps = int((total >= 0.0).argmax())
    if steps == 0:
        return None
    return steps, min(1.0, -float(total[steps - 1]) / float(excess[steps])), float(p[:steps].sum())


def _enough_near(p: Array, q: Array, growth: float, move: int) -> tuple[int, float, float] | None:
    """The answer of `_enough` for a few cells, one by one: quicker, since one or two that are not empty mostly suffice."""
    lacking = mass = 0.0
    scale = float(growth)
    for steps, (one, other) in enumerate(zip(p.tolist(), q.tolist(), strict=True)):
        excess = (one - scale * other) * move
        if lacking + excess >= 0.0:
            return (steps, min(1.0, -lacking / excess), mass) if steps else None
        lacking += excess
        mass += one
    return None


def _shares(p: Array, q: Array, growth: Array) -> tuple[Array, Array, Array]:
    """The share of a neighbour that each cell needs; where it borrows from the cell above, and where from the cell below.

    The share is infinite where that neighbour has nothing to lend.
    """
    excess = p - growth * q
    supply_above, supply_below = np.zeros(len(p)), np.zeros(len(p))
    supply_above[:-1] = p[1:] - growth[:-1] * q[1:]
    supply_below[1:] = growth[1:] * q[:-1] - p[:-1]
    up, down = excess < 0.0, excess > 0.0
    supply = np.where(up, supply_above, supply_below)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(supply > 0.0, np.abs(excess) / supply, np.where(excess == 0.0, 0.0, np.inf))
    return share, up, down


def _pass_on(
    p: Array, q: Array, from_above: Array, from_below: Array, stuck: Array, node: Array, step: float
) -> tuple[Array, float]:
    """The masses on the nodes after every cell has borrowed what balances it, and how far a loss was lifted.

    Node i takes the shares r_i of its own cell and r_i from_above_i (or r_i from_below_i) of a neighbour's, which balance.
    Every cell is used up exactly: r_i + (what the neighbours of i take of it) = 1. In each of these equations the
    coefficients of the neighbours sum to at most 2 * 0.45 < 1, so plain iteration converges and r stays positive.
    """
    retained, to_below, to_above = (
        np.ones(len(p)),
        from_above[:-1],
        from_below[1:],
    )  # of the cells lent, by their borrower
    for number in range(_PASSES):
        following = np.ones(len(p))
        following[1:] -= retained[:-1] * to_below
        following[:-1] -= retained[1:] * to_above
        found = number % 4 == 3 and float(np.abs(following - retained).max()) < _SAME
        retained = following
        if found:
            break
    mass = np.where(stuck, 0.0, retained * p)
    mass[:-1] += (retained * from_above)[:-1] * p[1:]
    mass[1:] += (retained * from_below)[1:] * p[:-1]
    lifted = 0.0
    for index in map(int, np.flatnonzero(stuck & (p > 0.0))):  # nobody to merge with: round the loss down
        place = index - 2  # without a Q-mass its loss is not known, but its cell begins above this node
        if q[index] > 0.0:
            loss = math.log(p[index]) - math.log(q[index])
            place = int(np.searchsorted(node, loss - _ALIGNED * step, side="right")) - 1
            lift = float(node[index]) - loss
            if place < index and -_ALIGNED * step <= lift <= _MARGIN:
                place, lifted = index, max(lifted, lift)
        place = min(place, index)  # rounding of tiny losses must not lift a cell above its own node
        if place >= 0:
            mass[place] += retained[index] * p[index]
    return mass, lifted
