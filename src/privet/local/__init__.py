"""Local privacy: clients that randomise, a server that estimates.

Each person randomises before anything leaves the device; a protocol is a mechanism on one person's value, and says what a
server makes of many reports.

>>> from privet import local
>>> protocol = local.KRR(k=4, epsilon=2.0)
>>> state = protocol.new_state().add(protocol.privatize([0, 1, 1, 3]))
>>> state.n, protocol.estimate(state).raw.shape
(4, (4,))
"""

from privet._face import face
from privet.local.attributes import AllQuestions as AllQuestions, OneQuestion as OneQuestion
from privet.local.channels import delta_of as delta_of, epsilon_of as epsilon_of
from privet.local.consistency import EM as EM, Consistency as Consistency, NormSub as NormSub
from privet.local.counting import (
    counting_sql as counting_sql,
    engine_columns as engine_columns,
    state_of_rows as state_of_rows,
)
from privet.local.duchi import Duchi as Duchi
from privet.local.families.frequency import FrequencyProtocol as FrequencyProtocol
from privet.local.families.number import NumberProtocol as NumberProtocol
from privet.local.hadamard import HadamardResponse as HadamardResponse
from privet.local.hashing import FLH as FLH, OLH as OLH
from privet.local.heavy_hitters import PrefixSearch as PrefixSearch
from privet.local.hybrid import Hybrid as Hybrid
from privet.local.krr import KRR as KRR
from privet.local.memo import Memo as Memo
from privet.local.piecewise import Piecewise as Piecewise
from privet.local.planning import Offer as Offer, best as best, offers as offers, required_n as required_n
from privet.local.protocol import Protocol as Protocol, from_json as from_json
from privet.local.rappor import RAPPOR as RAPPOR
from privet.local.sketch import CountMeanSketch as CountMeanSketch, HadamardSketch as HadamardSketch
from privet.local.state import State as State
from privet.local.subset import SubsetSelection as SubsetSelection
from privet.local.unary import UnaryEncoding as UnaryEncoding
from privet.local.warner import Warner as Warner
from privet.local.wire import (
    header_of as header_of,
    read_packets as read_packets,
    to_arrow as to_arrow,
    to_packets as to_packets,
    write_parquet as write_parquet,
)

__all__, __dir__ = face(globals())
