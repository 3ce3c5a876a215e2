"""Labels that spread over a graph of nearest neighbours, from public rows and released labels alone: nothing is paid."""

from typing import Any

import numpy as np

from privet._numerics import Array

_FROM_TIES = 0.99  # the part of a row's next votes that comes from its neighbours; the rest is its own released label
_STEPS = 200  # after so many, 0.99^200 = 0.13 of a label is still on its way: quality only


def spread(rows: Array, labels: Array, classes: int, neighbours: int) -> Array:
    """A label for every row that a released label reaches, -1 for the others; `labels` is -1 where none was released.

    Each row is tied to its `neighbours` nearest rows, with weights that fall with the distance, relative to that of the
    farthest of them; a tie holds for both of its rows. A released label is one vote among those of its neighbours, which
    may overrule it: noise makes some released labels wrong. In the end each class is scaled to its share of the released
    labels, however large its part of the graph is.

    >>> spread(np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, -1, -1, 1]), 2, 1).tolist()
    [0, 0, 1, 1]
    """
    known = labels >= 0
    released = np.zeros((len(rows), classes))
    released[np.flatnonzero(known), labels[known]] = 1.0
    ties, votes = _ties(rows, min(neighbours, len(rows) - 1)), released
    for _ in range(_STEPS):
        votes = _FROM_TIES * (ties @ votes) + (1.0 - _FROM_TIES) * released
    scaled = votes * released.sum(axis=0) / np.maximum(votes.sum(axis=0), 1e-300)
    found: Array = np.where(scaled.max(axis=1) > 0.0, scaled.argmax(axis=1), -1)
    return found


def _ties(rows: Array, near: int) -> Any:
    """The sparse matrix of the weights of ties, each divided by the root of the total weight of either of its rows."""
    from scipy import sparse
    from sklearn.neighbors import NearestNeighbors

    distances, places = (
        NearestNeighbors(n_neighbors=near).fit(rows).kneighbors()
    )  # without an argument: no row is its own
    weights = np.exp(-np.square(distances / np.maximum(distances[:, -1:], 1e-300)))
    from_row = np.repeat(np.arange(len(rows)), near)
    one_way = sparse.csr_array((weights.ravel(), (from_row, places.ravel())), shape=(len(rows), len(rows)))
    both = one_way.maximum(one_way.T)
    root = sparse.diags_array(1.0 / np.sqrt(np.asarray(both.sum(axis=1)).ravel()))
    return root @ both @ root
