"""Other ways to run a PyTorch module, each as its own documentation recommends."""

from __future__ import annotations

import contextlib
import io
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import onnxruntime
import torch

Run: TypeAlias = Callable[..., Any]
Calls: TypeAlias = Sequence[tuple[Any, ...]]


class Skipped(BaseException):
    """Why a peer is left out. No ``Exception``: the peers' own handlers must not swallow a time-out."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises ``Skipped`` in the block once it has taken so long; only in the main thread."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Skipped(f"not ready after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def eager(module: torch.nn.Module, calls: Calls) -> Run:
    return _inference(module)


def torch_script(module: torch.nn.Module, calls: Calls) -> Run:
    frozen = torch.jit.freeze(torch.jit.script(module))
    for _ in range(2):
        # The profiling executor specialises at the second call.
        for call in calls:
            frozen(*call)
    return _inference(frozen)


def torch_compile(module: torch.nn.Module, calls: Calls) -> Run:
    torch._dynamo.reset()
    return _inference(torch.compile(module))


def onnx_runtime(module: torch.nn.Module, calls: Calls) -> Run:
    """By the present exporter; where it refuses, the older one: with the control flow of TorchScript, or none."""
    model = _exported(module, calls[0])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]

    def run(*args: torch.Tensor) -> Any:
        return session.run(None, dict(zip(names, (arg.numpy() for arg in args), strict=False)))

    return run


def _exported(module: torch.nn.Module, args: tuple[Any, ...]) -> bytes:
    failures = []
    for attempt in (_export_graph, _export_script, _export_trace):
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                return attempt(module, args)
        except Exception as error:
            failures.append(f"{attempt.__name__.removeprefix('_export_')}: {type(error).__name__}")
    raise Skipped(f"does not export ({'; '.join(failures)})")


def _export_graph(module: torch.nn.Module, args: tuple[Any, ...]) -> bytes:
    program = torch.onnx.export(module, args, dynamo=True, verbose=False)
    assert program is not None
    return bytes(program.model_proto.SerializeToString())


def _export_script(module: torch.nn.Module, args: tuple[Any, ...]) -> bytes:
    return _export_older(torch.jit.script(module), args)


def _export_trace(module: torch.nn.Module, args: tuple[Any, ...]) -> bytes:
    return _export_older(module, args)


def _export_older(module: torch.nn.Module, args: tuple[Any, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        torch.onnx.export(module, args, file, dynamo=False)
        return file.read_bytes()


def _inference(run: Run) -> Run:
    def call(*args: Any) -> Any:
        with torch.inference_mode():
            return run(*args)

    return call


PEERS: dict[str, Callable[[Any, Calls], Run]] = {
    "eager": eager,
    "torch_script": torch_script,
    "torch_compile": torch_compile,
    "onnx_runtime": onnx_runtime,
}
