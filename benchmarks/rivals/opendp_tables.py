"""OpenDP on a Parquet file: counts and sums by group, by rows and by persons. Run by `benchmarks/queries.py --opendp`
with an interpreter that has `opendp[polars]`, which needs a Polars of its own; prints seconds of CPU time as JSON.
"""

import json
import sys
import time
import warnings


def seconds(path, person):
    """Of one release, everything included, as its documentation says to ask."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    unit = dp.unit_of(contributions=10**6, identifier=pl.col("user")) if person else dp.unit_of(contributions=1)
    keys = pl.LazyFrame({"grp": list(range(1000))}, schema={"grp": pl.Int64})
    group, limits = [pl.col("grp")], {"max_length": 10**9, "max_groups": 1000}
    begin = time.process_time()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=group, **limits), dp.polars.Margin(**limits)],
    )
    query = context.query()
    if person:
        query = query.truncate_per_group(3, by=group, keep="first").truncate_num_groups(5, by=group, keep="first")
    value = pl.col("val").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, 100.0))
    query.group_by("grp").agg(dp.len(), value).with_keys(keys).release().collect()
    return time.process_time() - begin


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({"rows": seconds(sys.argv[1], False), "persons": seconds(sys.argv[1], True)}))
