"""A price in one line."""

from typing import Any

from privet.privacy import Grouped, PrivacyLoss
from privet.report.base.numbers import plain

__all__ = ["describe"]


def describe(loss: PrivacyLoss) -> str:
    """A loss in one line.

    >>> from privet import privacy
    >>> describe(privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.0), q=0.01), 10_000))
    '10,000 × gaussian (noise multiplier 4) on a Poisson sample of 1%'
    """
    chained = any(isinstance(part, Grouped) and part.chained for part, _ in loss.parts())
    return _describe(loss.to_dict()) + (", by chaining single records (may be loose)" if chained else "")


def _describe(form: dict[str, Any]) -> str:
    match form:
        case {"kind": "repeated", "of": inner, "times": times}:
            return f"{times:,} × {_describe(inner)}"
        case {"kind": "composed", "parts": parts}:
            listed = [f"{part['times']:,} × {_describe(part['of'])}" for part in parts]
            return " + ".join(listed) if listed else "nothing at all"
        case {"kind": "poisson_sampled", "of": inner, "q": q}:
            return f"{_describe(inner)} on a Poisson sample of {100.0 * q:.4g}%"
        case {"kind": "grouped", "of": inner, "size": size, "relation": "replace"}:
            return f"{_describe(inner)}, for {size // 2:,} replaced"
        case {"kind": "grouped", "of": inner, "size": size}:
            return f"{_describe(inner)}, for a group of {size:,}"
        case {"kind": "fixed_sampled", "of": inner, "m": m, "n": n}:
            return f"{_describe(inner)} on {m:,} of {n:,} records"
    fields = [
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else plain(float(value))}"
        for name, value in form.items()
        if name not in ("kind", "unit") and isinstance(value, (int, float, str)) and not isinstance(value, bool)
    ]
    name = str(form["kind"]).replace("_", " ")
    return f"{name} ({', '.join(fields)})" if fields else name
