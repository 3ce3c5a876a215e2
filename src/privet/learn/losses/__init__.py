"""Losses of linear models, with the constants that privacy rests on."""

from privet._face import face
from privet.learn.losses.huber import Huber as Huber
from privet.learn.losses.huber_hinge import HuberHinge as HuberHinge
from privet.learn.losses.logistic import Logistic as Logistic
from privet.learn.losses.loss import (
    Loss as Loss,
    LossExample as LossExample,
    register as register,
    registered_losses as registered_losses,
)
from privet.learn.losses.pinball import Pinball as Pinball
from privet.learn.losses.poisson import ClippedPoisson as ClippedPoisson
from privet.learn.losses.softmax import Softmax as Softmax
from privet.learn.losses.squared import Squared as Squared

__all__, __dir__ = face(globals())
