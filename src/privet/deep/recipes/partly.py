"""Training a part of a model: fewer numbers get noise. What is left frozen must not have seen the private records."""

from typing import Any

from torch import nn

from privet._calls import door
from privet.errors import InvalidParameter


@door
def train_only(model: nn.Module, *names: str) -> Any:
    """The same model with all parameters frozen but those whose names begin so: `train_only(model, "head")` for a body that
    others have trained on public data.

    >>> model = train_only(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), "2.")
    >>> [name for name, each in model.named_parameters() if each.requires_grad]
    ['2.weight', '2.bias']
    """
    return _chosen(model, lambda name: any(name == each or name.startswith(each) for each in names), str(names))


@door
def train_biases(model: nn.Module, *also: str) -> Any:
    """The same model with all parameters frozen but biases and shifts, and those whose names begin as `also` says, which is
    the new head as a rule. **Reference:** Bu, Wang, Zha & Karypis 2022 (BiTFiT).

    >>> model = train_biases(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)))
    >>> [name for name, each in model.named_parameters() if each.requires_grad]
    ['0.bias', '1.bias']
    """
    return _chosen(model, lambda name: name.split(".")[-1] == "bias" or any(name.startswith(e) for e in also), "biases")


def _chosen(model: nn.Module, chosen: Any, what: str) -> nn.Module:
    trained = [each for name, each in model.named_parameters() if chosen(name)]
    if not trained:
        known = ", ".join(name for name, _ in model.named_children()) or "none"
        raise InvalidParameter(f"no parameter of the model is called so: {what}; its parts are {known}")
    for each in model.parameters():
        each.requires_grad_(False)
    for each in trained:
        each.requires_grad_(True)
    return model
