"""The command line: thin commands that turn arguments into calls of the rooms below."""

# Importing a command registers it; the order here is the order of the help.
from privet.cli.price import price

from privet.cli.calibrate import calibrate  # isort: skip
from privet.cli.ledger import ledger_app  # isort: skip
from privet.cli.custody import custody_commands  # isort: skip
from privet.cli.audit import audit_app  # isort: skip
from privet.cli.demo import demo  # isort: skip
from privet.cli.base import app, main

__all__ = ["app", "audit_app", "calibrate", "custody_commands", "demo", "ledger_app", "main", "price"]
