"""The common ground of several protocols: fractions that run, words of bits, hashes, frequencies and their
intervals."""
