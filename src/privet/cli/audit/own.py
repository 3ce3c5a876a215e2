"""`privet audit function` and `replay`: hold somebody's own code to a claim."""

from typing import Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.audit.shared import (
    AlphaOption,
    CertificateOption,
    JobsOption,
    KeyOption,
    PageOption,
    RunsOption,
    SecondsOption,
    StopOption,
    audit_app,
    claimed,
    loaded,
    show,
    value,
)
from privet.cli.losses import RelationName
from privet.cli.output import progress
from privet.errors import InvalidParameter

Place = Annotated[
    str, typer.Argument(metavar="MODULE:NAME", help="A function of one input, or an object with release.")
]
LeftOption = Annotated[str | None, typer.Option(help="One input, as JSON.")]
RightOption = Annotated[str | None, typer.Option(help="Its neighbour, as JSON.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Claim: epsilon.")]
DeltaOption = Annotated[float, typer.Option(help="Claim: delta.")]
ClaimOption = Annotated[str | None, typer.Option(metavar="JSON|FILE", help="Claim: a price as JSON, or its file.")]
WhichOption = Annotated[RelationName, typer.Option(help="Which two inputs are neighbours.")]


@audit_app.command(
    epilog="Example: privet audit function my_code:noisy_sum --epsilon 1 --left '[1, 1]' --right '[1, 1, 1]'"
)
def function(
    place: Place,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    claim: ClaimOption = None,
    relation: WhichOption = "add_remove",
    left: LeftOption = None,
    right: RightOption = None,
    neighbours: Annotated[
        str | None, typer.Option(metavar="MODULE:NAME", help="Pairs of inputs, or a family such as audit.Tables.")
    ] = None,
    runs: RunsOption = 20_000,
    alpha: AlphaOption = 1e-3,
    timed: Annotated[bool, typer.Option("--timed", help="Look at the run time as well.")] = False,
    seconds: SecondsOption = None,
    jobs: JobsOption = 1,
    stop: StopOption = False,
    json: o.JsonOption = False,
    html: PageOption = None,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """Try to refute a claim about your own code by running it on neighbouring inputs. Exit code 1 if it is violated."""
    from privet import audit

    price, target = claimed(epsilon, delta, claim, relation), loaded(place)
    pairs = _pairs(left, right, neighbours)
    with progress():
        found = audit.mechanism(
            target,
            claim=price,
            neighbours=pairs,
            runs=runs,
            alpha=alpha,
            timed=timed,
            seconds=seconds,
            jobs=jobs,
            stop=stop,
        )
    made = audit.certify(found, name=place, subject=target, key=sign)
    show(made, json=json, certificate=certificate, html=html)


@audit_app.command(epilog="Example: privet audit replay my_code:pipeline --left '[1, 1]' --right '[1]'")
def replay(
    place: Annotated[str, typer.Argument(metavar="MODULE:NAME", help="A function that releases through privet.")],
    left: LeftOption = None,
    right: RightOption = None,
    times: Annotated[int, typer.Option(metavar="INTEGER", help="Records of the noise that are replayed, e.g. 20.")] = 4,
    json: o.JsonOption = False,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """Run a pipeline on two neighbouring inputs with the same noise; whatever differs then is unprotected."""
    from privet import audit

    target = loaded(place)
    ((first, second),) = _pairs(left, right, None)
    made = audit.certify(audit.replay(target, first, second, times=times), name=place, subject=target, key=sign)
    show(made, json=json, certificate=certificate)


def _pairs(left: str | None, right: str | None, neighbours: str | None) -> Any:
    if neighbours is not None and left is None and right is None:
        found = loaded(neighbours)
        return found() if callable(found) else found
    if left is None or right is None or neighbours is not None:
        raise InvalidParameter("name two neighbouring inputs: --left and --right as JSON, or --neighbours module:name")
    return [(value(left), value(right))]
