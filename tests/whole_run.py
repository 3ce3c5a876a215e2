"""What a run of the whole suite must have done: every law over every registered member, every test module, in time.

Loaded by the conftest beside `pyproject.toml`. A run of a part of the suite is not judged; its times are not shown.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from privet.testing.law import Subject

ROOT = Path(__file__).resolve().parents[1]

# Seconds of tests on one core, per folder of tests (doctests under `src`): what `make test` may cost is their sum, half of
# it on two cores, and a minute to collect. A room that needs more says why in docs/develop/decisions.md.
BUDGET = {
    "accounting": 150,
    "architecture": 40,
    "audit": 330,
    "cli": 85,
    "deep": 90,
    "docs": 75,
    "laws": 320,
    "learn": 145,
    "ledger": 210,
    "local": 45,
    "mechanisms": 130,
    "mutants": 15,
    "newcomer": 20,
    "noise": 85,
    "oracles": 10,
    "package": 40,
    "pate": 60,
    "privacy": 80,
    "queries": 135,
    "report": 20,
    "seams": 110,
    "src": 60,
    "synth": 70,
    "tables": 190,
    "tests": 5,
    "workloads": 120,
}


def whole_suite(config: pytest.Config) -> bool:
    """Whether this run was asked for everything but the slow tests."""
    chosen = config.option
    narrowed = (chosen.file_or_dir, chosen.keyword, chosen.deselect, chosen.ignore, chosen.ignore_glob)
    return not any(narrowed) and not getattr(chosen, "lf", False) and chosen.markexpr == "not slow"


def registered_members() -> "dict[Subject, list[str]]":
    """The members of every kind that has laws, by name; engines that cannot run here are left out, for the reason with
    which their tests are skipped."""
    from privet import mechanisms, privacy, queries, testing, workloads
    from privet.learn import estimators, losses, solvers
    from privet.tables import engines
    from tests.tables.conftest import absent

    testing.load_rooms()
    return {
        "loss": list(privacy.registered_kinds()),
        "accountant": list(privacy.registered_kinds()),
        "mechanism": list(mechanisms.registered_mechanisms()),
        "training loss": list(losses.registered_losses()),
        "estimator": list(estimators.registered_estimators()),
        "strategy": list(workloads.registered_strategies()),
        "solver": list(solvers.registered_solvers()),
        "aggregate": list(queries.registered_aggregates()),
        "engine": [name for name in engines.registered_engines() if absent(name) is None],
    }


def laws_not_run(ran: set[tuple[str, str]]) -> list[str]:
    """Laws that some registered member has not met. The last `laws` are over several losses: each must have run."""
    from privet import testing

    wanted = {
        (law.__name__, name)
        for subject, members in registered_members().items()
        for law in testing.laws_of(subject)
        for name in members
    }
    idle = {law.__name__ for law in testing.laws_of("losses")} - {law for law, _ in ran}
    return [f"{law} over {member}" for law, member in sorted(wanted - ran)] + [f"{law} at all" for law in sorted(idle)]


def modules_not_run(ran: set[str]) -> list[str]:
    """Test modules none of whose tests was executed or skipped with a reason; a module of slow tests alone may wait."""
    found = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if _has_quick_tests(path))
    return [name for path in found if (name := path.relative_to(ROOT).as_posix()) not in ran]


@cache
def _has_quick_tests(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    if "slow" not in text:  # most: to parse them all takes seconds
        return "def test_" in text
    tree = ast.parse(text)
    whole = [
        node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0])
    ]
    if any("slow" in ast.unparse(node.value) for node in whole):
        return False
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
    return any("slow" not in "".join(map(ast.unparse, function.decorator_list)) for function in functions)


class WholeRun:
    """Adds up what the workers report, and judges it at the end."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.modules: set[str] = set()
        self.laws: set[tuple[str, str]] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        module = report.nodeid.split("::")[0]
        parts = Path(module).parts
        self.seconds[parts[1] if len(parts) > 2 and parts[0] == "tests" else parts[0]] += report.duration
        self.modules.add(module)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:  # a whole module that says why it cannot run here
            self.modules.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        self.laws |= {tuple(pair) for pair in getattr(node, "workeroutput", {}).get("laws", [])}

    def missing(self) -> list[str]:
        from privet.testing import laws_run

        laws = [f"law not run: {each}" for each in laws_not_run(self.laws | laws_run())]
        return laws + [f"test module not run: {each}" for each in modules_not_run(self.modules)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if whole_suite(session.config) and not session.config.option.collectonly and self.missing():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not whole_suite(config) or config.option.collectonly:
            return
        terminalreporter.section("seconds of tests, by folder (budget)")
        for room, spent in self.seconds.most_common():
            limit = BUDGET.get(room, 0)
            over = "   over its budget" if spent > limit else ""
            terminalreporter.line(f"{room:14}{spent:8.0f}  ({limit}){over}")
        for line in self.missing():
            terminalreporter.line(line, red=True)


class Worker:
    """On a worker of xdist: hand the laws that ran to the controller."""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from privet.testing import laws_run

        session.config.workeroutput["laws"] = sorted(laws_run())  # type: ignore[attr-defined]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Worker() if hasattr(config, "workerinput") else WholeRun(), "privet-whole-run")
