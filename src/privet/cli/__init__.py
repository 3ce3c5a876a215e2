"""The command line: thin commands that turn arguments into calls of the rooms below."""

from privet.cli.app import app, main

__all__ = ["app", "main"]
