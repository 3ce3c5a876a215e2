"""Membership inference: attacks that tell the records on which a model was trained from others."""

from privet.audit.membership.attack import MembershipAttack as MembershipAttack
from privet.audit.membership.lira import lira as lira
from privet.audit.membership.loss import loss_attack as loss_attack
from privet.audit.membership.quantile import quantile_attack as quantile_attack
from privet.audit.membership.rmia import rmia as rmia
from privet.audit.membership.shadows import Shadows as Shadows, shadow_models as shadow_models
from privet.audit.membership.suspects import Suspects as Suspects
