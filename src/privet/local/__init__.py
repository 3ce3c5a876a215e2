"""Local privacy: clients that randomise, a server that estimates."""

__all__: list[str] = []
