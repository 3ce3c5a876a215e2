"""Strategies that look at the data, and pay for it: what is measured depends on a first, protected look."""

from privet._face import face
from privet.workloads.adaptive.adaptive_grid import AdaptiveGrid as AdaptiveGrid
from privet.workloads.adaptive.adaptive_queries import AdaptiveQueries as AdaptiveQueries
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy as AdaptiveStrategy, Task as Task
from privet.workloads.adaptive.automatic import Automatic as Automatic
from privet.workloads.adaptive.buckets import Buckets as Buckets
from privet.workloads.adaptive.dawa import DAWA as DAWA
from privet.workloads.adaptive.fitted import Fitted as Fitted
from privet.workloads.adaptive.low_frequencies import LowFrequencies as LowFrequencies
from privet.workloads.adaptive.mwem import MWEM as MWEM
from privet.workloads.adaptive.noisy_partition import NoisyPartition as NoisyPartition
from privet.workloads.adaptive.tiles import Tiles as Tiles

__all__, __dir__ = face(globals())
