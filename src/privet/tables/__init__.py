"""Tables: schema, bounds, privacy unit, contribution bounding and the engines behind them."""

__all__: list[str] = []
