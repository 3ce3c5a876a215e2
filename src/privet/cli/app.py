"""The `privet` command and its subcommands."""

import typer
from rich.console import Console

from privet import accounting, privacy

__all__ = ["app", "main"]

app = typer.Typer(name="privet", no_args_is_help=True, add_completion=False)


@app.callback()
def privet() -> None:
    """A hedge around your data: differential privacy, priced and paid for."""


@app.command()
def demo() -> None:
    """Price one private training run, from loss to words."""
    step = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=4.0), q=0.01)
    bound = accounting.epsilon(privacy.Repeated(step, 10_000), delta=1e-5)
    console = Console()
    console.print("10,000 noisy gradient steps, each on a random 1% of the people, noise multiplier 4:")
    console.print(f"  epsilon is at most {bound.upper:.4f} at delta 1e-5 (method: {bound.method})")


def main() -> None:
    """Entry point of the `privet` script."""
    app()
