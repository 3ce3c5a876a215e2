"""What several protocols share: fractions that run, words of bits, hashes, frequencies and their intervals."""
