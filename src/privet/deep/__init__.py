"""Private deep learning: DP-SGD on PyTorch (`pip install 'privet[torch]'`)."""

from privet._face import face, installed

if installed("torch"):
    from privet.deep.banded import BandedPoisson as BandedPoisson
    from privet.deep.clipped_sum import ClippedSum as ClippedSum, clipped_sum as clipped_sum
    from privet.deep.clipping import (
        AdaptiveQuantile as AdaptiveQuantile,
        Automatic as Automatic,
        Clip as Clip,
        Flat as Flat,
        PerLayer as PerLayer,
        clip_from_dict as clip_from_dict,
    )
    from privet.deep.engines.engine import Engine as Engine
    from privet.deep.engines.make import make_engine as make_engine
    from privet.deep.engines.ranked import dismiss as dismiss, help_out as help_out
    from privet.deep.isolation import check_isolation as check_isolation
    from privet.deep.nets.standardised import StandardisedConv2d as StandardisedConv2d
    from privet.deep.nets.tempered import TemperedSigmoid as TemperedSigmoid, tempered_convnet as tempered_convnet
    from privet.deep.nets.transformer import SmallTransformer as SmallTransformer, next_word_loss as next_word_loss
    from privet.deep.own_loop import Step as Step, Steps as Steps
    from privet.deep.plan import Plan as Plan
    from privet.deep.private_optimizer import private as private
    from privet.deep.recipes.lora import (
        LowRank as LowRank,
        merge_low_rank as merge_low_rank,
        with_low_rank as with_low_rank,
    )
    from privet.deep.recipes.partly import train_biases as train_biases, train_only as train_only
    from privet.deep.recipes.scattering import Scattering as Scattering
    from privet.deep.recipes.views import shifted as shifted, views as views
    from privet.deep.records import Records as Records
    from privet.deep.sampling import (
        BallsInBins as BallsInBins,
        FixedOrder as FixedOrder,
        FixedSize as FixedSize,
        Poisson as Poisson,
        Sampling as Sampling,
        TruncatedPoisson as TruncatedPoisson,
    )
    from privet.deep.step_noise import StepNoise as StepNoise
    from privet.deep.trainer import Progress as Progress, Trained as Trained, Trainer as Trainer
    from privet.deep.training import Training as Training
    from privet.deep.tree import TreeOrder as TreeOrder

__all__, __dir__ = face(globals(), extra="torch")
