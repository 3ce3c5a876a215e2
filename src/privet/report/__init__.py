"""Reports: tables, plots and plain words for what a release costs."""

__all__: list[str] = []
