"""Bugs of engines and rules: those that make a record longer than its clip, or carry one into another."""

from tests.mutants.mutant import Table

ENGINES = "tests/deep/test_engines.py"
RULES = "tests/deep/test_rules.py"
MARGIN = "tests/deep/test_margin.py"
BOOKKEEPING = "tests/deep/test_bookkeeping.py"
ISOLATION = "tests/deep/test_isolation.py"
CLIPPING = "tests/deep/test_clipping.py"
COMPILED = "tests/deep/test_compiled.py"
RECIPES = "tests/deep/test_recipes.py"
RANKS = "tests/deep/test_ranks.py"
RECORDED = "tests/deep/test_recorded_fits.py"
LATE = "tests/deep/test_late_noise.py"
DEEP_ENGINES = Table(RULES, ENGINES, MARGIN, BOOKKEEPING, ISOLATION)
plant = DEEP_ENGINES.plant

plant(
    "inputs and gradients are taken in bfloat16",
    "deep:widened",
    "return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.to(torch.float32)",
    "return tensor.to(torch.bfloat16).to(tensor.dtype if tensor.dtype == torch.float64 else torch.float32)",
    RULES,
)
plant(
    "Grams come back in bfloat16",
    "deep:LinearGhost.__init__",
    "found = inner.mul_(outer)",
    "found = inner.bfloat16().to(a.dtype).mul_(outer)",
    RULES,
    MARGIN,
)
plant(
    "an input that was written over is used",
    "deep:Bookkeeping._batched",
    "use.given._version != version",
    "use.given._version < version",
    BOOKKEEPING,
)
plant(
    "a weight that is used again is measured by its last use",
    "deep:weight_term",
    "kinds = {use.kind for use in uses}",
    "kinds, uses = {use.kind for use in uses}, uses[-1:]",
    RULES,
)
plant(
    "padded words take part in the cross term",
    "deep:EmbeddingGhost.__init__",
    "self.back = back = torch.where(real[:, :, None], back, 0.0)",
    "self.back = back",
    RULES,
)
plant(
    "the cross term of tied weights counts once",
    "deep:TiedGhost.__init__",
    "2.0 * (cross + margin)",
    "1.0 * (cross + margin)",
    RULES,
)
plant(
    "padded words are trained",
    "deep:words",
    "if padding is not None:",
    "if padding is not None and padding > rows:",
    RULES,
)
plant(
    "the sum is clipped, not the records",
    "deep:Vmapped._sums",
    "factors, counts = self._factors(self._sizes(gradients), mask[part])",
    "factors, counts = self._factors([s.mean().expand(len(s)) for s in self._sizes(gradients)], mask[part])",
    ENGINES,
)
plant(
    "a record that is not finite is only multiplied by zero",
    "deep:kept",
    "bool(counts.all())",
    "bool(counts.any())",
    RULES,
    ENGINES,
)
plant(
    "written-out records that are not finite are only multiplied by zero",
    "deep:clipped",
    "whole = bool(counts.all())",
    "whole = True",
    ENGINES,
)
plant(
    "Grams have no margin",
    "deep:LinearGhost.__init__",
    "self.square = found + margin",
    "self.square = found",
    MARGIN,
)
plant(
    "numbers whose squares vanish are not measured",
    "deep:floor",
    "return kind.tiny / (kind.eps / 2)",
    "return 0.0",
    MARGIN,
)
plant(
    "masked records count",
    "deep:Engine._factors",
    "counts = torch.isfinite(torch.stack(list(norms))).all(0) & mask",
    "counts = torch.isfinite(torch.stack(list(norms))).all(0)",
    ENGINES,
    RULES,
)
plant(
    "uses outside of layers are skipped",
    "deep:Bookkeeping._batched",
    "if outside:",
    "if len(outside) > 99:",
    RULES,
    BOOKKEEPING,
)
plant(
    "a clipped gradient is rounded to the nearest step of its grid",
    "deep:Microbatch._scaled",
    "/ self.grid).trunc()",
    "/ self.grid).ceil()",
    ENGINES,
)
plant(
    "the start-up check is left out",
    "deep:compare",
    "if not agree:",
    "if agree is None:",
    BOOKKEEPING,
)
plant(
    "TF32 stays on",
    "deep:exact_products",
    'torch.set_float32_matmul_precision("highest")',
    "torch.set_float32_matmul_precision(before)",
    MARGIN,
)
plant(
    "records may meet",
    "deep:_check_batch",
    "if not _same(before[1:], after[1:]):",
    "if not _same(before[1:], again[1:]):",
    ISOLATION,
)
plant(
    "automatic clipping divides by the norm without gamma and with a larger clip",
    "deep:Automatic.factors",
    "return self.clip_norm / (norms + self.gamma)",
    "return self.clip_norm / norms.clamp(min=self.gamma)",
    ENGINES,
)
plant(
    "every layer is clipped at the norm of all",
    "deep:PerLayer.share",
    "self.clip_norm if groups == 1 else down(Fraction(self.clip_norm) / Fraction(root_up(groups)))",
    "self.clip_norm",
    CLIPPING,
)
plant(
    "a record that is finite in one layer counts there",
    "deep:Engine._factors",
    "torch.isfinite(torch.stack(list(norms))).all(0)",
    "torch.isfinite(torch.stack(list(norms))).any(0)",
    CLIPPING,
)
plant(
    "a program is made for a batch in which all count",
    "deep:kept",
    'tensor.device.type == "cpu" and get_proxy_mode() is None and bool(counts.all())',
    'tensor.device.type == "cpu" and (get_proxy_mode() is not None or bool(counts.all()))',
    COMPILED,
)
plant(
    "the mask is shared by ranks",
    "deep:_shared_out",
    "parts.append(filled[rank * share : (rank + 1) * share].contiguous())",
    "parts.append(filled[:share].contiguous())",
    RANKS,
)
plant(
    "views are added up",
    "deep:views",
    "return torch.stack(found).mean(0)",
    "return torch.stack(found).sum(0)",
    RECIPES,
)
plant(
    "norms are computed in the precision of an autocast around the step",
    "deep:engines.engine.Engine.__call__",
    "refuse_autocast()",
    "pass",
    "tests/deep/test_autocast.py",
)
plant(
    "a captured step is recorded in the precision of an autocast around it",
    "deep:CapturedStep.__init__",
    "refuse_autocast()",
    "pass",
    "tests/deep/test_captured_step.py",
)
plant(
    "what comes out of a captured step is the sum, to which noise is added",
    "deep:CapturedStep.__init__",
    "torch.zeros_like(flat), torch.zeros_like(flat)",
    "flat, torch.zeros_like(flat)",
    "tests/deep/test_captured_step.py",
)
plant(
    "every sum on a device has the same noise",
    "deep:StepNoise._drawn_on_device",
    "KeyedStream.fresh(source)",
    "KeyedStream(bytes(32))",
    "tests/deep/test_captured_step.py",
)
plant(
    "a sum on a device brings the noise that it likes",
    "deep:SumOnDevice.protected",
    "if (self.noise.sigma, self.noise.grid) != (sigma, grid):",
    "if False:",
    "tests/deep/test_captured_step.py",
)
plant(
    "records of the batch before take part in this one",
    "deep:Records.exact_fill",
    "mask[len(picked) :].fill_(False)",
    "pass",
    "tests/deep/test_captured_step.py",
)
plant(
    "only the last piece of a captured batch counts",
    "deep:CapturedStep.sum_of",
    "self._flat.add_(before)",
    "pass",
    "tests/deep/test_captured_step.py",
)
plant(
    "optimizers of a captured block go on from the states of warming up",
    "deep:captured_step._put_states",
    "each.zero_()",
    "pass",
    "tests/deep/test_captured_step.py",
)
plant(
    "a model with dropout is captured, with the coins of a script's seed",
    "deep:CapturedStep.__init__",
    "if engine.draws:",
    "if False:",
    "tests/deep/test_captured_step.py",
)
plant(
    "a captured step is copied with its noise",
    "deep:CapturedStep.__copy__",
    'raise InvalidParameter("a captured step is not copied: both would write to the same memory")',
    "return self",
    "tests/deep/test_captured_step.py",
)
plant(
    "a model that computes in bfloat16 is refused for its roundings",
    "deep:Bookkeeping._noted",
    "self.narrow = not kinds.isdisjoint((torch.bfloat16, torch.float16))",
    "self.narrow = False",
    "tests/deep/test_autocast.py",
)
plant(
    "rounding to bfloat16 behind a factor is not paid for in the norm",
    "deep:rules.linear.LinearGhost.__init__",
    "slack = _ROUNDED * lengths[1]",
    "slack = 0.0 * lengths[1]",
    "tests/deep/test_autocast.py",
)
plant(
    "layers keep inputs that an autocast narrows as they were before",
    "deep:engines.watch._as_computed",
    "return given.to(torch.get_autocast_dtype(place))",
    "return given",
    "tests/deep/test_autocast.py",
)
plant(
    "the first half of a compiled program hands other inputs over than it has met",
    "deep:Compiled._program_of",
    "known = [replace(use, given=a, gradient=g)",
    "known = [replace(use, given=2.0 * a, gradient=g)",
    "tests/deep/test_compiled.py",
)

plant(
    "two threads record steps of one model at once",
    "deep:Compiled.program",
    "with own_turn():",
    "if True:",
    RECORDED,
)
plant(
    "a graph is recorded on the current device, whichever the model is on",
    "deep:engines.compiled.captured",
    "torch.cuda.device(device):",
    "torch.cuda.device(0):",
    RECORDED,
)
plant(
    "noise is added on the current device, not where the sum lies",
    "deep:NoiseOnDevice.launch",
    "with torch.cuda.device(self._where):",
    "if True:",
    RECORDED,
)
plant(
    "what a model draws on the host is recorded as a constant",
    "deep:Compiled._compiled",
    "shared_state() != before",
    "False",
    RECORDED,
)
plant(
    "optimizers that begin elsewhere than at zero are recorded",
    "deep:captured_step._can_be_recorded",
    "return known and",
    "return",
    RECORDED,
)
plant(
    "sums are taken where an optimizer has left the parameters",
    "deep:CapturedStep.descend",
    "self._back_in_place()",
    "pass",
    RECORDED,
)
plant(
    "a record on another device ends the run",
    "deep:Records._one",
    "made = _joined(self._form, [made])",
    "pass",
    RECORDED,
)

plant(
    "sums are recorded while another thread may allow rough products",
    "deep:CapturedStep.__init__",
    "with own_turn(), exact_products():",
    "with exact_products():",
    RECORDED,
)
plant(
    "parameters are looked at before the noise of the last step is whole",
    "deep:Captured.live",
    "self._step.settle()",
    "pass",
    LATE,
)
plant(
    "the next step begins before the noise of the last one is whole",
    "deep:CapturedStep.sum_of",
    "self.settle()",
    "pass",
    LATE,
)
plant(
    "a step whose noise came late is not taken again",
    "deep:CapturedStep.settle",
    "if late and moved",
    "if False",
    LATE,
)
plant(
    "a step is taken again from where it led",
    "deep:CapturedStep.settle",
    "each.copy_(old.view(each.shape))",
    "pass",
    LATE,
)
plant(
    "a step is taken again with the momentum that it left",
    "deep:CapturedStep._graph_of_a_step",
    "+ notes",
    "+ []",
    LATE,
)
plant(
    "numbers without noise stay without",
    "deep:NoiseOnDevice.settle",
    "late = bool(lost) or listed > len(self._rest)",
    "late = listed > len(self._rest)",
    LATE,
)
plant(
    "numbers that found no room stay without noise",
    "deep:NoiseOnDevice.settle",
    "late = bool(lost) or listed > len(self._rest)",
    "late = bool(lost)",
    LATE,
)
plant(
    "a key is handed over while the one before is read",
    "deep:NoiseOnDevice.settle",
    "self._done.synchronize()",
    "pass",
    LATE,
)
plant(
    "after a step that broke off, a key is handed over while its own is read",
    "deep:NoiseOnDevice.begin",
    "self._done.record(torch.cuda.current_stream(self._where))",
    "pass",
    LATE,
)
plant(
    "kernels work on numbers of another device, in no order with what makes them",
    "deep:NoiseOnDevice.launch",
    "if self._kernel is not None and each.device != self._where:",
    "if False:",
    LATE,
)
plant(
    "late noise is added to what was wiped",
    "deep:CapturedStep.protected",
    "self.noise.drop()",
    "pass",
    LATE,
)
plant(
    "copies of a sum lack the noise that comes late",
    "deep:StepNoise._drawn_on_device",
    "total.noise.settle()",
    "pass",
    LATE,
)
