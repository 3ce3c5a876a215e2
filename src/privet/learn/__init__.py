"""Private learning in the shape of scikit-learn estimators."""

__all__: list[str] = []
