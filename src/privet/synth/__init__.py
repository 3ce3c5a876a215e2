"""Synthetic data: tables drawn from privately measured marginals."""

from privet._face import face, not_in_this_version

__all__, __dir__ = face(globals())
__getattr__ = not_in_this_version(__name__)
