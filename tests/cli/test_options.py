"""Examples in all the forms that a caller may use."""

from __future__ import annotations

import pytest

from toolchain import Example, UsageError
from toolchain.options import as_examples


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((1, 2), (Example((1, 2)),)),
        ((), (Example(()),)),
        (Example((1,), {"k": 2}), (Example((1,), {"k": 2}),)),
        ((Example((1,)), Example((2,))), (Example((1,)), Example((2,)))),
        ([(1,), (2,)], (Example((1,)), Example((2,)))),
        ([(1,), Example((2,), {"k": 3})], (Example((1,)), Example((2,), {"k": 3}))),
    ],
)
def test_accepted(given: object, wanted: tuple[Example, ...]) -> None:
    assert as_examples(given) == wanted


@pytest.mark.parametrize("given", [[], [1], "ab", None, 3, {"x": 1}, [(1,), [2]]])
def test_refused(given: object) -> None:
    with pytest.raises(UsageError) as caught:
        as_examples(given)
    assert caught.value.code == "TC221"
