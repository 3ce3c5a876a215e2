"""Queries: counts, sums, means, quantiles and group-bys, with a preview of cost and error."""

from privet._face import face
from privet.queries.aggregate import (
    Aggregate as Aggregate,
    AggregateExample as AggregateExample,
    register as register,
    registered_aggregates as registered_aggregates,
    spelt as spelt,
)
from privet.queries.aggregates import (
    count as count,
    count_distinct as count_distinct,
    count_persons as count_persons,
    max as max,
    mean as mean,
    median as median,
    min as min,
    quantile as quantile,
    std as std,
    sum as sum,
    variance as variance,
)
from privet.queries.answer import Answer as Answer
from privet.queries.batch_answers import BatchAnswers as BatchAnswers
from privet.queries.batches import Batch as Batch, batch as batch
from privet.queries.covariance_answers import Covariance as Covariance, CovarianceAnswers as CovarianceAnswers
from privet.queries.covariances import CovarianceQuestion as CovarianceQuestion
from privet.queries.discovered_keys import DiscoveredKeys as DiscoveredKeys
from privet.queries.found_bounds import BoundsFinder as BoundsFinder, FoundBounds as FoundBounds
from privet.queries.group_quantiles import GroupQuantiles as GroupQuantiles
from privet.queries.histogram_answers import (
    Distribution as Distribution,
    HistogramAnswers as HistogramAnswers,
    TopValues as TopValues,
)
from privet.queries.histograms import (
    BoundsQuestion as BoundsQuestion,
    GroupQuantileQuestion as GroupQuantileQuestion,
    HistogramQuestion as HistogramQuestion,
    MarginalQuestion as MarginalQuestion,
    TopQuestion as TopQuestion,
)
from privet.queries.marginal_answers import MarginalAnswers as MarginalAnswers
from privet.queries.person_features import Last as Last, last as last
from privet.queries.query import Preview as Preview, Query as Query
from privet.queries.question import TableAlgorithm as TableAlgorithm, TableQuestion as TableQuestion
from privet.queries.selection import Selection as Selection
from privet.queries.table import Groups as Groups, Table as Table
from privet.queries.table_answers import TableAnswers as TableAnswers

__all__, __dir__ = face(globals())
