"""Mechanisms of other libraries on show, by the name under which the library is installed."""

from collections.abc import Callable, Iterator

from exhibits.base import Exhibit
from exhibits.of_diffprivlib import diffprivlib_exhibits
from exhibits.of_multi_freq_ldpy import multi_freq_exhibits
from exhibits.of_numpy import numpy_exhibits
from exhibits.of_opendp import opendp_exhibits
from exhibits.of_pure_ldp import pure_ldp_exhibits

__all__ = ["PEERS", "Exhibit"]

PEERS: dict[str, Callable[[], Iterator[Exhibit]]] = {
    "numpy": numpy_exhibits,
    "diffprivlib": diffprivlib_exhibits,
    "opendp": opendp_exhibits,
    "pure-ldp": pure_ldp_exhibits,
    "multi-freq-ldpy": multi_freq_exhibits,
}
