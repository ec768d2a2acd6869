"""Code, registry and page name the same error codes."""

from __future__ import annotations

import re
from pathlib import Path

from toolchain.diagnostics.codes import CODES, FAMILIES, render_page

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\b(?:TC|RT)\d{3}\b")
REGISTRY = ROOT / "toolchain/diagnostics/codes.py"
SUFFIXES = {".py", ".j2", ".h", ".hpp", ".cpp", ".cc"}


def codes_in_sources() -> dict[str, str]:
    """Every code that occurs in the sources, with one file that names it."""
    found = {}
    for package in ("toolchain", "runtime_py", "hostgen"):
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in SUFFIXES and path != REGISTRY:
                for code in CODE.findall(path.read_text()):
                    found[code] = str(path.relative_to(ROOT))
    return found


def test_every_code_that_is_raised_is_registered() -> None:
    unregistered = {code: where for code, where in codes_in_sources().items() if code not in CODES}
    assert unregistered == {}


def test_every_registered_code_is_raised_somewhere() -> None:
    assert sorted(CODES.keys() - codes_in_sources().keys()) == []


def test_the_page_is_made_from_the_registry() -> None:
    page = (ROOT / "docs/errors.md").read_text()
    assert page == render_page(), "run: python -m toolchain.diagnostics.codes > docs/errors.md"


# Guards against what no program is known to do.
WITHOUT_PROGRAM = {
    "TC131": "every size expression that PyTorch is known to make has an operation of the host",
    "TC132": "every extent that an operation makes is given a value",
    "TC133": "constructors that the dispatcher does not see are replaced",
    "TC155": "constructors are called by statements, which can wait for them",
}


def test_every_refusal_of_a_model_has_a_program_and_its_repair() -> None:
    examples = {path.stem for path in (REGISTRY.parent / "examples").iterdir()}
    assert examples | set(WITHOUT_PROGRAM) == {code for code in CODES if code.startswith("TC1")}
    assert not examples & set(WITHOUT_PROGRAM)


def test_every_code_is_brought_about_by_a_test() -> None:
    """By name in the tests, or by a snippet of the documentation, which tests run."""
    texts = [p for folder in ("tests", "docs") for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md")]
    named = {c for p in texts if p != Path(__file__) and p.name != "errors.md" for c in CODE.findall(p.read_text())}
    examples = {path.stem for path in (REGISTRY.parent / "examples").iterdir()}
    assert sorted(CODES.keys() - named - examples) == sorted(WITHOUT_PROGRAM)


def test_every_code_belongs_to_a_family_and_says_what_to_do() -> None:
    families = tuple(family.prefix for family in FAMILIES)
    for code in CODES.values():
        assert code.code.startswith(families)
        assert code.title
        assert code.meaning.endswith(".")
        assert code.remedy.endswith(".")


def test_codes_are_unique_and_in_order() -> None:
    page = re.findall(r"^### (\w+):", render_page(), re.MULTILINE)
    assert page == list(CODES)
    for family in FAMILIES:
        members = [code for code in page if code.startswith(family.prefix)]
        assert members == sorted(members)
