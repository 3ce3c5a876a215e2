"""Two-sided numerical composition of privacy-loss distributions."""
