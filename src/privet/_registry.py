"""Registries: the members of one kind by name, so that laws, planners, pages and commands need no lists of their own."""

import re
from typing import Generic, TypeVar

from privet.errors import InvalidParameter

Member = TypeVar("Member")


class Registry(Generic[Member]):
    """The classes of one kind by name: used as a class decorator, it adds a member and hands it back as it is.

    A name is the class attribute `name`, or the name of the class in small letters.

    >>> register = Registry("animals")
    >>> @register
    ... class GreyCat: ...
    >>> list(register.members())
    ['grey_cat']
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._members: dict[str, type[Member]] = {}

    def __call__(self, member: type[Member]) -> type[Member]:
        name = self.name_of(member)
        known = self._members.get(name)
        # a module that is loaded again brings the same class once more
        if known is not None and (known.__module__, known.__qualname__) != (member.__module__, member.__qualname__):
            raise InvalidParameter(f"the name {name!r} belongs to {known.__name__} among the {self.what} already")
        self._members[name] = member
        return member

    def name_of(self, member: type[Member]) -> str:
        """The name under which a class is, or would be, known."""
        given = getattr(member, "name", None)
        return (
            given
            if isinstance(given, str) and given
            else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", member.__name__).lower()
        )

    def members(self) -> dict[str, type[Member]]:
        """All members by name, in the order of their names."""
        return dict(sorted(self._members.items()))
