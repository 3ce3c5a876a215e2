"""What several strategies share by nature: trees, dense matrices, the spectrum of nested blocks."""
