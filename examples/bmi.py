"""Four counts about five people, from the lectures on composition: asked one by one their total squared error is
128/epsilon^2; asked together, the planner finds by itself that disjoint cells, added up, cost 12/epsilon^2.

Run it: python examples/bmi.py
"""

import privet as pv

# (sex, feet, inches, pounds), as in the lectures
PEOPLE = [("M", 6, 2, 210), ("F", 5, 3, 190), ("F", 5, 9, 160), ("M", 5, 3, 180), ("M", 6, 7, 250)]


def table() -> pv.Table:
    """The people, with what is asked about computed before the table is opened: a row knows nothing of the others."""
    bmi = [703.0 * pounds / (12 * feet + inches) ** 2 for _, feet, inches, pounds in PEOPLE]
    columns = {"sex": pv.Category(["M", "F"]), "bmi": pv.Float(10.0, 60.0)}
    return pv.Table({"sex": [row[0] for row in PEOPLE], "bmi": bmi}, columns=columns, name="people")


def one_by_one(epsilon: float) -> float:
    """The total squared error of four counts that pay for themselves: each gets a quarter of epsilon."""
    count = pv.mechanisms.Laplace.for_budget(epsilon=epsilon / 4, sensitivity=1.0)
    return 4 * 2.0 * count.scale**2  # Laplace noise of scale b has variance 2 b^2


def together(people: pv.Table, epsilon: float) -> float:
    """The total squared error of the plan for all four."""
    plan = asked(people).preview(epsilon=epsilon)
    return float(plan.workload.queries * plan.best.rmse**2)


def asked(people: pv.Table) -> pv.queries.HistogramQuestion:
    """The four counts of the lectures."""
    men, women, slim = people["sex"] == "M", people["sex"] == "F", people["bmi"] < 25
    return people.counts(slim_men=men & slim, men=men, slim_women=women & slim, women=women)


def main(epsilon: float = 0.1) -> None:
    """Print the plan, both errors, and an answer that is paid for."""
    people = table()
    print(asked(people).preview(epsilon=epsilon), end="\n\n")
    print(f"one by one: total squared error {one_by_one(epsilon) * epsilon**2:.4g}/epsilon^2")
    print(f"together:   total squared error {together(people, epsilon) * epsilon**2:.4g}/epsilon^2\n")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=4.0), unit=people.unit)
    print(f"paid with epsilon 4:\n{ledger.release(asked(people), epsilon=4.0).value}")


if __name__ == "__main__":
    main()
