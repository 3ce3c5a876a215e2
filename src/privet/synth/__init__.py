"""Synthetic data: tables drawn from privately measured marginals."""

from privet._face import face
from privet.synth.graph import GraphModel as GraphModel, Measurement as Measurement

__all__, __dir__ = face(globals())
