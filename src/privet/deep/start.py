"""Where a training begins: structure, first weights and optimizers, apart from the live model, told apart by a digest."""

import copy
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from privet._validate import instance
from privet.deep.batches import spread
from privet.errors import InvalidParameter, SerialisationError

State = dict[str, Any]
Loss = Callable[[Any, Any], Tensor]


@final
class Start:
    """A model, its loss and its optimizers as they stood when the training was set up. What becomes of the live ones later
    changes nothing here: every run begins alike.

    A state of a training is made of plain arrays and numbers, and holds neither keys nor noise.

    >>> model = nn.Linear(2, 1)
    >>> start = Start(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda outputs, targets: outputs[:, 0])
    >>> start.dimension, sorted(start.first()["weights"])
    (3, ['bias', 'weight'])
    """

    def __init__(self, model: nn.Module, optimizers: Any, per_example_loss: Loss) -> None:
        instance("model", model, nn.Module)
        listed = tuple(optimizers) if isinstance(optimizers, list | tuple) else (optimizers,)
        _check(model, listed, per_example_loss)
        self.model, self._optimizers = copy.deepcopy((model, listed))
        self.per_example_loss = per_example_loss
        self.model.zero_grad(set_to_none=True)
        self._trained = {name: each for name, each in self.model.named_parameters() if each.requires_grad}
        self.dimension = sum(each.numel() for each in self._trained.values())
        kinds = {each.dtype for each in self._trained.values()}
        self.wide, self.single = torch.float64 in kinds, kinds == {torch.float32}
        (self.device,) = {each.device for each in self.model.parameters()}
        self.digest = self._digested()

    def __repr__(self) -> str:
        return f"<start {self.digest[:16]}>"

    def __deepcopy__(self, memo: object) -> "Start":
        return self  # nothing in it is ever changed

    def __reduce__(self) -> Any:
        raise SerialisationError(
            "a start is not pickled: it holds code of the model; keep its state dict and make it again"
        )

    def first(self) -> State:
        """The state before the first step."""
        weights = {name: _array(each) for name, each in self._trained.items()}
        return {
            "step": 0,
            "divisor": None,
            "stopped": False,
            "average": None,
            "optimizers": self._kept(self._optimizers),
            "weights": weights,
        }

    def live(self, state: State) -> "Live":
        """Parameters and optimizers of their own, that go on from a state; the state is left alone."""
        fresh = {name: nn.Parameter(_tensor(state["weights"][name], like)) for name, like in self._trained.items()}
        memo: dict[int, Any] = {id(like): fresh[name] for name, like in self._trained.items()}
        memo |= {id(each): each for each in self.model.parameters() if id(each) not in memo}
        optimizers = copy.deepcopy(self._optimizers, memo)
        for optimizer, kept in zip(optimizers, state["optimizers"], strict=True):
            body = optimizer.state_dict()
            body["state"] = {int(place): {n: _value(v) for n, v in each.items()} for place, each in kept.items()}
            optimizer.load_state_dict(body)
        return Live(fresh, optimizers)

    def state_after(self, live: "Live", state: State) -> State:
        """The state that follows: arrays of its own, so that nothing live can change it."""
        weights = {name: _array(each) for name, each in live.parameters.items()}
        return {**state, "weights": weights, "optimizers": self._kept(live.optimizers)}

    def released(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """The state dict with these weights, as arrays: everything that a model of this structure loads. What was not
        trained is as it was at the beginning."""
        same = {id(each): name for name, each in self._trained.items()}
        tied = {name: same.get(id(each)) for name, each in self.model.named_parameters(remove_duplicate=False)}
        found = {}
        for name, each in self.model.state_dict().items():
            trained = tied.get(name)
            found[name] = _array(each) if trained is None else np.array(weights[trained])
        return found

    def names(self) -> list[str]:
        """The names of the state dict."""
        return list(self.model.state_dict())

    @staticmethod
    def _kept(optimizers: Iterable[Optimizer]) -> list[dict[str, Any]]:
        states = [each.state_dict()["state"] for each in optimizers]
        return [{str(place): {n: _plain(v) for n, v in kept.items()} for place, kept in one.items()} for one in states]

    def _digested(self) -> str:
        """Structure, weights, loss and optimizers by name and number: equal for two starts that train alike."""
        told = hashlib.sha256()
        for name, each in sorted(self.model.state_dict().items()):
            array = _array(each)
            told.update(f"{name} {each.dtype} {array.shape}\n".encode())
            told.update(np.ascontiguousarray(array).tobytes())
        groups = [
            [type(each).__name__, [{n: v for n, v in group.items() if n != "params"} for group in each.param_groups]]
            for each in self._optimizers
        ]
        loss = self.per_example_loss
        called = f"{getattr(loss, '__module__', '')}.{getattr(loss, '__qualname__', type(loss).__name__)}"
        told.update(repr([repr(self.model), sorted(self._trained), groups, called]).encode())
        return told.hexdigest()


@final
class Live:
    """Parameters that a step changes, and their optimizers. `.grad` is set to protected values alone, and only for the
    moment in which an optimizer looks."""

    def __init__(self, parameters: dict[str, nn.Parameter], optimizers: tuple[Optimizer, ...]) -> None:
        self.parameters, self.optimizers = parameters, optimizers

    def exact_point(self) -> dict[str, Tensor]:
        """The parameters as engines take them."""
        return {name: each.detach() for name, each in self.parameters.items()}

    def step(self, noisy: Tensor) -> None:
        """One step of every optimizer along a protected gradient."""
        descend(self.parameters, [each.step for each in self.optimizers], noisy)


def descend(parameters: Mapping[str, nn.Parameter], steps: Iterable[Callable[[], object]], noisy: Tensor) -> None:
    """Set the gradients to protected values, step, and take them away again."""
    for name, each in spread(noisy, parameters).items():
        parameters[name].grad = each
    for step in steps:
        step()
    for each in parameters.values():
        each.grad = None


def refuse_closures(kind: type[Optimizer]) -> None:
    """Optimizers that ask for the loss again within a step would look at data more often than is paid for.

    >>> refuse_closures(torch.optim.LBFGS)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: LBFGS calls a closure within a step, which looks at data more often than the plan pays
     for: take SGD, RMSprop, Adam or AdamW, say
    """
    if not isinstance(kind, type) or not issubclass(kind, Optimizer):
        raise InvalidParameter(
            "an optimizer is a torch.optim.Optimizer, such as torch.optim.SGD(model.parameters(), lr=0.1)"
        )
    closure = inspect.signature(kind.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise InvalidParameter(
            f"{kind.__name__} calls a closure within a step, which looks at data more often than the plan pays for: take "
            "SGD, RMSprop, Adam or AdamW, say"
        )


def _check(model: nn.Module, optimizers: tuple[Any, ...], per_example_loss: Any) -> None:
    for each in optimizers:
        refuse_closures(type(each))
    if not callable(per_example_loss):
        raise InvalidParameter(
            "per_example_loss must be a function of outputs and targets that returns one loss a record"
        )
    trained = {id(each): name for name, each in model.named_parameters() if each.requires_grad}
    held = [id(each) for optimizer in optimizers for group in optimizer.param_groups for each in group["params"]]
    names = dict(model.named_parameters())
    if len(set(held)) < len(held):
        raise InvalidParameter("a parameter belongs to two optimizers: each needs one")
    if not trained:
        raise InvalidParameter("no parameter of the model requires a gradient: nothing would be trained")
    known = {id(each) for each in names.values()}
    if any(each not in known for each in held):
        raise InvalidParameter("an optimizer holds a parameter that the model does not have: it would never be trained")
    left = [name for each, name in trained.items() if each not in set(held)]
    if left:
        raise InvalidParameter(
            f"{left[0]} requires a gradient and belongs to no optimizer: add it to one, or set requires_grad_(False)"
        )
    places = {each.device for each in names.values()}
    if len(places) > 1 or any(each.type == "meta" for each in places):
        raise InvalidParameter("all parameters must lie on one device, and not on 'meta': model.to(device)")


def _array(tensor: Tensor) -> Any:
    """A copy as an array; of bfloat16, which numpy does not know, as float32."""
    plain = tensor.detach().cpu()
    return np.array((plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())


def _tensor(array: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(np.array(array)).to(like.device, like.dtype)


def _plain(value: object) -> Any:
    return _array(value) if isinstance(value, Tensor) else value


def _value(value: object) -> Any:
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray | np.generic) else value
