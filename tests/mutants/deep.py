"""Bugs of private training: the classics of other libraries, and those that are easily made here."""

from tests.mutants.mutant import Table

SAMPLING = "tests/deep/test_sampling.py"
PLAN = "tests/deep/test_plan.py"
TRAINER = "tests/deep/test_trainer.py"
RUNS = "tests/deep/test_runs.py"
LOOP = "tests/deep/test_own_loop.py"
PITFALLS = "tests/deep/test_pitfalls.py"
LECTURES = "tests/deep/test_lectures.py"
BAD = "tests/deep/test_bad_input.py"
CAPTURED = "tests/deep/test_captured_step.py"
QUANTILE = "tests/deep/test_adaptive_quantile.py"
DEEP = Table(PITFALLS, TRAINER, LECTURES)
plant = DEEP.plant

plant(
    "the divisor is the realised size of a batch",
    "deep:batches.exact_sum",
    "assert total is not None",
    "total = total / max(1, len(ids))",
    TRAINER,
    LECTURES,
)
plant(
    "records beyond the first piece are left out",
    "deep:batches.exact_sum",
    "total = flat if total is None else total.add_(flat)",
    "total = flat",
    TRAINER,
)
plant(
    "a record that fills up a piece counts",
    "deep:Records.exact_batch",
    "torch.cat([counts, torch.zeros(missing, dtype=torch.bool)])",
    "torch.cat([counts, torch.ones(missing, dtype=torch.bool)])",
    TRAINER,
)
plant(
    "the noise is that of half the multiplier",
    "deep:Plan.step_noise",
    "noise_multiplier=self.noise_multiplier",
    "noise_multiplier=self.noise_multiplier / 2.0",
    PITFALLS,
)
plant(
    "2C for C: the noise declares the replace figure under add/remove",
    "deep:Plan.step_noise",
    "unit=Unit(self.unit.relation)",
    'unit=Unit("replace")',
    PITFALLS,
)
plant(
    "votes are not counted in the length of a record",
    "deep:Plan.step_noise",
    "AdaptiveQuantile.LENGTH if follows",
    "1.0 if follows",
    QUANTILE,
)
plant(
    "a clip follows votes that have no noise",
    "deep:stepping.OneByOne.exact_value",
    "return value if self._mixing is None",
    "self.clip = self.clip and self._plan.clip.read(value, self.clip, self._divisor)[1]\n"
    "        return value if self._mixing is None",
    QUANTILE,
)
plant(
    "records vote a second time where a pass has failed",
    "deep:engines.engine.Engine._unheard",
    "del self._votes[self._heard :]",
    "pass",
    QUANTILE,
)
plant(
    "a vote turns with the last digit of a norm",
    "deep:engines.engine.Engine._factors",
    "short.clamp(-0.5, 0.5)",
    "torch.where(short >= 0.0, 0.5, -0.5)",
    QUANTILE,
)
plant(
    "a record that fails moves the others to batches of their own",
    "deep:engines.engine.Engine._record_by_record",
    "return self._sums(parameters, left[0], left[1], mask & good)",
    "raise ValueError",
    QUANTILE,
)
plant(
    "a strict plan adds up in floats",
    "deep:Plan.engine",
    "if self.strict:",
    "if False:",
    PLAN,
    TRAINER,
)
plant(
    "C for 2C: a replaced record is priced as a removed one",
    "deep:_exchange",
    'noise_multiplier / reach(Unit("replace"))',
    "noise_multiplier",
    SAMPLING,
)
plant(
    "an epoch in fixed order is priced as a Poisson sample",
    "deep:FixedOrder._priced",
    "else one_step(noise_multiplier, unit)",
    "else PoissonSampled(one_step(noise_multiplier, unit), self.batch / self.n)",
    SAMPLING,
)
plant(
    "more releases than steps are amplified all the same",
    "deep:Sampling.folded",
    "alike = len(parts) == self.round_steps and all(each == parts[0] for each in parts)",
    "alike = all(each == parts[0] for each in parts)",
    SAMPLING,
    PITFALLS,
)
plant(
    "everybody takes part in a sampled step",
    "deep:Poisson.draw",
    "noise.poisson_subset(size, q=self.q, source=source)",
    "noise.poisson_subset(size, q=1.0, source=source)",
    SAMPLING,
    PITFALLS,
)
plant(
    "everybody takes part in a sampled step of a key",
    "deep:Poisson.drawn",
    "stream.coins(step, size, q=self.q)",
    "stream.coins(step, size, q=1.0)",
    SAMPLING,
)
plant(
    "every step of a key has the same records",
    "deep:Poisson.drawn",
    "stream.coins(step, size, q=self.q)",
    "stream.coins(0, size, q=self.q)",
    SAMPLING,
)
plant(
    "the key is reused after a resume",
    "deep:Training._block",
    'stream = self._coins("key", KeyedStream.fresh, source)',
    "stream = KeyedStream(bytes(32))",
    RUNS,
)
plant(
    "an overfull batch keeps its first records",
    "deep:TruncatedPoisson._cut",
    "drawn[noise.fixed_subset(len(drawn), m=self.batch, source=source)]",
    "drawn[: self.batch]",
    SAMPLING,
)
plant(
    "the noisy count is free",
    "deep:Plan.blocks",
    "if self.count is not None:",
    "if False:",
    PLAN,
    TRAINER,
)
plant(
    "a noise below the promise is accepted",
    "deep:Plan.__init__",
    "self.price().upper > self.epsilon",
    "self.price().upper > 2.0 * self.epsilon",
    PLAN,
)
plant(
    "a step can be used twice",
    "deep:Steps._take",
    "self._used.add(number)",
    "pass",
    LOOP,
)
plant(
    "after a refused payment the next step is free",
    "deep:Steps._enter",
    "self._broken = True",
    "pass",
    LOOP,
)
plant(
    "blocks that are run again are free",
    "deep:Steps._start",
    "if behind:",
    "if False:",
    LOOP,
)
plant(
    "every run goes on where the last one ended",
    "deep:Start.__init__",
    "copy.deepcopy((model, listed))",
    "(model, listed)",
    TRAINER,
)
plant(
    "the state of optimizers is lost at the end of a block",
    "deep:Start.live",
    "for place, each in kept.items()",
    "for place, each in {}.items()",
    TRAINER,
)
plant(
    "two starts have one digest",
    "deep:Start._digested",
    "told.update(np.ascontiguousarray(array).tobytes())",
    "told.update(b'')",
    RUNS,
)
plant(
    "coins are kept in a state: a restored block has the noise of the one before",
    "deep:Training._block",
    "noisy = added.release(value, source=source).value",
    "noisy = added.release(value, source=__import__('privet').noise.Seeded(done)).value",
    RUNS,
)
plant(
    "a checkpoint of another run is taken",
    "deep:Checkpoint.load",
    "if run.get(name) != value:",
    "if False:",
    RUNS,
)
plant(
    "an unreadable record ends the training",
    "deep:Records._one",
    "except Exception:",
    "except ZeroDivisionError:",
    TRAINER,
)
plant(
    "gradients stay on the model",
    "deep:start.descend",
    "each.grad = None",
    "pass",
    LOOP,
)
plant(
    "a closure is called",
    "deep:refuse_closures",
    "if closure is not None and closure.default is inspect.Parameter.empty:",
    "if False:",
    LOOP,
    LECTURES,
)
plant(
    "the key of a step is not handed to the device: every step has the same noise",
    "deep:CapturedStep.protected",
    "self.noise.begin(stream, 0)",
    "pass",
    CAPTURED,
)
plant(
    "correlated sums stay on their device, unmixed",
    "deep:stepping._noise_there",
    "plan.correlated or ",
    "",
    CAPTURED,
)
plant(
    "sums with votes stay on their device, without them",
    "deep:stepping._noise_there",
    " or isinstance(plan.clip, AdaptiveQuantile)",
    "",
    CAPTURED,
)
plant(
    "two trainings at once share a recorded step, and its memory",
    "deep:Workshop.opened",
    "step = idle.pop()",
    "step = idle[-1]",
    CAPTURED,
)
plant(
    "the divisor is the exact number of records",
    "deep:Training._block",
    "counted = self.plan.count.release(size, source=source).value",
    "self.plan.count.release(size, source=source); counted = size",
    "tests/laws/test_mechanisms.py -k 'deep_training and replay'",
)
