"""The laws that every loss, mechanism and estimator must pass, open to outside authors."""

__all__: list[str] = []
