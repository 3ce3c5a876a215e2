"""Workloads: range and linear queries answered together by a strategy."""

from privet._face import face
from privet.workloads import (
    adaptive as adaptive,
    inference as inference,
    strategies as strategies,
    streams as streams,
)
from privet.workloads.adaptive import (
    DAWA as DAWA,
    MWEM as MWEM,
    AdaptiveGrid as AdaptiveGrid,
    AdaptiveQueries as AdaptiveQueries,
    Automatic as Automatic,
    Buckets as Buckets,
    Fitted as Fitted,
    LowFrequencies as LowFrequencies,
    NoisyPartition as NoisyPartition,
    Tiles as Tiles,
)
from privet.workloads.all_ranges import AllRanges as AllRanges
from privet.workloads.answers import Answers as Answers
from privet.workloads.bucketed import Bucketed as Bucketed
from privet.workloads.design import NoiseNorm as NoiseNorm
from privet.workloads.estimate import Estimate as Estimate, RangeAnswers as RangeAnswers
from privet.workloads.linear_queries import LinearQueries as LinearQueries
from privet.workloads.marginals import Marginals as Marginals
from privet.workloads.measured_cells import MeasuredCells as MeasuredCells
from privet.workloads.plan import Plan as Plan
from privet.workloads.points import Points as Points
from privet.workloads.prefix import Prefix as Prefix
from privet.workloads.product import Product as Product
from privet.workloads.range_queries import RangeQueries as RangeQueries
from privet.workloads.ranges import Ranges as Ranges
from privet.workloads.rows import Rows as Rows
from privet.workloads.stacked import Stacked as Stacked
from privet.workloads.strategies import (
    Cells as Cells,
    EveryQuery as EveryQuery,
    Fourier as Fourier,
    Hierarchical as Hierarchical,
    Kronecker as Kronecker,
    Optimised as Optimised,
    PIdentity as PIdentity,
    Quadtree as Quadtree,
    ResidualTables as ResidualTables,
    SquareRoot as SquareRoot,
    Wavelet as Wavelet,
)
from privet.workloads.strategy import Strategy as Strategy, registered_strategies as registered_strategies
from privet.workloads.streams import (
    BinaryTreeCount as BinaryTreeCount,
    ContinualCount as ContinualCount,
    CountStream as CountStream,
    SquareRootCount as SquareRootCount,
    TreeCount as TreeCount,
)
from privet.workloads.weighted import Weighted as Weighted
from privet.workloads.workload import Workload as Workload

__all__, __dir__ = face(globals(), "adaptive", "inference", "strategies", "streams")
