"""The JSON form of prices, versioned. The rules of its evolution are written in docs/develop/json-form.md.

Kinds and fields are never removed and never change their meaning; a new field comes with a default equal to the old
meaning; an unknown kind loads as `OpaqueLoss`, whose every answer refuses.
"""

import json
import math
from typing import Any, TypeVar

from privet._calls import door
from privet._validate import set_frozen
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee, SerialisationError
from privet.privacy.loss import PrivacyLoss
from privet.privacy.unit import Unit

FORMAT = 1  # of the JSON of a loss: a reader refuses any other

_KINDS: dict[str, type[PrivacyLoss]] = {}

Kind = TypeVar("Kind", bound=type[PrivacyLoss])
_PRICES = ("of", "losses", "blocks")  # fields of combinators: they take whatever has a price


def register(cls: Kind) -> Kind:
    """Class decorator: make a kind known to `from_json` (and to the laws, which run over every registered kind).

    >>> "gaussian" in registered_kinds()
    True
    """
    known = _KINDS.setdefault(cls.kind, cls)
    if not cls.kind or known is not cls:
        raise InvalidParameter(f"the kind {cls.kind!r} is empty or already taken")
    return door(prices=_PRICES)(cls)


def registered_kinds() -> dict[str, type[PrivacyLoss]]:
    """Every registered kind by name.

    >>> registered_kinds()["pure"].__name__
    'PureLoss'
    """
    return dict(_KINDS)


@door(prices=("loss",))
def to_json(loss: PrivacyLoss) -> str:
    """Canonical JSON text: equal prices give equal texts, so a hash of the text identifies a price.

    >>> from privet import privacy
    >>> privacy.to_json(privacy.PureLoss(0.5))
    '{"epsilon":0.5,"kind":"pure","privet":1,"unit":{"group_size":1,"relation":"add_remove"}}'
    """
    return json.dumps({"privet": FORMAT, **loss.to_dict()}, sort_keys=True, separators=(",", ":"), allow_nan=False)


@door
def from_json(text: str) -> PrivacyLoss:
    """The price that a text holds; inverse of `to_json`.

    >>> from privet import privacy
    >>> privacy.from_json(privacy.to_json(privacy.PureLoss(0.5))) == privacy.PureLoss(0.5)
    True
    """
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise SerialisationError("this is not a JSON text; expected what privacy.to_json wrote") from None
    version = data.pop("privet", None) if isinstance(data, dict) else None
    if version != FORMAT or isinstance(version, bool):
        raise SerialisationError(f'expected an object with "privet": {FORMAT}; upgrade privet to read newer formats')
    return from_dict(data)


def from_dict(data: object) -> PrivacyLoss:
    """The price that `PrivacyLoss.to_dict` wrote.

    >>> from_dict({"kind": "pure", "unit": {"relation": "replace"}, "epsilon": 1.0}).unit.relation
    'replace'
    """
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise SerialisationError("a price needs a field 'kind'")
    body = dict(data)
    kind = body.pop("kind")
    try:
        unit = Unit(**body.pop("unit", {}))
        cls = _KINDS.get(kind)
        if cls is None:
            return OpaqueLoss(kind, json.dumps(body, sort_keys=True), unit=unit)
        loss = cls.from_body({name: _revive(value) for name, value in body.items()}, unit)
    except KeyError as error:
        raise SerialisationError(f"the price of kind {kind!r} lacks the field {error}") from None
    except RecursionError:
        raise SerialisationError("the price is nested too deeply to be read") from None
    except (InvalidParameter, MixedUnits, NoGuarantee, TypeError, AttributeError) as error:
        raise SerialisationError(f"the price of kind {kind!r} cannot be read: {error}") from None
    if loss.unit != unit:
        raise SerialisationError(f"the price of kind {kind!r} speaks about {unit.describe()}, its parts do not")
    return loss


def _revive(value: object) -> object:
    """Inverse of the plain JSON form of one field."""
    if isinstance(value, dict) and "kind" in value:
        return from_dict(value)
    if isinstance(value, list):
        return tuple(_revive(item) for item in value)
    return math.inf if value == "inf" else value


class OpaqueLoss(PrivacyLoss):
    """A price of a kind that this version does not know: it can be stored and compared, but every answer refuses.

    >>> from privet import privacy
    >>> loss = privacy.from_json('{"privet": 1, "kind": "from the future", "unit": {}, "x": 1}')
    >>> loss.pure()
    Traceback (most recent call last):
        ...
    privet.errors.NoGuarantee: the price 'from the future' is unknown to this version of privet; upgrade to read it
    """

    def __init__(self, unknown_kind: str, text: str, *, unit: Unit) -> None:
        set_frozen(self, unknown_kind=unknown_kind, text=text, unit=unit)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that was read, unchanged."""
        return {"kind": vars(self)["unknown_kind"], "unit": self.unit.to_dict(), **json.loads(vars(self)["text"])}

    def _words(self) -> str:
        return f"{vars(self)['unknown_kind']} (unknown to this version)"

    def __repr__(self) -> str:
        return f"OpaqueLoss({self.key})"

    def _refuse(self, *_: object) -> Any:  # it never returns
        raise NoGuarantee(
            f"the price {vars(self)['unknown_kind']!r} is unknown to this version of privet; upgrade to read it"
        )

    pure = approximate = zcdp = gdp = gaussian = _refuse
    rdp = variable = profile = grouped = _refuse  # type: ignore[assignment]
