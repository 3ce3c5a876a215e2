"""The command line: thin commands that turn arguments into calls of the rooms below."""

from privet._face import face
from privet.cli import ledger as _ledger  # noqa: F401
from privet.cli.app import app as app, main as main
from privet.cli.audit import audit_app as audit_app
from privet.cli.calibrate import calibrate as calibrate
from privet.cli.custody import custody_commands as custody_commands
from privet.cli.demo import demo as demo
from privet.cli.fit import fit as fit
from privet.cli.ledgers import ledger_app as ledger_app
from privet.cli.local import local_app as local_app
from privet.cli.pate import pate_app as pate_app

# Importing a command registers it; the order here is the order of the help.
from privet.cli.price import price as price
from privet.cli.query import query as query, table_app as table_app
from privet.cli.ranges import ranges_app as ranges_app
from privet.cli.synth import synth as synth
from privet.cli.train import train as train

__all__, __dir__ = face(globals())
