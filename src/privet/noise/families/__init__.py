"""The common nature of several samplers: coins, enclosures, refined uniforms, rounding, scores, tails."""
