"""The common nature of several kinds of price: mixtures, normal laws, curves, sums, sampling."""
