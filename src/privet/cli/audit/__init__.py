"""`privet audit`: a referee for mechanisms, for your own code, and for certificates of others."""

from privet.cli.audit.library import mechanism, zoo
from privet.cli.audit.shared import audit_app

from privet.cli.audit.own import function, replay  # isort: skip
from privet.cli.audit.files import exact, key, one_run, verify  # isort: skip

__all__ = ["audit_app", "exact", "function", "key", "mechanism", "one_run", "replay", "verify", "zoo"]
