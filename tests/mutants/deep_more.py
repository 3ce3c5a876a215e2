"""More bugs of private training: loops of one's own, what a run is known by, pieces of batches, and checks of the start."""

from tests.mutants.mutant import Table

SAMPLING = "tests/deep/test_sampling.py"
LOOP = "tests/deep/test_own_loop.py"
TRAINER = "tests/deep/test_trainer.py"
RUNS = "tests/deep/test_runs.py"
BAD = "tests/deep/test_bad_input.py"
COINS = "tests/deep/test_coins_of_models.py"
ENGINES = "tests/deep/test_engines.py"
CLIPPING = "tests/deep/test_clipping.py"
AUTOCAST = "tests/deep/test_autocast.py"
BOOKKEEPING = "tests/deep/test_bookkeeping.py"
MARGIN = "tests/deep/test_margin.py"
RULES = "tests/deep/test_rules.py"
ISOLATION = "tests/deep/test_isolation.py"
DEEP_MORE = Table("tests/deep")
plant = DEEP_MORE.plant

# --- prices and draws ---

plant(
    "a truncated sample is priced at the rate that its cap leaves",
    "deep:TruncatedPoisson._priced",
    "TruncatedPoissonSampled(null, self.q,",
    "TruncatedPoissonSampled(null, min(self.q, self.batch / self.n),",
    SAMPLING,
)
plant(
    "a sample of fixed size is priced as one of a record more",
    "deep:FixedSize._priced",
    "self.m, self.n)",
    "self.m, self.n + 1)",
    SAMPLING,
)
plant(
    "the same of too many are left out in every step of a key",
    "deep:TruncatedPoisson.drawn",
    "stream.source(_SAMPLES, step)",
    "stream.source(_SAMPLES, 0)",
    SAMPLING,
)
plant(
    "the seed of a model is the coin of the first record",
    "deep:sampling._MODEL",
    "_MODEL = 16",
    "_MODEL = 1",
    SAMPLING,
)
plant(
    "every step of a key has the same dropout",
    "deep:coins_of_model",
    "stream.words(_MODEL, step, 1)",
    "stream.words(_MODEL, 0, 1)",
    COINS,
    SAMPLING,
)
plant(
    "more records than a cap allows are trained with",
    "deep:TruncatedPoisson.unfit",
    "size <= self.n",
    "size <= 2 * self.n",
    BAD,
)

# --- loops of one's own ---

plant(
    "a loop does not ask how many records its price speaks of",
    "deep:Steps._check_size",
    "if problem is not None:",
    "if False:",
    LOOP,
)
plant(
    "a loop divides by nobody",
    "deep:Steps._check_size",
    'above("divisor", self.divisor, 0.0)',
    "pass",
    LOOP,
)
plant(
    "a loop that runs after its `with ledger:` is paid by nobody",
    "deep:Steps.__init__",
    "self._ledger, self._asked = payer,",
    "self._ledger, self._asked = ledger,",
    LOOP,
)
plant(
    "somebody pays for the noise of a seed",
    "deep:Steps._check_source",
    "if source is not None and",
    "if False and",
    LOOP,
)
plant(
    "a run whose ledger is no longer in force takes seeds",
    "deep:Steps._check_source",
    "self._run is not None or ",
    "",
    LOOP,
)
plant(
    "an optimizer follows what lies on a part that was frozen",
    "deep:ProtectedGradients.noisy",
    "self.model.zero_grad(set_to_none=True)",
    "pass",
    LOOP,
)
plant(
    "a part that was frozen between two steps breaks off a step that is paid for",
    "deep:ProtectedGradients.noisy",
    "if self._engine is None or self._engine.shapes != {name: each.shape for name, each in point.items()}:",
    "if self._engine is None:",
    LOOP,
)
plant(
    "a child of a fork goes on with the steps of its parent",
    "deep:Steps._enter",
    "if os.getpid() != self._pid:",
    "if False:",
    LOOP,
)
plant(
    "a block has a step more than it was paid for: one of the block before",
    "deep:Steps._enter",
    "if block < self._begun - 1:",
    "if False:",
    LOOP,
)
plant(
    "two processes share the blocks of a run",
    "deep:Steps._begin",
    "self._slice.index != self._begun - 1",
    "self._slice.index < self._begun - 1",
    LOOP,
)
plant(
    "every step of a loop has the same records",
    "deep:SampledStep._run",
    "self.sampling.drawn(size, self.streams[0], self.number)",
    "self.sampling.drawn(size, self.streams[0], 0)",
    LOOP,
)
plant(
    "a loop divides by the exact number of records",
    "deep:Steps._begin",
    "self.plan.sampling.expected(int(counted))",
    "self.plan.sampling.expected(self.records.exact_count())",
    LOOP,
)
plant(
    "records are counted anew in every block, and paid for in the first",
    "deep:Training._block",
    '{**state, "divisor": divisor, "step": done',
    '{**state, "step": done',
    TRAINER,
)

# --- what a run is known by ---

plant(
    "starts with other optimizers have one digest",
    "deep:Start._digested",
    "sorted(self._trained), groups, called]",
    "sorted(self._trained), called]",
    RUNS,
)
plant(
    "starts with other losses have one digest",
    "deep:Start._digested",
    "sorted(self._trained), groups, called]",
    "sorted(self._trained), groups]",
    RUNS,
)
plant(
    "starts with other frozen parts have one digest",
    "deep:Start._digested",
    "sorted(self._trained), groups, called]",
    "groups, called]",
    RUNS,
)
plant(
    "the request tells how many records there are",
    "deep:Records.public_question",
    '["records", *(',
    '["records", str(self._size), *(',
    RUNS,
)
plant(
    "records of another kind of tensor are added up",
    "deep:Records._one",
    "return made if list(map(type, leaves(made))) == list(map(type, leaves(self._form))) else None",
    "return made",
    TRAINER,
)

plant(
    "a checkpoint is written over the one before",
    "deep:Checkpoint.save",
    "with draft.open",
    "draft = self.path\n        with draft.open",
    RUNS,
)

# --- masks ---

plant(
    "a clipped sum takes no notice of its mask",
    "deep:ClippedSums.__call__",
    "inputs, targets, mask)\n        return",
    "inputs, targets, torch.ones_like(mask))\n        return",
    CLIPPING,
)
plant(
    "one by one, masked records count",
    "deep:engines.engine.Engine._record_by_record",
    "rows(targets, one), mask[one])",
    "rows(targets, one), torch.ones_like(mask[one]))",
    ENGINES,
)
plant(
    "every piece of a batch has the mask of the first",
    "deep:Bookkeeping._sums",
    "rows(targets, part)), mask[part])",
    "rows(targets, part)), mask[: part.stop - part.start])",
    ENGINES,
)
plant(
    "every piece of a vectorised batch has the mask of the first",
    "deep:Vmapped._sums",
    "mask[part])",
    "mask[: part.stop - part.start])",
    ENGINES,
)

# --- norms and checks of the start ---

plant(
    "an autocast of CUDA is not seen",
    "deep:refuse_autocast",
    'for each in ("cpu", "cuda")',
    'for each in ("cpu",)',
    AUTOCAST,
)
plant(
    "the start-up check does not compare sums",
    "deep:compare",
    "agree = agree and bool(sums.sub_(each).abs_().max() <= near * exact.max())",
    "sums.sub_(each)",
    BOOKKEEPING,
)
plant(
    "norms that are too small pass the start-up check",
    "deep:compare",
    "bool((found >= exact * (1.0 - near)).all()) and ",
    "",
    BOOKKEEPING,
)
plant(
    "what adding up adds is not paid for",
    "deep:bookkeeping.norms",
    "(square.sqrt() + slack.sqrt())",
    "square.sqrt()",
    MARGIN,
)
plant(
    "what adding up words adds is not paid for",
    "deep:EmbeddingGhost.__init__",
    "self.slack = (compounded(count + 4, unit) * self.reach).square()",
    "self.slack = torch.zeros_like(self.reach)",
    MARGIN,
)
plant(
    "what adding up words of a table that is a head too adds is not paid for",
    "deep:TiedGhost.__init__",
    "(embedding.slack.sqrt() + linear.slack.sqrt()).square()",
    "linear.slack",
    MARGIN,
)
plant(
    "norms of written-out shares are rounded to the nearest",
    "deep:Written.__init__",
    "size.square() * (1.0 + (flat.shape[1] + 6) * 2.0**-52)",
    "size.square()",
    MARGIN,
)
plant(
    "lengths of single positions are rounded to the nearest",
    "deep:LinearGhost.__init__",
    ".sqrt() * (1 + compounded(each.shape[2] + 4 + blocks, unit))",
    ".sqrt()",
    MARGIN,
)
plant(
    "norms of written-out gradients are rounded to the nearest",
    "deep:written_out.norms",
    " * (1.0 + (count + 8) * 2.0**-52)",
    "",
    MARGIN,
)
plant(
    "all records of a batch have one mask",
    "deep:Vmapped.gradients",
    'randomness="different"',
    'randomness="same"',
    COINS,
)
plant(
    "all records of a batch that is passed apart have one mask",
    "deep:Bookkeeping._apart",
    'randomness="different"',
    'randomness="same"',
    COINS,
)
plant(
    "a padding that is counted from behind is trained",
    "deep:words",
    "(padding + rows if padding < 0 else padding)",
    "padding",
    RULES,
)
plant(
    "a pass may write into parameters",
    "deep:isolation._state",
    "[*model.named_buffers(), *model.named_parameters()]",
    "[*model.named_buffers()]",
    ISOLATION,
)
plant(
    "made-up numbers are not small",
    "deep:isolation._SCALES",
    "(1e-3, 1e3)",
    "(1e3,)",
    ISOLATION,
)
plant(
    "the words of a larger vocabulary are not tried",
    "deep:_vocabularies",
    "return sorted(each for each in found if each > 2)",
    "return sorted(each for each in found if each > 2)[:1]",
    ISOLATION,
)
plant(
    "bags of embeddings may mix records",
    "deep:_check_kind",
    "if isinstance(module, nn.Embedding | nn.EmbeddingBag):",
    "if isinstance(module, nn.Embedding):",
    ISOLATION,
)
plant(
    "helpers draw by the seed of a script",
    "deep:help_out",
    "with own_stream(int(uniform_int(bound=2**63))):",
    "if True:",
    "tests/deep/test_ranks.py",
)

# --- the command line ---

plant(
    "another version of the data is trained with under an old name",
    "cli:train.train",
    "key=key, about=about,",
    "key=key, about=None,",
    "tests/cli/test_train.py",
)
plant(
    "an error quotes a file of data",
    "cli:train._arrays",
    "except Exception:  # what it says may quote the file\n        pass",
    "except Exception as problem:\n        raise InvalidData(f'inputs and targets: {problem}') from None",
    "tests/cli/test_train.py",
)
plant(
    "a file of data runs its code",
    "cli:train._arrays",
    "allow_pickle=False",
    "allow_pickle=True",
    "tests/cli/test_train.py",
)
