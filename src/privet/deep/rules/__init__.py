"""Rules: norms and weighted sums of per-example gradients that are never written out."""
