"""Static analysis of bytecode."""

from __future__ import annotations

import dis

from toolchain.frontend.machine.code import EXIT, code_info


def _info(function):
    return code_info(function.__code__)


def _lines(info, pcs):
    first = info.code.co_firstlineno
    return sorted({info.instructions[pc].line - first for pc in pcs})


def _at(info, opname, count=0):
    return [pc for pc, i in enumerate(info.instructions) if i.opname == opname][count]


def straight(x):
    y = x + 1
    return y


def branch(x):
    if x:  # noqa: SIM108
        y = 1
    else:
        y = 2
    return y


def early(x):
    if x:
        return 1
    return 2


def loops(x):
    for i in x:
        while i:
            i -= 1
        if i > 3:
            break
    return x


def guarded(x):
    try:
        y = x()
    except ValueError:
        y = 0
    return y


def chained(a, b, c):
    return a < b < c


def left(pairs):
    for k in pairs:
        y = k
        if y:
            break
    return y


def test_straight_code_has_no_joins_and_no_heads():
    info = _info(straight)
    assert info.joins == frozenset()
    assert info.heads == {}


def test_a_branch_closes_behind_itself():
    info = _info(branch)
    decision = next(pc for pc, i in enumerate(info.instructions) if i.opname.startswith("POP_JUMP"))
    assert _lines(info, info.joins) == [5]
    assert info.instructions[info.closes_at(decision)].line == info.code.co_firstlineno + 5


def test_a_branch_that_returns_closes_at_the_exit():
    info = _info(early)
    decision = next(pc for pc, i in enumerate(info.instructions) if i.opname.startswith("POP_JUMP"))
    assert info.closes_at(decision) == EXIT


def test_heads_are_found_with_their_bodies():
    info = _info(loops)
    assert len(info.heads) == 2
    outer = _at(info, "FOR_ITER")
    (inner,) = set(info.heads) - {outer}
    assert inner in info.heads[outer]
    assert outer not in info.heads[inner]
    assert _lines(info, info.heads[inner]) == [2, 3]


def test_handlers_are_joins():
    info = _info(guarded)
    call = _at(info, "CALL")
    handler = info.handler_at(call)
    assert handler is not None
    assert handler.target in info.joins
    assert info.handler_at(_at(info, "RETURN_VALUE")) is None


def test_every_instruction_has_a_line():
    for function in (straight, branch, early, loops, guarded, chained, left):
        info = _info(function)
        assert all(i.line >= info.code.co_firstlineno for i in info.instructions)
        assert len(info.instructions) == len(list(dis.get_instructions(function)))


def test_a_chained_comparison_joins_before_the_return():
    assert _info(chained).closes_at(_at(_info(chained), "JUMP_IF_FALSE_OR_POP")) != EXIT


def test_liveness():
    info = _info(branch)
    names = info.code.co_varnames
    assert [names[n] for n in info.live[0]] == ["x"]
    assert [names[n] for n in info.live[_at(info, "RETURN_VALUE") - 1]] == ["y"]


def test_a_waiting_for_statement_keeps_what_its_end_reads():
    info = _info(left)
    names = info.code.co_varnames
    waits = _at(info, "FOR_ITER")
    assert [names[n] for n in info.live[waits + 1]] == []
    assert [names[n] for n in info.live_at(waits + 1, waits)] == ["y"]


def test_a_waiting_call_keeps_what_its_handler_reads():
    def program(x, y):
        try:
            x()
        except ValueError:
            return y
        return x

    info = _info(program)
    call = _at(info, "CALL")
    names = info.code.co_varnames
    assert {names[n] for n in info.live_at(call + 1, call)} == {"x", "y"}
