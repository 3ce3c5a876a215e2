"""Private aggregation of teacher ensembles: teachers, aggregators, student."""

__all__: list[str] = []
