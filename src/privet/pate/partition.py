"""Who is in which part: a keyed hash of each person's own id, and of nothing else."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidData, InvalidParameter

_IDS = "ids are whole numbers or texts, one for each row"


@door
@final
@dataclass(frozen=True)
class KeyedPartition:
    """The part of each person, from 0 to `parts` - 1, by a keyed hash of the id: fixed for life, whoever else is there.

    A row that is added or removed changes one part and no other. All rows of a person lie in one part. Parts may be empty.
    The key need not be secret; another key is another partition.

    >>> KeyedPartition(4, b"a public key").assign([17, 18, 17]).tolist()
    [0, 1, 0]
    """

    parts: int
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        count("parts", self.parts, 1)
        if not isinstance(self.key, bytes) or not 1 <= len(self.key) <= 64:
            raise InvalidParameter("key must be 1 to 64 bytes")

    def assign(self, ids: Any) -> Array:
        """The part of each id."""
        held = np.asarray(ids)
        if held.ndim != 1 or (held.size and held.dtype.kind not in "iuUSO"):
            raise InvalidData(_IDS)
        names = held.tolist()
        if not all(isinstance(name, int | str | bytes) for name in names):
            raise InvalidData(_IDS)
        known = {name: self._part(name) for name in set(names)}
        return np.array([known[name] for name in names], dtype=np.int64)

    def _part(self, name: object) -> int:
        # numbers and texts are told apart, and so are texts from bytes: "1" and 1 are two persons
        if not isinstance(name, int | str | bytes) or isinstance(name, bool):
            raise InvalidData(_IDS)
        data = name if isinstance(name, bytes) else str(name).encode("utf-8", "surrogatepass")
        kind = {int: b"int", str: b"text", bytes: b"bytes"}[type(name)]
        digest = hashlib.blake2b(data, key=self.key, person=kind, digest_size=16).digest()
        return int.from_bytes(digest, "big") % self.parts  # 128 bits: no part is larger by more than 2^-100
