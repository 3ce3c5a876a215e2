"""The names that people who know data frames use, and what a private table has instead."""

from difflib import get_close_matches
from inspect import signature

from privet.errors import UnknownName
from privet.queries.aggregate import spellings

_PRIVATE = "rows are private, and so is their number: ask for aggregates, as in table.agg(n=pv.count())"
_WHERE = 'keep rows with table.where(table["age"] >= 65)'
_DERIVE = 'compute columns with table.derive(half=table["age"] / 2)'
_INSTEAD = {
    **dict.fromkeys(("groupby", "groups"), 'group with table.group_by("ward").agg(n=pv.count())'),
    **dict.fromkeys(("filter", "query", "loc", "mask", "dropna"), _WHERE),
    **dict.fromkeys(("assign", "with_columns", "withColumn", "apply", "map", "fillna", "astype", "cast"), _DERIVE),
    **dict.fromkeys(
        ("head", "tail", "sample", "iloc", "values", "iterrows", "itertuples", "to_numpy", "unique"), _PRIVATE
    ),
    **dict.fromkeys(
        ("shape", "size", "height", "index", "info", "describe", "show", "collect", "limit", "rows"), _PRIVATE
    ),
    **dict.fromkeys(("merge", "concat"), "put tables together with join, join_public or union"),
    **dict.fromkeys(
        ("pivot", "pivot_table"), 'ask table.crosstab("ward", "sex"), and lay it out with value.wide("sex")'
    ),
    "value_counts": 'count each value with table.group_by("ward").agg(n=pv.count())',
    "select": "name columns where they are asked for: an aggregate reads no other",
    "dtypes": "see table.columns",
    "release": "a ledger pays, as in ledger.release(query, epsilon=0.5)",
    **dict.fromkeys(("to_pandas", "to_polars", "to_arrow"), "the release makes data frames, as in release.to_pandas()"),
    "corr": 'ask table.correlation("age", "cost")',
    "cov": 'ask table.covariance("age", "cost")',
}

_RELEASED = "a ledger answers it: release = ledger.release(query, epsilon=0.5), then release"
_OF_KIND = {  # for objects of one kind, before what stands above
    "Question": {
        **dict.fromkeys(
            ("value", "collect", "run", "execute", "compute", "result", "answer", "show", "fetchall", "head"),
            f"{_RELEASED}.value",
        ),
        "plot": f"{_RELEASED}.plot()",
        **dict.fromkeys(("epsilon", "price", "cost", "loss", "error"), "see query.preview(epsilon=0.5)"),
    },
    "Groups": {
        **dict.fromkeys(("count", "size"), "ask them with groups.agg(n=pv.count())"),
        **dict.fromkeys(("apply", "aggregate"), "ask them with groups.agg(n=pv.count())"),
    },
    "Answer": {
        **dict.fromkeys(("plot", "hist", "bar"), "the release draws it: release.plot()"),
        **dict.fromkeys(
            ("to_csv", "to_excel", "to_dict"), "the release makes data frames: release.to_pandas().to_csv(...)"
        ),
    },
}


def no_such_name(asked: object, name: str, column: str | None = None) -> UnknownName:
    """The error about a name that `asked` does not have; `column` is the column that was asked, if one was.

    >>> print(no_such_name(3, "groupby"))
    int has no 'groupby': group with table.group_by("ward").agg(n=pv.count())
    >>> print(no_such_name(3, "avg", "age"))
    int has no 'avg': ask the table, as in table.agg(answer=pv.mean("age"))
    """
    known = spellings()
    aggregate = next((each for each, spelling in known.items() if name in spelling.alike), name)
    public = [each for each in dir(type(asked)) if not each.startswith("_")]
    near = get_close_matches(name, public, 1, 0.75)  # most typing errors, and few other words
    kinds = {each.__name__ for each in type(asked).__mro__}
    if "TableQuestion" in kinds:  # another base, of which the same is asked
        kinds.add("Question")
    own = next((_OF_KIND[kind][name] for kind in _OF_KIND if kind in kinds and name in _OF_KIND[kind]), None)
    # the first that applies: the earlier ones know best what was meant
    if own is not None:
        meant = own
    elif aggregate in known:
        what = f'"{column or "cost"}"' if "column" in signature(known[aggregate].make).parameters else ""
        called = "groups" if "Groups" in kinds else "table"
        meant = f"ask the {called}, as in {called}.agg(answer=pv.{aggregate}({what}))"
    elif name in _INSTEAD:
        meant = _INSTEAD[name]
    elif near:
        meant = f"did you mean {near[0]}?"
    else:
        meant = f"it has {', '.join(public)}"
    return UnknownName(f"{type(asked).__name__} has no {name!r:.60}: {meant}")
