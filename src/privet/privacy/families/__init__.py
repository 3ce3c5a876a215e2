"""What several kinds of price share by nature: mixtures, normal laws, curves, sums, sampling."""
