"""What a path knows about unknown integers."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from toolchain.frontend.facts import Facts

N, M = sympy.symbols("n m", integer=True)
RELATIONS = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "==": sympy.Eq, "!=": sympy.Ne}


def test_nothing_is_known_at_first():
    facts = Facts()
    assert facts.evaluate(N > 0) is None
    assert facts.constant(N) is None


def test_a_declared_range_decides():
    facts = Facts()
    facts.declare(N, 0, 4)
    assert facts.evaluate(N >= 0) is True
    assert facts.evaluate(N > 4) is False
    assert facts.evaluate(N > 2) is None


@pytest.mark.parametrize(("truth", "constant"), [(True, 3), (False, None)])
def test_an_equation_makes_a_constant(truth, constant):
    facts = Facts()
    facts.declare(N, 0)
    facts.learn(sympy.Eq(N, 3), truth)
    assert facts.constant(N) == constant
    assert facts.evaluate(sympy.Ne(N, 3)) is not truth


def test_exact_expressions_are_remembered():
    facts = Facts()
    facts.learn(N < M, True)
    assert facts.evaluate(N < M) is True
    assert facts.evaluate(N >= M) is False


def test_a_copy_is_independent():
    facts = Facts()
    copy = facts.copy()
    copy.learn(N > 3, True)
    assert facts.evaluate(N > 2) is None
    assert copy.evaluate(N > 2) is True


def test_common_facts_hold_on_both_paths():
    left, right = Facts(), Facts()
    left.declare(N, 0, 3)
    right.declare(N, 2, 9)
    left.learn(M > 0, True)
    common = left.common(right)
    assert common.evaluate(N <= 9) is True
    assert common.evaluate(N <= 3) is None
    assert common.evaluate(M > 0) is None


@given(
    st.lists(st.tuples(st.sampled_from(sorted(RELATIONS)), st.integers(-5, 5)), max_size=4),
    st.integers(-6, 6),
    st.sampled_from(sorted(RELATIONS)),
    st.integers(-6, 6),
)
def test_answers_are_true_of_every_number_that_fits(learnt, number, question, bound):
    facts = Facts()
    facts.declare(N)
    for name, limit in learnt:
        relation = RELATIONS[name](N, limit)
        facts.learn(relation, bool(relation.subs(N, number)))
    answer = facts.evaluate(RELATIONS[question](N, bound))
    assert answer in (None, bool(RELATIONS[question](sympy.Integer(number), bound)))
    assert facts.constant(N) in (None, number)
