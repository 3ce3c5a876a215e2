"""Labels that spread over a graph of nearest neighbours: public rows, released labels, nothing else."""

from typing import Any

import numpy as np

from privet._numerics import Array

_KEPT = 0.99  # of what comes from neighbours in each step; the rest are the released labels
_STEPS = 200  # carry labels far enough: 0.99^200 = 0.13 of one is still on its way. Quality only


def spread(rows: Array, labels: Array, classes: int, neighbours: int) -> Array:
    """A label for every row that the released ones (-1: none) reach; -1 for others.

    Rows are tied to that many nearest ones, by weights that fall with the distance on the scale of the own neighbourhood,
    and a tie counts for both. A released label is one voice among those of its neighbours: noise on votes makes some of
    them wrong, and what all around say otherwise is not kept. The mass of each class is that among the released labels,
    however large its part of the graph is.

    >>> spread(np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, -1, -1, 1]), 2, 1).tolist()
    [0, 0, 1, 1]
    """
    known = labels >= 0
    told = np.zeros((len(rows), classes))
    told[np.flatnonzero(known), labels[known]] = 1.0
    ties, made = _ties(rows, min(neighbours, len(rows) - 1)), told
    for _ in range(_STEPS):
        made = _KEPT * (ties @ made) + (1.0 - _KEPT) * told
    weighed = made * told.sum(axis=0) / np.maximum(made.sum(axis=0), 1e-300)
    found: Array = np.where(weighed.max(axis=1) > 0.0, weighed.argmax(axis=1), -1)
    return found


def _ties(rows: Array, near: int) -> Any:
    """The weights of ties, divided by the roots of what both ends have of them: a sparse matrix."""
    from scipy import sparse
    from sklearn.neighbors import NearestNeighbors

    far, places = NearestNeighbors(n_neighbors=near).fit(rows).kneighbors()  # of the rows themselves: none is its own
    weights = np.exp(-np.square(far / np.maximum(far[:, -1:], 1e-300)))
    own = np.repeat(np.arange(len(rows)), near)
    one_way = sparse.csr_array((weights.ravel(), (own, places.ravel())), shape=(len(rows), len(rows)))
    both = one_way.maximum(one_way.T)
    root = sparse.diags_array(1.0 / np.sqrt(np.asarray(both.sum(axis=1)).ravel()))
    return root @ both @ root
