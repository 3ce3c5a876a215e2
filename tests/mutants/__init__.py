"""Privacy bugs planted in the source, one at a time: each must turn a test red. `make mutate` runs them all."""

from tests.mutants.accounting import ACCOUNTING
from tests.mutants.adaptive import ADAPTIVE
from tests.mutants.attacks import ATTACKS
from tests.mutants.attacks_disclosure import DISCLOSURE
from tests.mutants.audit import AUDIT
from tests.mutants.deep import DEEP
from tests.mutants.deep_engines import DEEP_ENGINES
from tests.mutants.deep_more import DEEP_MORE
from tests.mutants.deep_noise import DEEP_NOISE
from tests.mutants.learn import LEARN
from tests.mutants.learn_more import LEARN_MORE
from tests.mutants.ledger import LEDGER
from tests.mutants.ledger_chain import LEDGER_CHAIN
from tests.mutants.local import LOCAL
from tests.mutants.local_numbers import LOCAL_NUMBERS
from tests.mutants.mechanisms import MECHANISMS
from tests.mutants.noise import NOISE
from tests.mutants.pate import PATE
from tests.mutants.pate_gans import PATE_GANS
from tests.mutants.payment import PAYMENT
from tests.mutants.privacy import PRIVACY
from tests.mutants.queries import QUERIES
from tests.mutants.synth import SYNTH
from tests.mutants.tables import TABLES
from tests.mutants.workloads import WORKLOADS

ROOMS = (
    ACCOUNTING,
    ADAPTIVE,
    ATTACKS,
    AUDIT,
    DEEP,
    DEEP_ENGINES,
    DEEP_MORE,
    DEEP_NOISE,
    DISCLOSURE,
    LEARN,
    LEARN_MORE,
    LEDGER,
    LEDGER_CHAIN,
    LOCAL,
    LOCAL_NUMBERS,
    MECHANISMS,
    NOISE,
    PATE,
    PATE_GANS,
    PAYMENT,
    PRIVACY,
    QUERIES,
    SYNTH,
    TABLES,
    WORKLOADS,
)
MUTANTS = tuple(mutant for room in ROOMS for mutant in room.mutants)
