"""`privet audit verify`, `one-run`, `exact` and `key`: what can be judged from a file."""

import json as json_text
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.audit.own import ClaimOption, DeltaOption, EpsilonOption, WhichOption
from privet.cli.audit.shared import (
    CertificateOption,
    KeyOption,
    PageOption,
    audit_app,
    claimed,
    read,
    scored,
    show,
    write,
)
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.audit import Coins


FileArgument = Annotated[Path, typer.Argument(help="The file of the certificate, or of the key to be made.")]


@audit_app.command(epilog="Example: privet audit verify laplace.json --key auditor.pub")
def verify(
    file: FileArgument,
    key: Annotated[
        str | None, typer.Option(metavar="HEX|FILE", help="Accept only certificates signed by this public key.")
    ] = None,
    json: o.JsonOption = False,
    html: PageOption = None,
) -> None:
    """Recompute a certificate from its own counts, and check its signature. A forged one is refused with exit code 2.

    Without --key, counts that were invented pass as long as everything follows from them: only a signature says who
    vouches for them.
    """
    from privet import audit

    certificate = audit.Certificate.from_json(read(file), key=key)
    by = "unsigned: it follows from its counts, and nobody vouches for these"
    if certificate.signature is not None:
        by = f"signed by {certificate.signature['public_key']}" + (
            "" if key else " (not compared with a key you trust)"
        )
    if not json:
        typer.echo(f"The certificate is consistent; {by}.\n")
    show(certificate, json=json, html=html)


@audit_app.command(epilog="Example: privet audit key auditor.key")
def key(file: FileArgument) -> None:
    """Make a private key for signing certificates, and print the public key that checks them."""
    from privet import audit

    if file.exists():
        raise InvalidParameter(f"{file.name!r} exists; a key is never overwritten")
    secret = audit.new_key()
    write(file, secret + "\n")
    file.chmod(0o600)
    typer.echo(audit.public_key(secret))


@audit_app.command(
    "one-run", epilog="Example: privet audit one-run scores.csv --delta 1e-5 --top 100 --bottom 100 --epsilon 3"
)
def one_run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV with the columns score and included (0 or 1).")],
    top: Annotated[int | None, typer.Option(help="Guesses of 'in', fixed before the scores were seen.")] = None,
    bottom: Annotated[int | None, typer.Option(help="Guesses of 'out', fixed before the scores were seen.")] = None,
    commitment: Annotated[str | None, typer.Option(help="The commitment that was published before training.")] = None,
    opening: Annotated[
        Path | None, typer.Option(help="The coins that the commitment was made of, as JSON, e.g. coins.json.")
    ] = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    claim: ClaimOption = None,
    relation: WhichOption = "add_remove",
    alpha: Annotated[float, typer.Option(help="Largest probability of a wrong statement.")] = 0.05,
    json: o.JsonOption = False,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """Bound epsilon from one training run with canaries, or test a claim by its whole curve.

    With --commitment and --opening (a file) the coins and the numbers of guesses are those that were committed to.
    """
    import numpy as np

    from privet import audit

    scores, included = scored(file, "included")
    coins: Any = included
    if commitment is not None or opening is not None:
        coins = _opened(commitment, opening, included)
    guesses = audit.guess(np.array(scores), coins, top=top, bottom=bottom)
    if epsilon is None and claim is None:
        from privet.privacy import Unit

        found: Any = audit.one_run_lower(guesses, delta=delta, alpha=alpha, unit=Unit(relation))
    else:
        found = audit.one_run_curve(guesses, claim=claimed(epsilon, delta, claim, relation), alpha=alpha)
    show(audit.certify(found, name=file.name, key=sign), json=json, certificate=certificate)


@audit_app.command(epilog="Example: privet audit exact laws.json --epsilon 1")
def exact(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help='JSON: {"left": {"a": "3/4", "b": "1/4"}, "right": {...}}.')
    ],
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    claim: ClaimOption = None,
    relation: WhichOption = "add_remove",
    json: o.JsonOption = False,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """Compare two finite output laws with a claim, exactly. Exit code 1 if it is violated."""
    from privet import audit

    price = claimed(epsilon, delta, claim, relation)
    try:
        document = json_text.loads(read(file))
        laws = [{name: Fraction(str(mass)) for name, mass in document[side].items()} for side in ("left", "right")]
    except (ValueError, KeyError, AttributeError, TypeError, ZeroDivisionError):
        raise InvalidParameter('expected JSON such as {"left": {"a": "3/4", "b": "1/4"}, "right": {...}}') from None
    found = audit.exact_pair(*laws, claim=price)
    show(audit.certify(found, name=file.name, key=sign), json=json, certificate=certificate)


def _opened(commitment: str | None, opening: Path | None, included: list[int]) -> "Coins":
    """The committed coins, after checking that they are the ones in the file."""
    from privet import audit

    if commitment is None or opening is None:
        raise InvalidParameter("--commitment and --opening belong together")
    text = read(opening).strip()
    if not audit.Coins.verify(commitment, text):
        raise InvalidParameter("the opening is not the one that was committed to")
    coins = audit.Coins.opened(text)
    if coins.included.astype(int).tolist() != included:
        raise InvalidParameter("the file's coins are not those that were committed to")
    return coins
