"""Bugs in tables: a reach that is too short, a bound that leaks, persons that are mixed up, an engine's own ideas."""

from tests.mutants.mutant import Table

TABLES = Table("tests/tables/test_reach.py", "tests/tables/test_engines.py -k 'duckdb_on_arrays'", "tests/tables")
plant = TABLES.plant

plant("reach: the root of the rows", "tables:Reach._squares", "return (r // p) * p * p + (r % p) ** 2", "return r")
plant(
    "reach: replace priced as add or remove",
    "tables:_moves",
    'return 2 if unit.relation == "replace" else 1',
    "return 1",
)
plant(
    "reach: old and new sums never meet",
    "tables:_replaced.moved",
    "return (high * x + low * y) ** 2",
    "return (high * x) ** 2",
)
plant(
    "reach: partial groups never meet full ones",
    "tables:Reach._replaced",
    "            if alone:\n",
    "            if False:\n",
)
plant(
    "reach: rows that become many", "tables:Reach.times", "Reach(rows=factor * self.most_rows, repeated=True)", "self"
)
plant(
    "reach: a row as one person of a group",
    "tables:Reach.persons",
    "self._squares if self.repeated else self.most_keys",
    "self.most_keys",
)
plant(
    "union: a source that is read twice",
    "tables:Union.fan_out",
    "met.get(source.name, 0) + each.fan_out",
    "each.fan_out",
)
plant(
    "public join: values beyond their bounds",
    "tables:PublicJoin.__post_init__",
    "        self._read()  # a value",
    "        # a value",
)
plant(
    "public join: keys as they are written",
    "tables:PublicJoin.fan_out",
    "for row in self._read():  # as",
    "for row in self.rows:  # as",
)
plant(
    "emit: one group too many",
    "tables:Emitter._by_person",
    "WHERE place <= {unit.max_groups}",
    "WHERE place <= {unit.max_groups} + 1",
)
plant(
    "emit: ties are all kept",
    "tables:Emitter._rank_fitted",
    "row_number() OVER {window} AS place FROM mixed",
    "rank() OVER (PARTITION BY {person} ORDER BY {order[0]}) AS place FROM mixed",
)
plant(
    "emit: rows before it are forgotten",
    "tables:Emitter._rank_and_cut",
    "{unit.max_rows} - before_it",
    "{unit.max_rows}",
)
plant(
    "emit: sums cut by rows that are not kept", "tables:Emitter._cut", 'n = f"least(n_{alias}, k)"', 'n = f"n_{alias}"'
)
plant(
    "emit: groups that are not listed take places",
    "tables:Emitter._only_listed",
    "if plan.keys is None or not keys or is_everything(plan):",
    "if True:",
    "tests/tables/test_joins.py",
)
plant(
    "emit: one row too many goes into a join",
    "tables:Emitter._joined",
    "WHERE {place} <= {node.most_rows}",
    "WHERE {place} <= {node.most_rows} + 1",
    "tests/tables/test_joins.py",
)
plant(
    "reading: what links is moved to a bound",
    "tables:Reader.canonical",
    "            if linking:\n                return self._inside(number, column)\n",
    "",
)
plant(
    "reading: times beyond their bounds",
    "tables:Reader.canonical",
    "return self._inside(second, column) if linking else self._clamped(second, *column.span)",
    "return second",
    "tests/queries/test_times.py",
)
plant(
    "times: the zone of a moment is dropped",
    "tables:_in_utc",
    "moment = value if offset is None else value - offset",
    "moment = value",
    "tests/queries/test_times.py",
)
plant(
    "reading: NaN above all bounds",
    "tables:Reader._clamped_double",
    'absent = f"WHEN {d.is_nan(x)} THEN NULL "',
    'absent = ""',
)
plant(
    "late: what a filter looks at",
    "tables:only_added_up",
    "others = _looked_at(plan)\n    if others",
    "others = set()\n    if others",
)
plant("late: steps in products", "tables:only_added_up", "if len(term.factors) > 1 for", "if False for")
plant(
    "steps: NaN at an end",
    "tables:Dialect.between_ends",
    'f"WHEN isnan({sql}) THEN NULL WHEN {sql} > {zero}',
    'f"WHEN {sql} > {zero}',
)
plant(
    "frames: bytes are one person",
    "tables:_of_array",
    '"other", np.zeros(len(plain)), missing',
    '"int", np.zeros(len(plain), dtype=np.int64), missing',
    "tests/tables/test_sources.py",
)

_HOSTILE = ("tests/tables/test_hostile_inputs.py",)
plant(
    "frames: a column takes the place of persons", "tables:_PERSON", '_PERSON = "person"', '_PERSON = "c0"', *_HOSTILE
)
plant(
    "frames: columns by their names",
    "tables:_frame_reading",
    'return Reading(name, kinds, person, {each: f"c{place}" for place, each in enumerate(held)})',
    "return Reading(name, kinds, person)",
    *_HOSTILE,
)
plant(
    "same data: paths as they are written",
    "tables:same_data",
    "_files(one) & _files(two)",
    "one == two",
    *_HOSTILE,
)
plant(
    "same data: memory is not looked at",
    "tables:_meet",
    "np.shares_memory(one, two)",
    "False",
    *_HOSTILE,
)
plant(
    "files: persons are made one",
    "tables:file_reading",
    "if not named_by_text:",
    "if True:",
    *_HOSTILE,
)
plant(
    "failing: the engine's words as a context",
    "tables:one_failure.asked",
    "            pass\n        raise InvalidData(FAILED)  # out here, where",
    "            raise InvalidData(FAILED) from None\n        raise InvalidData(FAILED)  # out here, where",
    *_HOSTILE,
)

plant(
    "keys: one beyond the bounds is taken",
    "tables:_are_plain",
    "column.lower <= min(values) and max(values) <= column.upper",
    "column.lower <= min(values)",
    "tests/tables/test_values.py",
)
plant(
    "keys: numbers of any type are whole numbers",
    "tables:_are_plain",
    "return kinds == {int if isinstance(column, Int) else date} and (",
    "return date not in kinds and str not in kinds and (",
    "tests/tables/test_values.py",
)

plant(
    "sums: 32 bits for whatever is added up",
    "tables:Sums._sum",
    "self._most(factors) < _SMALL",
    "True",
    "tests/tables/test_servers.py",
)

_LINES = ("tests/tables/test_csv_lines.py", "tests/tables/test_written_files.py")
plant(
    "csv: a carriage return in a field is a row's end",
    "tables:Lines._one",
    'return Piece("row", data, fields)',
    'return Piece("rows", data)',
    *_LINES,
)
plant(
    "csv: behind an open quote nothing is read",
    "tables:Lines._one",
    'ahead.taken(ahead.held.find(b"\\n", ahead.at) + 1)',
    "ahead.taken(len(ahead.held))",
    *_LINES,
)
plant(
    "csv: lines of a record that is too long are rows",
    "tables:Lines._one",
    "data = ahead.taken(found.end())",
    'data = ahead.taken(ahead.held.find(b"\\n", ahead.at) + 1)',
    *_LINES,
)
plant(
    "csv: the end of a line belongs to nobody",
    "tables:Lines._one",
    "if self.strict and len(data)",
    "if False and len(data)",
    *_LINES,
)
plant(
    "csv: lines of other lengths count",
    "tables:Lines._alike",
    "if len(between) != (self.many - 1) * len(ends):",
    "if False:",
    *_LINES,
)
_EQUAL = ("tests/tables/test_collations.py",)
plant(
    "postgres: citext is a text",
    "tables:postgres.raw_kind",
    'name == "citext" or not by_bytes',
    "not by_bytes",
    *_EQUAL,
)
plant(
    "postgres: collations are not looked at",
    "tables:postgres.raw_kind",
    'name == "citext" or not by_bytes',
    'name == "citext"',
    *_EQUAL,
)
plant(
    "duckdb: collations are not looked at",
    "tables:_is_collated",
    "return bool(found[0][0] != len(_SPELLINGS))",
    "return False",
    *_EQUAL,
)
plant(
    "duckdb: an unfinished result is met after the charge",
    "tables:_refuse_unreadable",
    "data.limit(0).fetchall()",
    "pass",
    "tests/tables/test_relations.py",
)
plant(
    "frames: what a mask hides of Python objects is read",
    "tables:_of_array",
    "held[missing] = None",
    "pass",
    "tests/tables/test_values.py",
)
