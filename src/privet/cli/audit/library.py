"""`privet audit mechanism` and `zoo`: hold our own mechanisms to their price, and the referee to broken ones."""

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet._calls import nearest
from privet.cli import options as o
from privet.cli.audit.shared import AlphaOption, CertificateOption, PageOption, RunsOption, audit_app, show, write
from privet.cli.output import print_json
from privet.errors import InvalidCall, InvalidParameter

if TYPE_CHECKING:
    from privet.audit import MechanismAudit


_CENTRES = (0, 1, -1, 2**24, 2**40)  # integer mechanisms are tried here; the others choose for themselves


@audit_app.command(epilog="Example: privet audit zoo --runs 20000")
def zoo(
    runs: RunsOption = 100_000,
    alpha: AlphaOption = 1e-3,
    bugs: Annotated[str | None, typer.Option(help="Numbers of entries, such as 1,5,36. Default: all.")] = None,
    json: o.JsonOption = False,
) -> None:
    """Run every broken mechanism of the zoo and its sound twin; print a score card. Exit code 1 if a bug got away."""
    from rich.console import Console

    from privet import report
    from privet.testing import zoo as animals

    card = animals.run_zoo(_chosen(animals.zoo(), bugs), runs=runs, alpha=alpha)
    if json:
        print_json(card.to_dict())
    else:
        out = Console(highlight=False)
        out.print(report.zoo_table(card))
        out.print(str(card))
    if card.caught < len(card.verdicts) or card.accused:
        raise typer.Exit(1)


def _chosen(entries: tuple[Any, ...], bugs: str | None) -> list[Any]:
    if bugs is None:
        return list(entries)
    wanted = {part.strip() for part in bugs.split(",")}
    chosen = [entry for entry in entries if str(entry.number) in wanted]
    if len(chosen) < len(wanted):
        raise InvalidParameter(f"--bugs takes numbers from 1 to {entries[-1].number}, separated by commas")
    return chosen


@audit_app.command(epilog="Example: privet audit mechanism laplace --epsilon 1 --html laplace.html")
def mechanism(
    name: Annotated[str, typer.Argument(help="A mechanism, such as laplace, gaussian or exponential.")],
    epsilon: Annotated[float | None, typer.Option(help="Budget: epsilon. Without it the examples are audited.")] = None,
    delta: Annotated[float, typer.Option(help="Budget: delta.")] = 0.0,
    sensitivity: Annotated[float, typer.Option(help="How far one person moves the answer.")] = 1.0,
    runs: RunsOption = 100_000,
    alpha: AlphaOption = 1e-3,
    json: o.JsonOption = False,
    html: PageOption = None,
    certificate: CertificateOption = None,
) -> None:
    """Try to refute a mechanism's price by running it on neighbouring inputs. Exit code 1 if it is violated.

    Mechanisms that add noise are built for the budget given; others are audited on the examples that they bring along.
    The certificate and the page are those of the example that came closest to a violation.
    """
    from privet.audit import certify

    found = _audits(name, epsilon, delta, sensitivity, runs, alpha)
    worst = certify(min(found, key=lambda audit: audit.test.p_value))
    if json:
        print_json({"audits": [json_text.loads(certify(audit).to_json()) for audit in found]})
        write(certificate, worst.to_json() + "\n")
        raise typer.Exit(1 if worst.verdict == "violated" else 0)
    if len(found) > 1:
        typer.echo(f"{len(found)} examples of {name}; the one closest to a violation:")
    show(worst, json=False, certificate=certificate, html=html)


def _audits(
    name: str, epsilon: float | None, delta: float, sensitivity: float, runs: int, alpha: float
) -> "list[MechanismAudit]":
    from privet import audit
    from privet.mechanisms import AdditiveMechanism, registered_mechanisms
    from privet.mechanisms.families.integer import IntegerMechanism
    from privet.testing import load_rooms

    load_rooms()
    kinds = registered_mechanisms()
    if name not in kinds:
        near = nearest(name, kinds)
        meant = f"did you mean {near}? " if near else ""
        raise InvalidParameter(f"there is no mechanism {name!r}; {meant}there are: {', '.join(kinds)}")
    kind: Any = kinds[name]
    if epsilon is None:
        examples = list(kind.examples())
        return [
            audit.mechanism(
                each.mechanism, neighbours=[(each.left, each.right)], runs=runs, alpha=alpha / len(examples)
            )
            for each in examples
        ]
    if issubclass(kind, AdditiveMechanism):
        made = kind.for_budget(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        return [audit.mechanism(made, runs=runs, alpha=alpha)]
    if issubclass(kind, IntegerMechanism):
        made = kind.for_budget(epsilon=epsilon, delta=delta, sensitivity=_whole(sensitivity))
        pairs = [(centre, centre + _whole(sensitivity)) for centre in _CENTRES]
        return [audit.mechanism(made, neighbours=pairs, runs=runs, alpha=alpha)]
    return [_on_examples(kind, name, {"epsilon": epsilon, "delta": delta}, runs, alpha)]


def _on_examples(kind: Any, name: str, budget: dict[str, float], runs: int, alpha: float) -> "MechanismAudit":
    """A mechanism that is made from a budget alone, on the neighbours that it brings along."""
    from privet import audit

    try:
        made = kind.for_budget(**budget)
    except (InvalidCall, AttributeError):
        raise InvalidParameter(f"{name} needs more than a budget; leave --epsilon out to audit its examples") from None
    noise = {"scale", "sigma", "ratio", "truth", "epsilon", "at"}

    def other_than_noise(mechanism: Any) -> dict[str, Any]:
        return {field: value for field, value in mechanism.to_dict().items() if field not in noise}

    wanted = other_than_noise(made)
    pairs = [(each.left, each.right) for each in kind.examples() if other_than_noise(each.mechanism) == wanted]
    if not pairs:
        raise InvalidParameter(f"{name} brings no neighbours for this; leave --epsilon out to audit its examples")
    return audit.mechanism(made, neighbours=pairs, runs=runs, alpha=alpha)


def _whole(number: float) -> int:
    if number != int(number):
        raise InvalidParameter("this mechanism adds integer noise: --sensitivity must be a whole number")
    return int(number)
