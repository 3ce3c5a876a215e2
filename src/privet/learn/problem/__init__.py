"""Private records and the public facts about them."""

from privet._face import face
from privet.learn.problem.array_records import ArrayRecords as ArrayRecords
from privet.learn.problem.grid_rows import (
    GridRows as GridRows,
    gradient_grid as gradient_grid,
    gradient_reach as gradient_reach,
    gram_matrix as gram_matrix,
    gram_reach as gram_reach,
)
from privet.learn.problem.records import Chunk as Chunk, Records as Records
from privet.learn.problem.table_records import TableRecords as TableRecords
from privet.learn.problem.targets import (
    Classes as Classes,
    Counts as Counts,
    Interval as Interval,
    NoTarget as NoTarget,
    Target as Target,
)
from privet.learn.problem.task import Task as Task

__all__, __dir__ = face(globals())
