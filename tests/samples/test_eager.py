"""Every sample runs in eager PyTorch: it repeats itself, takes several paths, and decides by a clear margin."""

import copy
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.py") if path.stem != "__init__")
HEADLINE = {
    "blockdrop110",
    "caption_googlenet_lstm",
    "caption_resnext_attention",
    "mobilenet_sdn",
    "resnet56_sdn",
    "skipnet_ff",
    "skipnet_rnn",
    "transformer_translation",
    "vgg16_sdn",
    "wideresnet32_4_sdn",
}
SLOW = {name for name in HEADLINE if name.endswith("_sdn") or name.startswith("caption")}
# Distinct paths that each sample's inputs() take.
PATHS = {
    "a_vit": 4,
    "act_halting": 5,
    "adaptive_softmax": 7,
    "beam_search": 6,
    "big_little": 2,
    "blockdrop110": 3,
    "branchynet": 3,
    "calm": 6,
    "caption_googlenet_lstm": 10,
    "caption_resnext_attention": 8,
    "convnet_aig": 4,
    "ctc_lexicon": 3,
    "deebert": 6,
    "deep_equilibrium": 6,
    "early_exit_vit": 4,
    "gpt_kv_cache": 6,
    "layerskip": 7,
    "length_regulator": 4,
    "mixture_of_depths": 5,
    "mobilenet_sdn": 6,
    "moe_counts": 4,
    "moe_hit": 6,
    "msdnet": 4,
    "neural_ode": 5,
    "nms": 6,
    "pabee": 6,
    "pondernet": 7,
    "ranet": 5,
    "resnet56_sdn": 7,
    "rnnt_greedy": 6,
    "rpn_filter": 4,
    "seq2seq_greedy": 5,
    "sinkhorn": 5,
    "skipnet_ff": 3,
    "skipnet_rnn": 4,
    "token_pruning": 3,
    "transformer_translation": 6,
    "tree_lstm": 4,
    "vgg16_sdn": 7,
    "whisper_fallback": 8,
    "wideresnet32_4_sdn": 6,
}


class PathRecorder(TorchDispatchMode):
    """Records the operations that run and every integer or bool that Python reads from a tensor: together, the path."""

    def __init__(self) -> None:
        super().__init__()
        self.path: list[object] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        self.path.append(func.name())
        if func.name() == "aten::_local_scalar_dense" and not isinstance(result, float):
            self.path.append(result)
        return result


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def samples() -> dict[str, tuple[ModuleType, nn.Module]]:
    """Modules already made: making them is half of the time."""
    return {}


def load(samples: dict[str, tuple[ModuleType, nn.Module]], name: str) -> tuple[ModuleType, nn.Module]:
    if name not in samples:
        module = importlib.import_module(f"samples.{name}")
        samples[name] = (module, module.model())
    return samples[name]


def run(net: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[tuple[object, ...], object]:
    with PathRecorder() as recorder:
        result = net(*copy.deepcopy(args))
    return tuple(recorder.path), result


def perturbed(net: nn.Module, scale: float) -> nn.Module:
    """A copy whose weights differ by ``scale``, relatively: decisions with a clear margin stay as they are."""
    net = copy.deepcopy(net)
    generator = torch.Generator().manual_seed(0)
    for weight in net.parameters():
        weight.mul_(1 + scale * torch.randn(weight.shape, generator=generator))
    return net


def assert_same(a: object, b: object) -> None:
    (left, left_spec), (right, right_spec) = tree_flatten(a), tree_flatten(b)
    assert left_spec == right_spec
    for x, y in zip(left, right, strict=True):
        assert type(x) is type(y)
        assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y


def test_the_zoo_is_complete() -> None:
    assert set(NAMES) >= HEADLINE
    assert set(PATHS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_take_distinct_paths(name: str, samples: dict[str, tuple[ModuleType, nn.Module]]) -> None:
    module, net = load(samples, name)
    assert not net.training
    paths = {run(net, args)[0] for args in module.inputs()}
    assert len(paths) == PATHS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_repeats_itself(name: str, samples: dict[str, tuple[ModuleType, nn.Module]]) -> None:
    """On the same module, and on one made anew: nothing is left behind by a call or by the making."""
    module, net = load(samples, name)
    args = module.example_inputs()
    path, result = run(net, args)
    again, repeated = run(net, args)
    assert path == again
    assert_same(result, repeated)
    if name not in SLOW:
        assert_same(result, run(module.model(), args)[1])


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in NAMES])
def test_decisions_have_a_margin(name: str, samples: dict[str, tuple[ModuleType, nn.Module]]) -> None:
    """Random inputs take several paths, and the same ones after a relative change of all weights by 1e-5."""
    module, net = load(samples, name)
    nearly = perturbed(net, 1e-5)
    cases = module.random_inputs(8 if name in HEADLINE else 20, seed=3)
    paths = [run(net, args)[0] for args in cases]
    assert [run(nearly, args)[0] for args in cases] == paths
    assert len(set(paths)) > 1
