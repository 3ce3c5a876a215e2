"""What several samplers share by nature: coins, enclosures, refined uniforms, rounding, scores, tails."""
