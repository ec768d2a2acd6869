"""The same mistake gets the same answer from the Python and the C++ host, and the next call is right all the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import runtime_py
import toolchain
from runtime_py.integrity import read_manifest
from tests.cpp.native import IREE_COMPILE, SANITIZERS, WARNINGS, build, run

HERE = Path(__file__).parent


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        torch.nn.init.constant_(self.linear.weight, 0.5)
        torch.nn.init.constant_(self.linear.bias, -1.0)

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if y.sum() > 0:
            y = y * 2
        return torch.cat([y, torch.ones(int(n), 4)])


X, N = torch.ones(2, 4), torch.tensor(1)
# What the network makes of these.
RIGHT = "20.000000"


def module_file(bundle: Path) -> Path:
    return bundle / read_manifest(bundle).modules[0].files["cpu:host"].path


def weights_file(bundle: Path) -> Path:
    params = read_manifest(bundle).params
    assert params is not None
    return bundle / params.path


def alter(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def lead_out(file: Path) -> None:
    outside = file.rename(file.parents[3] / "outside")
    file.symlink_to(outside)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A way to use a bundle wrongly.

    answer:   the code of the error, or how "<type>: <text>" of the program's exception starts.
    damage:   what is done to a copy of the bundle before it is loaded.
    """

    name: str
    answer: str
    arguments: tuple[torch.Tensor, torch.Tensor] = (X, N)
    damage: Callable[[Path], object] | None = None
    target: str = "cpu"


MISTAKES = (
    Mistake("none", RIGHT),
    Mistake("dtype", "RT202", (X.double(), N)),
    Mistake("rank", "RT203", (X[0], N)),
    Mistake("extent", "RT203", (torch.ones(2, 5), N)),
    Mistake("negative size", "RuntimeError: ", (X, torch.tensor(-1))),
    Mistake("target that the bundle lacks", "RT301", target="vulkan"),
    Mistake("folder without bundle", "RT101", damage=lambda bundle: (bundle / "manifest.json").unlink()),
    Mistake("missing weights", "RT104", damage=lambda bundle: weights_file(bundle).unlink()),
    Mistake("altered weights", "RT104", damage=lambda bundle: alter(weights_file(bundle))),
    Mistake("missing module", "RT104", damage=lambda bundle: module_file(bundle).unlink()),
    Mistake("altered module", "RT104", damage=lambda bundle: alter(module_file(bundle))),
    Mistake("truncated module", "RT104", damage=lambda bundle: truncate(module_file(bundle))),
    Mistake("folder in place of a module", "RT104", damage=lambda bundle: replace_by_folder(module_file(bundle))),
    Mistake("link out of the bundle", "RT105", damage=lambda bundle: lead_out(module_file(bundle))),
)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One for each host, with the modules that its runtime needs."""
    folder = tmp_path_factory.mktemp("mistakes")
    examples = [(X, N), (torch.ones(3, 4), N)]
    compilers = {"python": None, "cpp": IREE_COMPILE}
    for host, compiler in compilers.items():
        options = toolchain.BuildOptions(iree_compile=compiler)
        toolchain.build(Net().eval(), examples, hosts=(host,), out=folder / f"{host}.bundle", options=options)
    return {host: folder / f"{host}.bundle" for host in compilers}


@pytest.fixture(scope="module")
def program(bundles: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("program")
    shutil.copytree(bundles["cpp"] / "host" / "cpp", project / "network")
    shutil.copytree(HERE / "mistakes", project, dirs_exist_ok=True)
    build(project, project / "build", f"{WARNINGS} {SANITIZERS}", build_type="None")
    return project / "build" / "mistakes"


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_both_hosts_answer_alike(mistake: Mistake, bundles: dict[str, Path], program: Path, tmp_path: Path) -> None:
    copies = {host: shutil.copytree(bundle, tmp_path / host / "net.bundle") for host, bundle in bundles.items()}
    for copy in copies.values():
        if mistake.damage is not None:
            mistake.damage(copy)
    answers = python_answers(mistake, copies["python"])
    done = run([program, mistake.name, copies["cpp"], mistake.target])
    assert (done.returncode, done.stdout.splitlines()) == (0, answers), done.stderr
    assert answers[0].startswith(mistake.answer)
    # A call after a mistake is right; a bundle that cannot be loaded has none.
    assert answers[1:] == ([RIGHT] if mistake.damage is None and mistake.target == "cpu" else [])


def python_answers(mistake: Mistake, bundle: Path) -> list[str]:
    try:
        session = runtime_py.load(bundle, target=mistake.target)
    except runtime_py.SessionError as error:
        return [error.code]
    return [python_answer(session, mistake.arguments), python_answer(session, (X, N))]


def python_answer(session: runtime_py.Session, arguments: tuple[torch.Tensor, torch.Tensor]) -> str:
    try:
        return f"{session(*arguments).double().sum().item():.6f}"
    except runtime_py.SessionError as error:
        return error.code
    except RuntimeError as error:
        return f"RuntimeError: {error}"
