"""`privet audit`: a referee for mechanisms, for your own code, and for certificates of others."""

from privet.cli.audit.attacks import attack_model as attack_model, exposed as exposed, table_risk as table_risk
from privet.cli.audit.files import exact as exact, key as key, one_run as one_run, verify as verify
from privet.cli.audit.library import mechanism as mechanism, zoo as zoo
from privet.cli.audit.own import function as function, replay as replay
from privet.cli.audit.shared import audit_app as audit_app
from privet.cli.audit.synthetic import synthetic_rates as synthetic_rates
