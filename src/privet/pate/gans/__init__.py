"""Generators that learn from the votes of teachers alone."""
