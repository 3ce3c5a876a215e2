"""An audit for a reader: the page of one certificate, and the score card of the zoo."""

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from privet import accounting
from privet._numerics import Array
from privet.audit import Certificate
from privet.audit.statistics import rate_above
from privet.privacy import PrivacyLoss, from_json
from privet.report.figure import accent, muted, strong
from privet.report.price import describe

if TYPE_CHECKING:
    from rich.table import Table

    from privet.testing.zoo import ScoreCard


_MODEST = (
    "An audit can refute a claim; it can never prove one. “Not refuted” is not “private”: another input, another event "
    "or more runs may still break the claim."
)
_ALARM = "#b3541e"
_SIDE, _LEFT, _TOP = 300, 54, 34  # of a drawing, in pixels
_STYLE = f"""
body {{ font: 16px/1.5 system-ui, sans-serif; color: {strong}; max-width: 780px; margin: 2.5em auto; padding: 0 1em }}
h1 {{ font-size: 1.5em; margin-bottom: .2em }} h2 {{ font-size: 1.1em; margin-top: 2em }}
.verdict {{ border-left: 6px solid {muted}; padding: .6em 1em; background: #f5f6f7; font-size: 1.1em }}
.violated {{ border-color: {_ALARM}; background: #fbf1ec }}
table {{ border-collapse: collapse }} td {{ padding: .25em 1.2em .25em 0; vertical-align: top }}
td:first-child {{ color: #555b61; white-space: nowrap }} code, pre {{ font-size: .85em; overflow-wrap: anywhere }}
figure {{ margin: 1em 0; display: flex; flex-wrap: wrap; gap: 1em }} figcaption {{ color: #555b61; font-size: .9em }}
svg text {{ font: 12px system-ui, sans-serif; fill: #3c4147 }}
"""


def audit_facts(certificate: Certificate) -> list[tuple[str, str]]:
    """Name and value, a line each, for a terminal or a page.

    >>> from privet import audit, mechanisms
    >>> found = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    >>> audit_facts(audit.certify(found))[0]
    ('Verdict', 'not refuted')
    """
    claim = certificate.price()
    facts = [("Verdict", certificate.verdict)]
    if claim is not None:
        facts += [("Claim", describe(claim)), ("Neighbours", claim.unit.describe())]
    if certificate.left or certificate.right:
        facts.append(("Inputs", f"{certificate.left} and {certificate.right} ({certificate.pairs_tried} pairs tried)"))
    if certificate.event:
        facts.append(("Event", certificate.event + (f" ({certificate.selection})" if certificate.selection else "")))
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


def _seen(counts: dict[str, Any]) -> str:
    if "canaries" in counts:
        return f"{counts['correct']:,} of {counts['made']:,} guesses right, about {counts['canaries']:,} canaries"
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
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
        for name, value in audit_facts(certificate)
    )
    written = html.escape(certificate.to_json())
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    kind = "verdict violated" if certificate.verdict == "violated" else "verdict"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Audit of {html.escape(certificate.name)}</title><style>{_STYLE}</style></head><body>
<h1>Audit of {html.escape(certificate.name)}</h1>
<p>{html.escape(certificate.created)}, {html.escape(versions)}</p>
<p class="{kind}"><strong>{html.escape(certificate.verdict.capitalize())}.</strong> {_sentence(certificate)}</p>
<p>{_MODEST}</p>
{_figure(certificate)}
<h2>Facts</h2><table>{rows}</table>
<h2>Check it yourself</h2>
<p>The test follows from the counts and the claim alone. Save the text below as <code>audit.json</code>; reading it
recomputes everything and refuses a changed certificate. Whoever can compute can also invent counts: only a signature by
a key that you trust says where they come from.</p>
<pre>privet audit verify audit.json --key KEY</pre>
<pre>from privet import audit
print(audit.Certificate.from_json(open("audit.json").read()).verdict)</pre>
<details><summary>Certificate (SHA-256 {certificate.digest[:16]}…)</summary><pre>{written}</pre></details>
</body></html>
"""


def _figure(certificate: Certificate) -> str:
    """Rates beside the claim's region, where an event was counted in two worlds."""
    if "tp" not in certificate.counts or certificate.price() is None:
        return ""
    return f"""<h2>What was seen, and what the claim allows</h2>
<figure>{_drawing(certificate, zoom=False)}{_drawing(certificate, zoom=True)}
<figcaption>Across: how often the event happened in the world where it should be rare. Up: how often it happened in the
other world. The claim allows the shaded region. Each side of the box is a confidence bound at level
{_side(certificate):g}; the claim is refuted when the lower right corner of the box lies outside
the region.</figcaption></figure>"""


def _sentence(certificate: Certificate) -> str:
    if certificate.kind in ("exact", "replay"):
        return "This was checked without sampling." if certificate.kind == "exact" else "Equal noise in both worlds."
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


def _drawing(certificate: Certificate, *, zoom: bool) -> str:
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
    colour = _ALARM if certificate.verdict == "violated" else accent
    corner, opposite = _place(window, across[0], up[1]), _place(window, across[1], up[0])
    point = _place(window, across.mean(), up.mean())
    name = "clip-near" if zoom else "clip-all"
    width, height = (max(opposite[i] - corner[i], 2.0) for i in (0, 1))
    total = _SIDE + _LEFT + 16, _SIDE + _TOP + 44
    return f"""
<svg width="{total[0]}" height="{total[1]}" role="img" aria-label="observed rates and claimed region">
<clipPath id="{name}"><rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/></clipPath>
<text x="{_LEFT}" y="20" font-weight="bold">{"Near the box" if zoom else "All rates"}</text>
<g clip-path="url(#{name})"><polygon points="{_points(window, outline)}" fill="{muted}" fill-opacity="0.25"
 stroke="{muted}" stroke-width="1.5"/>
<rect x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"
 fill-opacity="0.35" stroke="{colour}" stroke-width="2"/>
<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{3 if zoom else 5}" fill="{colour}"/></g>
<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#c9cdd1"/>{_ticks(window)}</svg>"""


def _place(window: Array, x: float, y: float) -> tuple[float, float]:
    """Pixels of a pair of rates, kept near the drawing."""
    shares = np.clip([(v - low) / (high - low) for v, (low, high) in zip((x, y), window, strict=True)], -50.0, 51.0)
    return _LEFT + _SIDE * float(shares[0]), _TOP + _SIDE * (1.0 - float(shares[1]))


def _points(window: Array, outline: Array) -> str:
    return " ".join("{:.1f},{:.1f}".format(*_place(window, x, y)) for x, y in outline)


def _ticks(window: Array) -> str:
    marks = []
    for share in (0.0, 0.5, 1.0):
        x, y = (low + share * (high - low) for low, high in window)
        here = _LEFT + _SIDE * share, _TOP + _SIDE * (1.0 - share)
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        marks.append(f'<text x="{here[0]:.0f}" y="{_TOP + _SIDE + 18}" text-anchor="{anchor}">{x:.3g}</text>')
        marks.append(f'<text x="{_LEFT - 6}" y="{here[1] + 4:.0f}" text-anchor="end">{y:.3g}</text>')
    return "".join(marks)


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
