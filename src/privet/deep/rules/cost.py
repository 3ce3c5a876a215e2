"""The choice between Gram matrices and written-out gradients, from shapes alone: never from data."""

_ROWS_AT_ONCE = 2**25  # numbers of one parameter's written-out gradients: 128 MiB in float32


def writes_out(records: int, positions: int, inputs: int, outputs: int) -> bool:
    """True where gradients of a layer are better written out, record by record, than measured by Gram matrices.

    Written-out gradients are also their own weighted sum, which saves the product that follows a Gram; but they are
    inputs x outputs numbers a record, and a Gram only positions^2.

    >>> writes_out(64, 64, 128, 128), writes_out(64, 1, 784, 512), writes_out(512, 169, 64, 16)
    (True, False, True)
    """
    size = inputs * outputs
    return positions > 1 and 4 * positions**2 >= size and records * size <= _ROWS_AT_ONCE
