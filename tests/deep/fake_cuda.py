"""A `torch.cuda` of no device: what is asked of one can be seen where there is none."""

from contextlib import contextmanager

import torch


class FakeCuda:
    """As much of `torch.cuda` as a capture asks for: which device and which stream are in force."""

    def __init__(self):
        self.current, self.on, self.modes = 0, None, []

    @contextmanager
    def device(self, where):
        before, self.current = self.current, torch.device(where).index
        yield
        self.current = before

    def Stream(self):
        return FakeStream(self.current)

    def current_stream(self, where=None):
        return FakeStream(self.current)

    @contextmanager
    def stream(self, given):
        before, self.on = self.on, given
        yield
        self.on = before

    @contextmanager
    def graph(self, graph, stream=None, capture_error_mode="global"):
        self.modes.append(capture_error_mode)
        with self.stream(stream or FakeStream(0)):  # torch's own stream belongs to the device that was first
            yield

    def CUDAGraph(self):
        return object()


class FakeStream:
    def __init__(self, device):
        self.device = device

    def wait_stream(self, other):
        assert self.device == other.device
