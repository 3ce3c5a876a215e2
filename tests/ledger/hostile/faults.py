"""Faults between any two statements that a store sends to its database: the process ends there, or the database errs."""

import os
import sqlite3
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg


class Faults:
    """Counts statements once `armed`; at the n-th, `how` ("exit", "raise") happens in `phase` ("before", "after")."""

    def __init__(self, number: int, *, how: str, phase: str) -> None:
        self.number, self.how, self.phase = number, how, phase
        self.armed = self.fired = False
        self.count = -1

    def around(self, call: Any, error: Exception) -> Any:
        if not self.armed or self.fired:
            return call()
        self.count += 1
        if self.count != self.number:
            return call()
        self.fired = True
        if self.phase == "before":
            self._strike(error)
        result = call()
        self._strike(error)
        return result

    def _strike(self, error: Exception) -> None:
        if self.how == "exit":
            os._exit(9)
        raise error

    @contextmanager
    def planted(self) -> Any:
        """New SQLite and PostgreSQL connections of this process are under attack."""
        faults = self
        sqlite_error = sqlite3.OperationalError("disk I/O error")
        postgres_error = psycopg.OperationalError("server closed the connection unexpectedly")

        class Connection(sqlite3.Connection):
            def execute(self, *arguments: Any) -> Any:
                return faults.around(lambda: super(Connection, self).execute(*arguments), sqlite_error)

            def commit(self) -> None:
                faults.around(super().commit, sqlite_error)

            def cursor(self, factory: Any = None) -> Any:
                return super().cursor(factory or Cursor)

        class Cursor(sqlite3.Cursor):
            def execute(self, *arguments: Any) -> Any:
                return faults.around(lambda: super(Cursor, self).execute(*arguments), sqlite_error)

        real_connect, real_execute, real_commit = sqlite3.connect, psycopg.Cursor.execute, psycopg.Connection.commit

        def connect(*arguments: Any, **options: Any) -> Any:
            return real_connect(*arguments, **{"factory": Connection, **options})

        def execute(own: Any, *arguments: Any, **options: Any) -> Any:
            return faults.around(lambda: real_execute(own, *arguments, **options), postgres_error)

        def commit(own: Any) -> None:
            faults.around(lambda: real_commit(own), postgres_error)

        with ExitStack() as stack:
            stack.enter_context(patch.object(sqlite3, "connect", connect))
            stack.enter_context(patch.object(psycopg.Cursor, "execute", execute))
            stack.enter_context(patch.object(psycopg.Connection, "commit", commit))
            yield
