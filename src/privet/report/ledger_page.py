"""A ledger for a regulator, or for the people in the data: one web page that loads nothing."""

import html
import math
from datetime import UTC, datetime

from privet.errors import LedgerTampered
from privet.ledger import Ledger
from privet.report.figure import accent, muted, strong
from privet.report.ledger import LedgerStatus, ledger_status
from privet.report.ledger_log import LogRow, ledger_log
from privet.report.meaning import posterior
from privet.report.numbers import percent_up, plain, round_up

_ALARM = "#b3541e"
_MOST = 1000  # rows of a table; the CSV has all
_WIDE, _HIGH = 700, 150  # of the picture, in pixels
_STYLE = f"""
body {{ font: 16px/1.5 system-ui, sans-serif; color: {strong}; max-width: 860px; margin: 2.5em auto; padding: 0 1em }}
h1 {{ font-size: 1.5em; margin-bottom: .2em }} h2 {{ font-size: 1.1em; margin-top: 2em }}
.verdict {{ border-left: 6px solid {accent}; padding: .6em 1em; background: #f5f6f7; font-size: 1.1em }}
.alarm {{ border-color: {_ALARM}; background: #fbf1ec }}
table {{ border-collapse: collapse; width: 100% }} td, th {{ padding: .25em .9em .25em 0; vertical-align: top;
 text-align: left; overflow-wrap: anywhere }} th {{ color: #555b61; font-weight: normal; border-bottom: 1px solid #c9cdd1 }}
.facts td:first-child {{ color: #555b61; white-space: nowrap; width: 9em }} .small td, .small th {{ font-size: .85em }}
td.when, .small th, .small td:nth-child(-n+3) {{ white-space: nowrap }}
code, pre {{ font-size: .85em; overflow-wrap: anywhere; white-space: pre-wrap }}
figcaption, .quiet {{ color: #555b61; font-size: .9em }} figure {{ margin: 1em 0 }}
svg text {{ font: 12px system-ui, sans-serif; fill: #3c4147 }}
"""
_PROOFS = {
    "any of": "docs/proofs/ledger/any-of.md and docs/proofs/ledger/charging-at-a-delta.md",
    "odometer": "docs/proofs/ledger/odometer.md",
    "Dong": "docs/proofs/ledger/slots.md",
}
_NOT_COVERED = (
    "Releases made from the same people around this ledger, from a copy of the data, or under another ledger.",
    "What the data say about everybody alike: what would be found with or without one person is no breach of this promise.",
    "Facts that several people share: the promise is about one unit at a time, as defined above.",
    "Mechanisms that are not what they state: prices are checked by proofs, tests and audits, not by the ledger.",
    "Timing: how long a release took is visible to whoever waits for it.",
    "Entries newer than the last anchor: whoever can write the store could cut them off unseen.",
)


def ledger_page(ledger: Ledger) -> str:
    """The whole ledger as a web page of its own: who is protected, what was promised, spent and left, what that means
    for one person, every release with its price, raises and failures, the theorem, the trust model, what is not covered,
    versions, anchor and verification, and how to recompute it. Nothing is loaded, everything is escaped.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0), dataset="visits")
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.3))
    >>> "used 30%, 0.7 left (rule: basic)" in ledger_page(ledger)
    True
    """
    status, rows = ledger_status(ledger), ledger_log(ledger)
    name = html.escape(status.dataset)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    checked, alarm = _checked(ledger)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Privacy ledger of {name}</title><style>{_STYLE}</style></head><body>
<h1>Privacy ledger of {name}</h1>
<p class="quiet">{made}; {status.entries:,} entries, {status.reservations:,} charges</p>
<p class="verdict{" alarm" if alarm else ""}"><strong>{html.escape(_capital(status.headline))}.</strong>
{html.escape(_sentence(ledger, status))}</p>
{_meaning(ledger)}
<h2>The budget over time</h2>{_picture(ledger, rows)}
<h2>Promise</h2>{_facts(_promise(ledger, status))}
<h2>Accounts</h2>{_accounts(status)}
<h2>Releases</h2>{_releases(ledger, rows)}
<h2>Raises, acts and failures</h2>{_acts(status, rows)}
<h2>Trust model</h2>{_trust(ledger)}
<h2>What is not covered</h2><ul>{"".join(f"<li>{html.escape(line)}</li>" for line in _NOT_COVERED)}</ul>
<h2>Versions and noise</h2>{_facts(_versions(rows))}
<h2>Anchor and verification</h2>{_facts([("Anchor", status.anchor), ("Verification", checked)])}
<h2>Recompute it yourself</h2>{_recompute(ledger)}
</body></html>
"""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(ledger: Ledger, status: LedgerStatus) -> str:
    left = status.remaining
    if ledger.budget is None:
        return f"An odometer: it reports what was spent and refuses nothing. Protected: {status.unit}."
    closed = "" if ledger.policy.closed is None else f" The data set is closed: {ledger.policy.closed}."
    return (
        f"Everything released from this data set together is promised to be {status.promise}; {status.reservations:,} "
        f"charges were made. What is left is enough for {left}.{closed}"
    )


def _meaning(ledger: Ledger) -> str:
    """What the promise means for one person, at the full budget: the promise holds at every moment, spent or not."""
    budget = ledger.budget
    if budget is None or budget.epsilon is None:
        return ""
    even, rare = (percent_up(posterior(budget.epsilon, prior=prior)) for prior in (0.5, 0.01))
    delta = plain(round_up(budget.delta, 3))
    failing = (
        f" That is as if everything were revealed with probability {delta}, and these figures held otherwise."
        if budget.delta
        else ""
    )
    return (
        f"<h2>What it means for one person</h2><p>Protected is {html.escape(ledger.unit.describe())}, against everybody "
        f"who sees all releases together, whatever else they know. Somebody who thinks it is even odds (50%) that a "
        f"person's data are in this data set can be at most <strong>{even}</strong> sure after seeing everything that "
        f"this budget will ever release; somebody who thinks 1%, at most {rare}.{failing} These are the worst cases of the "
        "whole budget, not of what was spent so far.</p>"
    )


def _facts(pairs: list[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in pairs)
    return f'<table class="facts">{rows}</table>'


def _promise(ledger: Ledger, status: LedgerStatus) -> list[tuple[str, str]]:
    proof = next((path for words, path in _PROOFS.items() if words in status.theorem), "docs/proofs/ledger/any-of.md")
    pairs = [("Promise", status.promise), ("One person", status.unit), ("Left, in words", status.remaining)]
    pairs += [("Theorem", status.theorem), ("Proof", proof)]
    pairs += [("Parts", line) for line in status.partitions]
    return pairs + [("Note", line) for line in status.notes]


def _accounts(status: LedgerStatus) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(scope.replace(':', ' ', 1))}</td><td>{html.escape(standing.headline)}</td>"
        f"<td>{_rule_bars(standing.used) if standing.capped else ''}</td><td>{html.escape(standing.promise)}</td></tr>"
        for scope, standing in status.accounts.items()
    )
    return f"<table><tr><th>account</th><th>standing</th><th></th><th>promise</th></tr>{rows}</table>"


def _rule_bars(used: dict[str, float]) -> str:
    return "" if not used else _bar(min(used.values()), 90)


def _bar(share: float, wide: int = 60) -> str:
    filled = wide * min(max(share, 0.0), 1.0)
    return (
        f'<svg width="{wide}" height="10" role="img" aria-label="{100 * share:.1f}%">'
        f'<rect width="{wide}" height="10" fill="{muted}" fill-opacity="0.25"/>'
        f'<rect width="{max(filled, 1.0 if share > 0 else 0.0):.1f}" height="10" fill="{accent}"/></svg>'
    )


def _rule_of(ledger: Ledger) -> tuple[str, dict[str, float]]:
    """The rule of the headline and the caps of its currencies."""
    standing = ledger.spent
    used = standing.used
    rule = min(used, key=lambda name: used[name]) if used else standing.balances[0].rule
    return rule, {f"{row.rule} {row.currency}": row.limit for row in standing.balances if row.rule == rule}


def _share(row: LogRow, caps: dict[str, float]) -> float:
    shares = [row.costs.get(name, 0.0) / cap for name, cap in caps.items() if cap > 0.0 and math.isfinite(cap)]
    return min(max(shares, default=0.0), 1.0)


def _releases(ledger: Ledger, rows: list[LogRow]) -> str:
    charges = [row for row in rows if row.kind == "reserve"]
    if not charges:
        return "<p>Nothing has been asked yet.</p>"
    rule, caps = _rule_of(ledger)
    shown = charges[-_MOST:]
    lines = "".join(
        f'<tr><td>{row.seq}</td><td class="when">{html.escape(row.time[:16].replace("T", " "))}</td>'
        f"<td>{html.escape(row.analyst or 'custodian')}</td><td>{html.escape(_question(row))}</td>"
        f"<td>{html.escape(row.mechanism or row.loss)}</td><td>{html.escape(_price(row))}</td>"
        f"<td>{_bar(_share(row, caps))}</td></tr>"
        for row in shown
    )
    more = "" if len(shown) == len(charges) else f" The newest {len(shown):,} of {len(charges):,}; the CSV has all."
    return (
        f'<p class="quiet">A bar is the part of the cap that one release took, by the rule {html.escape(rule)}.{more}</p>'
        '<table class="small"><tr><th>entry</th><th>date</th><th>analyst</th><th>purpose</th><th>mechanism</th>'
        f"<th>price</th><th></th></tr>{lines}</table>"
    )


def _question(row: LogRow) -> str:
    told = row.purpose or row.key or "—"
    told += f" (part {row.part})" if row.part else ""
    return told + (f" (data: {row.about})" if row.about else "") + ("" if row.recorded else " — nothing recorded")


def _price(row: LogRow) -> str:
    return row.price + (f" at delta {row.at}" if row.at else "")


def _acts(status: LedgerStatus, rows: list[LogRow]) -> str:
    acts = [row for row in rows if row.kind not in ("reserve", "checkpoint")]
    lines = "".join(
        f'<tr><td>{row.seq}</td><td class="when">{html.escape(row.time[:16].replace("T", " "))}</td>'
        f"<td>{html.escape(row.what)}</td></tr>"
        for row in acts[-_MOST:]
    )
    failed = [str(row.seq) for row in rows if row.kind == "reserve" and row.recorded is None]
    listed = ", ".join(failed[:50]) + (", …" if len(failed) > 50 else "")
    lost = f": entries {listed}" if failed else ""
    return (
        f'<table class="small"><tr><th>entry</th><th>date</th><th>act</th></tr>{lines}</table>'
        f"<p>{status.orphans:,} paid without a recorded release{lost}. A failed release has been paid for; why it failed "
        "is not recorded, since the reason may depend on private data.</p>"
    )


def _picture(ledger: Ledger, rows: list[LogRow]) -> str:
    """How much of the headline's rule was used after each charge, by the order of entries."""
    charges = [row for row in rows if row.kind == "reserve"]
    if not charges or ledger.budget is None:
        return "<p>Nothing to draw yet.</p>" if ledger.budget is not None else "<p>An odometer has no cap.</p>"
    rule, caps = _rule_of(ledger)
    sums = dict.fromkeys(caps, 0.0)
    points, step = [(0.0, 0.0)], max(1, len(charges) // 2000)
    for i, row in enumerate(charges, 1):
        for name in sums:
            sums[name] += row.costs.get(name, 0.0)
        share = max((sums[name] / cap for name, cap in caps.items() if cap > 0.0), default=0.0)
        if i % step == 0 or i == len(charges):
            points += [(i / len(charges), points[-1][1]), (i / len(charges), min(share, 1.0))]
    left, top = 44, 10
    drawn = " ".join(f"{left + _WIDE * x:.1f},{top + _HIGH * (1.0 - y):.1f}" for x, y in points)
    marks = "".join(
        f'<text x="{left - 6}" y="{top + _HIGH * (1.0 - y) + 4:.0f}" text-anchor="end">{100 * y:.0f}%</text>'
        for y in (0.0, 0.5, 1.0)
    )
    return f"""<figure><svg viewBox="0 0 {left + _WIDE + 20} {top + _HIGH + 30}" width="100%" role="img"
 aria-label="share of the budget that is used, after each charge"><rect x="{left}" y="{top}" width="{_WIDE}"
 height="{_HIGH}" fill="none" stroke="#c9cdd1"/><polyline points="{drawn}" fill="none" stroke="{accent}"
 stroke-width="2"/>{marks}<text x="{left}" y="{top + _HIGH + 20}">charge 1</text><text x="{left + _WIDE}"
 y="{top + _HIGH + 20}" text-anchor="end">charge {len(charges):,}</text></svg>
<figcaption>Share of the cap that is used after each charge, by the rule {html.escape(rule)}.</figcaption></figure>"""


def _trust(ledger: Ledger) -> str:
    policy = ledger.policy
    custodian = (
        "Whoever can spend can also raise a cap: no custodian's key is appointed."
        if policy.custodian is None
        else f"Raising, rationing and closing need the signature of the custodian's key {policy.custodian[:16]}…."
    )
    lines = [
        "The curator's process sees the data, analysts see releases. Every charge is on the disk before data is touched.",
        "People are protected against all analysts together by the budget of the data set; rations add no guarantee.",
        custodian,
        "Every request names its analyst." if policy.named else "Requests without a name are the custodian's own.",
        "Whoever can write the store can rewrite an unanchored chain; an anchor kept elsewhere shows it.",
    ]
    if policy.partitions:
        lines.append(
            "That a release on a part saw that part only, and that a person is in as many parts as declared, is the word "
            "of the caller: the ledger cannot check it."
        )
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def _versions(rows: list[LogRow]) -> list[tuple[str, str]]:
    used = sorted({row.software for row in rows if row.software})
    made = [row.secure for row in rows if row.secure is not None]
    noise = (
        f"{sum(made):,} of {len(made):,} recorded releases drew from the secure source (keyed by the operating system)"
    )
    if not all(made):
        noise += "; the others are seeded and protect nobody"
    return [("Software", ", ".join(used) or "—"), ("Entropy", noise)]


def _checked(ledger: Ledger) -> tuple[str, bool]:
    try:
        found = ledger.verify()
    except LedgerTampered as problem:
        return f"FAILED: {problem}", True
    return str(found), bool(found.underpriced)


def _recompute(ledger: Ledger) -> str:
    last = ledger.entries()[-1]
    head = f"entry {last.seq}, <code>{last.hash.hex()}</code>"
    return (
        "<p>Every entry carries its loss, its charge and the sums after it. An export can be checked without the store, by "
        "another version or another program: hashes are SHA-256 over canonical JSON.</p>"
        "<pre>privet ledger export LEDGER --out ledger.json\nprivet ledger verify ledger.json\n"
        f"privet ledger log LEDGER --csv\nprivet ledger show LEDGER --total 1e-6</pre><p>Head of the chain: {head}</p>"
    )
