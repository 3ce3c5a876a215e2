"""Networks that train well under clipping and noise: bounded activations, no statistics over a batch."""
