"""What every command is built from: the application, its shared options, losses from options, and output."""

from privet.cli.base.app import app, main
from privet.cli.base.output import check_plot, print_json, show_quote, write_plot
from privet.cli.base.release import Kind, Release, accountant_named, kind_named

__all__ = [
    "Kind",
    "Release",
    "accountant_named",
    "app",
    "check_plot",
    "kind_named",
    "main",
    "print_json",
    "show_quote",
    "write_plot",
]
