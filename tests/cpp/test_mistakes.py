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

PROJECT = Path(__file__).parent / "mistakes"


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


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_both_hosts_answer_alike(tmp_path: Path) -> None:
    bundles = {"python": build_bundle(tmp_path, "python", None), "cpp": build_bundle(tmp_path, "cpp", IREE_COMPILE)}
    program = build_program(bundles["cpp"], tmp_path / "program")
    answers = {mistake.name: answers_to(mistake, bundles, program, tmp_path) for mistake in MISTAKES}
    assert {name: cpp for name, (_, cpp) in answers.items()} == {name: python for name, (python, _) in answers.items()}
    for mistake in MISTAKES:
        first, *later = answers[mistake.name][0]
        assert first.startswith(mistake.answer), mistake.name
        # A call after a mistake is right; a bundle that cannot be loaded has none.
        assert later == ([RIGHT] if mistake.damage is None and mistake.target == "cpu" else [])


def build_bundle(folder: Path, host: str, compiler: Path | None) -> Path:
    """A bundle with the modules that the host's runtime needs."""
    examples = [(X, N), (torch.ones(3, 4), N)]
    options = toolchain.BuildOptions(iree_compile=compiler)
    return toolchain.build(Net().eval(), examples, hosts=(host,), out=folder / f"{host}.bundle", options=options).path


def build_program(bundle: Path, project: Path) -> Path:
    shutil.copytree(bundle / "host" / "cpp", project / "network")
    shutil.copytree(PROJECT, project, dirs_exist_ok=True)
    build(project, project / "build", f"{WARNINGS} {SANITIZERS}", build_type="None")
    return project / "build" / "mistakes"


def answers_to(mistake: Mistake, bundles: dict[str, Path], program: Path, folder: Path) -> tuple[list[str], list[str]]:
    """What the Python and the C++ host say to the mistake, and then to a right call."""
    place = folder / mistake.name
    copies = {host: shutil.copytree(bundle, place / host / "net.bundle") for host, bundle in bundles.items()}
    for copy in copies.values():
        if mistake.damage is not None:
            mistake.damage(copy)
    done = run([program, mistake.name, copies["cpp"], mistake.target])
    assert done.returncode == 0, f"{mistake.name}: {done.stderr}"
    return python_answers(mistake, copies["python"]), done.stdout.splitlines()


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
