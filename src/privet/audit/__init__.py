"""Audits: lower bounds on epsilon and attacks that try to break a claim.

An audit can only refute. It returns a bound with its confidence, `violated` or `not refuted`, and never a promise.

>>> from privet import audit, privacy
>>> counts = audit.Counts(tp=700, fp=300, n=1000)
>>> audit.curve_test(counts, claim=privacy.PureLoss(0.5)).verdict
'violated'
"""

from privet._face import face
from privet.audit.black_box import MechanismAudit as MechanismAudit, mechanism as mechanism
from privet.audit.certificate import (
    Certificate as Certificate,
    certify as certify,
    new_key as new_key,
    public_key as public_key,
)
from privet.audit.coins import Coins as Coins
from privet.audit.counts import Counts as Counts, Guesses as Guesses, Hits as Hits
from privet.audit.disclosure import (
    Exposure as Exposure,
    Extraction as Extraction,
    Extrapolated as Extrapolated,
    Inversion as Inversion,
    LeastSquares as LeastSquares,
    LinearProgramme as LinearProgramme,
    Ranked as Ranked,
    Reconstruction as Reconstruction,
    Sampled as Sampled,
    exposure as exposure,
    extract as extract,
    invert as invert,
    reconstruct as reconstruct,
    reconstruct_table as reconstruct_table,
)
from privet.audit.exact import ExactCheck as ExactCheck, exact_pair as exact_pair
from privet.audit.membership import (
    MembershipAttack as MembershipAttack,
    Shadows as Shadows,
    Suspects as Suspects,
    lira as lira,
    loss_attack as loss_attack,
    quantile_attack as quantile_attack,
    rmia as rmia,
    shadow_models as shadow_models,
)
from privet.audit.neighbours import (
    Frames as Frames,
    Neighbours as Neighbours,
    Numbers as Numbers,
    Pairs as Pairs,
    Persons as Persons,
    Tables as Tables,
    Vectors as Vectors,
)
from privet.audit.record import Finding as Finding, Replay as Replay, replay as replay
from privet.audit.result import (
    CredibleBound as CredibleBound,
    CurveTest as CurveTest,
    LowerBound as LowerBound,
    Verdict as Verdict,
)
from privet.audit.sample import AtLeast as AtLeast, Sample as Sample
from privet.audit.sensitivity_search import (
    Counterexample as Counterexample,
    find_counterexample as find_counterexample,
)
from privet.audit.statistic import Statistic as Statistic
from privet.audit.statistics import (
    BettingTest as BettingTest,
    Bonferroni as Bonferroni,
    Choice as Choice,
    Curve as Curve,
    Fixed as Fixed,
    Gaussian as Gaussian,
    Point as Point,
    Selected as Selected,
    Selection as Selection,
    Split as Split,
    credible_lower as credible_lower,
    curve_test as curve_test,
    family_lower as family_lower,
    gaussian_lower as gaussian_lower,
    guess as guess,
    known_rate_lower as known_rate_lower,
    known_rate_test as known_rate_test,
    largest_refutable as largest_refutable,
    one_run as one_run,
    one_run_curve as one_run_curve,
    one_run_fdp as one_run_fdp,
    one_run_fdp_lower as one_run_fdp_lower,
    one_run_lower as one_run_lower,
    one_run_p_value as one_run_p_value,
    point_lower as point_lower,
    pooled as pooled,
)
from privet.audit.synthetic import synthetic as synthetic
from privet.audit.synthetic_rates import (
    Beside as Beside,
    SyntheticRates as SyntheticRates,
    exact_synthetic_rates as exact_synthetic_rates,
)
from privet.audit.tables import (
    Diversity as Diversity,
    IdentifyingSets as IdentifyingSets,
    Linkage as Linkage,
    Pseudonyms as Pseudonyms,
    Reidentification as Reidentification,
    exact_identifying_sets as exact_identifying_sets,
    exact_linkage as exact_linkage,
    exact_pseudonyms as exact_pseudonyms,
    exact_reidentification as exact_reidentification,
    spellings as spellings,
)
from privet.audit.training import TrainingAudit as TrainingAudit, training as training
from privet.audit.witness import Witness as Witness

__all__, __dir__ = face(globals())
