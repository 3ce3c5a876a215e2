"""Running counts over a stream: one pass, little memory, one price for all sums."""

from privet._face import face
from privet.workloads.streams.binary_tree_count import BinaryTreeCount as BinaryTreeCount
from privet.workloads.streams.continual_count import ContinualCount as ContinualCount
from privet.workloads.streams.count_stream import CountStream as CountStream
from privet.workloads.streams.square_root_count import SquareRootCount as SquareRootCount
from privet.workloads.streams.tree_count import TreeCount as TreeCount

__all__, __dir__ = face(globals())
