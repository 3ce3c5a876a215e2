"""Tables: schema, bounds, privacy unit, contribution bounding and the engines behind them."""

from privet._face import face
from privet.tables.bounded import (
    Aggregates as Aggregates,
    Bounded as Bounded,
    Cell as Cell,
    Salts as Salts,
    Signed as Signed,
    Term as Term,
    Ticks as Ticks,
)
from privet.tables.coded import Coded as Coded
from privet.tables.coding import Coding as Coding
from privet.tables.columns import (
    Bool as Bool,
    Category as Category,
    Column as Column,
    Date as Date,
    Float as Float,
    Int as Int,
    Text as Text,
    Time as Time,
)
from privet.tables.computed import Clip as Clip, Times as Times
from privet.tables.csv_file import CsvFile as CsvFile
from privet.tables.data import Data as Data, drawn_salts as drawn_salts
from privet.tables.described import Described as Described
from privet.tables.engines import (
    Check as Check,
    ColumnCheck as ColumnCheck,
    PostgresTable as PostgresTable,
    exact_check as exact_check,
)
from privet.tables.expressions import (
    Bin as Bin,
    Both as Both,
    Compare as Compare,
    Condition as Condition,
    Cut as Cut,
    Expression as Expression,
    Holds as Holds,
    If as If,
    Pattern as Pattern,
    Ref as Ref,
)
from privet.tables.features import Feature as Feature
from privet.tables.keys import KeySet as KeySet
from privet.tables.parts import Part as Part
from privet.tables.person import Person as Person, Rows as Rows
from privet.tables.plan import (
    Derive as Derive,
    Linked as Linked,
    Node as Node,
    PerPerson as PerPerson,
    PersonJoin as PersonJoin,
    PublicJoin as PublicJoin,
    Source as Source,
    Union as Union,
    Where as Where,
    in_groups as in_groups,
    in_one_group as in_one_group,
    in_values as in_values,
)
from privet.tables.reach import Reach as Reach
from privet.tables.scan import Scan as Scan
from privet.tables.schema import draft as draft, read_schema as read_schema, write_schema as write_schema
from privet.tables.tally import Tally as Tally

__all__, __dir__ = face(globals())
