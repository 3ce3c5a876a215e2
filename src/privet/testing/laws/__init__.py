"""The laws: one function each, raising AssertionError with the loss and the numbers that break it."""
