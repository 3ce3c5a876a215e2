"""An audit for a reader: the page of one certificate, and the score card of the zoo."""

from typing import TYPE_CHECKING, Any

import numpy as np

from privet import accounting
from privet._numerics import Array
from privet.audit import Certificate
from privet.audit.statistics import rate_above
from privet.privacy import PrivacyLoss, from_json
from privet.report.page import render
from privet.report.price import describe

if TYPE_CHECKING:
    from rich.table import Table

    from privet.testing.zoo import ScoreCard


_MODEST = (
    "An audit can refute a claim; it can never prove one. “Not refuted” is not “private”: another input, another event "
    "or more runs may still break the claim."
)
_SIDE, _LEFT, _TOP = 300, 54, 34  # of a drawing, in pixels


def audit_facts(certificate: Certificate) -> list[tuple[str, str]]:
    """Name and value, a line each, for a terminal or a page.

    >>> from privet import audit, mechanisms
    >>> found = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    >>> audit_facts(audit.certify(found))[0]
    ('Verdict', 'not refuted')
    """
    claim = certificate.price()
    verdict = "none: these are figures of a risk" if certificate.kind == "table" else certificate.verdict
    facts = [("Verdict", verdict)]
    if claim is not None:
        facts += [("Claim", describe(claim)), ("Neighbours", claim.unit.describe())]
    if certificate.left or certificate.right:
        facts.append(("Inputs", f"{certificate.left} and {certificate.right} ({certificate.pairs_tried} pairs tried)"))
    if certificate.event:
        facts.append(("Event", certificate.event + (f" ({certificate.selection})" if certificate.selection else "")))
    facts += _figures(certificate.evidence)
    facts += [("Counts", seen) for seen in [_seen(certificate.counts or certificate.measured)] if seen]
    if certificate.findings:
        chance = f"a true claim is refuted with probability {certificate.alpha:g}"
        facts.append(("Test", f"p-value {certificate.p_value:.3g}; {chance}"))
    facts += _bound_facts(certificate)
    others = [each for each in certificate.findings if each["event"] != certificate.event]
    facts += [("Also", f"{each['event']}: p-value {float(each['p_value']):.3g}") for each in others]
    for part in ("findings", "unstable"):
        facts += [("Found" if part == "findings" else "Unstable", text) for text in certificate.evidence.get(part, ())]
    if certificate.scouting.get("calls"):
        facts.append(("Effort", _effort(certificate)))
    return facts + [("Note", note) for note in certificate.notes]


def _figures(evidence: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures of an attack, with their intervals where they have some."""
    told = []
    for name, values in evidence.get("figures", {}).items():
        ends = f" [{values[1]:.4g}, {values[2]:.4g}]" if len(values) == 3 else ""
        told.append((name.capitalize(), f"{values[0]:.6g}{ends}"))
    return told


def _seen(counts: dict[str, Any]) -> str:
    if "canaries" in counts:
        return f"{counts['correct']:,} of {counts['made']:,} guesses right, about {counts['canaries']:,} canaries"
    if "secrets" in counts:
        chance = f"{counts['chance']:.3g}"
        return (
            f"{counts['hits']:,} of {counts['secrets']:,} secrets hit; one that was not in is hit with chance {chance}"
        )
    if not counts:
        return ""
    there = f"{counts['tp']:,} of {counts['n']:,} runs in that world"
    return f"{there}, {counts['fp']:,} of {counts['n_out']:,} in the other"


def _bound_facts(certificate: Certificate) -> list[tuple[str, str]]:
    if certificate.kind == "exact":
        largest = "infinite" if certificate.lower < 0.0 else f"{certificate.lower:.12g}"
        return [("Exact", f"the largest log-ratio of the two laws is {largest}")]
    if not certificate.measured:
        return []
    sure = f"with confidence {100.0 * (1.0 - certificate.alpha):.6g}%"
    return [
        ("Bound", f"epsilon is at least {certificate.lower:.4g} at delta {certificate.delta:g}, {sure}"),
        ("Reach", f"claims of epsilon {certificate.ceiling:.3g} or more are out of reach of so many runs"),
    ]


def _effort(certificate: Certificate) -> str:
    spent = certificate.scouting
    return (
        f"{spent['calls']:,} runs in all, scouting included; {spent.get('events', 0):,} events looked at; "
        f"{spent.get('released', 0):,} tested runs came from release, {spent.get('simulated', 0):,} were simulated"
    )


def audit_page(certificate: Certificate) -> str:
    """One certificate as a web page of its own: verdict, facts, picture, and how to check it. Nothing is loaded.

    The picture shows how often the event was seen in either world, as a confidence box, beside the region that the
    claim allows. A box outside the region refutes the claim.

    >>> from privet import audit, mechanisms
    >>> found = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    >>> page = audit_page(audit.certify(found))
    >>> page.count("<svg"), "is not “private”" in page
    (2, True)
    """
    drawn = "tp" in certificate.counts and certificate.price() is not None
    return render(
        "audit.html",
        certificate=certificate,
        versions=", ".join(f"{name} {version}" for name, version in certificate.versions.items()),
        sentence=_sentence(certificate),
        modest=_MODEST,
        # Rates beside the claim's region, where an event was counted in two worlds.
        drawings=[_drawing(certificate, zoom=zoom) for zoom in (False, True)] if drawn else [],
        level=f"{_side(certificate):g}",
        facts=audit_facts(certificate),
        written=certificate.to_json(),
    )


def _sentence(certificate: Certificate) -> str:
    if certificate.kind in ("exact", "replay"):
        return "This was checked without sampling." if certificate.kind == "exact" else "Equal noise in both worlds."
    if certificate.kind == "table":
        return "These are exact figures about a table; no claim was tested."
    if certificate.kind == "membership" and not certificate.findings:
        return "An attack, and how far it came; no claim was tested, since no coins decided who was a member."
    if certificate.verdict == "violated":
        chance = f"{certificate.p_value:.2g}"
        return f"If the claim were true, counts like these would be seen with probability {chance} at most."
    return "These runs do not contradict the claim."


def _side(certificate: Certificate) -> float:
    """The level of one side of the box: events share the level of the audit, and two rates that of an event."""
    shares = [float(each["share"]) for each in certificate.findings if each["event"] == certificate.event] or [0.5]
    return certificate.alpha * shares[0] / 2.0


def _box(certificate: Certificate) -> tuple[Array, Array]:
    """Both ends of the two rates, across and up: the corner that decides holds at the level of the event."""
    counts, level = certificate.counts, _side(certificate)
    pairs = ((counts["fp"], counts["n_out"]), (counts["tp"], counts["n"]))
    ends = [(1.0 - float(rate_above(n - k, n, level)), float(rate_above(k, n, level))) for k, n in pairs]
    return np.array(ends[0]), np.array(ends[1])


def _window(claim: PrivacyLoss, across: Array, up: Array, zoom: bool) -> Array:
    """Lower and upper end of the drawing's two axes; close up, the box and the edge of the region above or below it."""
    if not zoom:
        return np.array([[0.0, 1.0], [0.0, 1.0]])
    edge = 1.0 - accounting.tradeoff(claim, float(across.mean()))
    reach = [max(2.0 * (ends[1] - ends[0]), 1e-9) for ends in (across, up)]
    low = across[0] - reach[0], min(up[0], edge) - reach[1]
    high = across[1] + reach[0], max(up[1], edge) + reach[1]
    return np.clip(np.stack((low, high), axis=1), 0.0, 1.0)


def _drawing(certificate: Certificate, *, zoom: bool) -> dict[str, Any]:
    across, up = _box(certificate)
    claim = from_json(certificate.claim)
    window = _window(claim, across, up, zoom)
    # Rates far below the pixels matter near the corners, so the grid is dense there.
    tails = np.geomspace(1e-6, 0.5, 60)
    rates = np.unique(
        np.concatenate((np.linspace(float(window[0, 0]), float(window[0, 1]), 161), tails, 1.0 - tails, (0.0, 1.0)))
    )
    most = 1.0 - np.asarray(accounting.tradeoff(claim, rates))
    least = np.asarray(accounting.tradeoff(claim, 1.0 - rates))
    outline = np.concatenate((np.stack((rates, most), 1), np.stack((rates, least), 1)[::-1]))
    colour = "var(--alarm)" if certificate.verdict == "violated" else "var(--accent)"
    corner, opposite = _place(window, across[0], up[1]), _place(window, across[1], up[0])
    point = _place(window, across.mean(), up.mean())
    width, height = (max(opposite[i] - corner[i], 2.0) for i in (0, 1))
    return {
        "name": "clip-near" if zoom else "clip-all",
        "title": "Near the box" if zoom else "All rates",
        "left": _LEFT,
        "top": _TOP,
        "side": _SIDE,
        "width": _SIDE + _LEFT + 16,
        "height": _SIDE + _TOP + 44,
        "region": _points(window, outline),
        "box": [f"{x:.1f}" for x in (*corner, width, height)],
        "point": [f"{x:.1f}" for x in point],
        "dot": 3 if zoom else 5,
        "colour": colour,
        "ticks": _ticks(window),
    }


def _place(window: Array, x: float, y: float) -> tuple[float, float]:
    """Pixels of a pair of rates, kept near the drawing."""
    shares = np.clip([(v - low) / (high - low) for v, (low, high) in zip((x, y), window, strict=True)], -50.0, 51.0)
    return _LEFT + _SIDE * float(shares[0]), _TOP + _SIDE * (1.0 - float(shares[1]))


def _points(window: Array, outline: Array) -> str:
    return " ".join("{:.1f},{:.1f}".format(*_place(window, x, y)) for x, y in outline)


def _ticks(window: Array) -> list[tuple[str, str, str, str]]:
    """Place, anchor and text of the numbers at the axes."""
    marks = []
    for share in (0.0, 0.5, 1.0):
        x, y = (low + share * (high - low) for low, high in window)
        here = _LEFT + _SIDE * share, _TOP + _SIDE * (1.0 - share)
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        marks.append((f"{here[0]:.0f}", f"{_TOP + _SIDE + 18}", anchor, f"{x:.3g}"))
        marks.append((f"{_LEFT - 6}", f"{here[1] + 4:.0f}", "end", f"{y:.3g}"))
    return marks


def zoo_table(card: "ScoreCard") -> "Table":
    """The score card of the zoo for a terminal: every bug, how it was caught, and its twin.

    >>> from privet.testing.zoo import run_zoo, zoo
    >>> zoo_table(run_zoo(zoo()[:1], runs=20_000)).row_count
    1
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title="The zoo: broken mechanisms and their sound twins", title_justify="left")
    for heading in ("", "bug", "caught", "own feature", "event that caught it", "p-value", "sound twin"):
        table.add_column(heading, justify="right" if heading in ("", "p-value") else "left")
    for each in card.verdicts:
        p = "exact" if each.entry.by in ("exact", "replay") else f"{each.broken.p_value:.0e}"
        own = each.entry.feature if each.own else f"not by {each.entry.feature}"
        twin = "ACCUSED" if each.accused else "not refuted"
        caught = "yes" if each.caught else "MISSED"
        style = None if each.caught and each.own and not each.accused else "bold red"
        table.add_row(str(each.entry.number), each.entry.name, caught, own, each.broken.event, p, twin, style=style)
    return table
