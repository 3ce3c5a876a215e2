"""The common nature of several strategies: trees, dense matrices, the spectrum of nested blocks."""
