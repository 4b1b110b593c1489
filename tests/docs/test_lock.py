"""docs/parity.lock is up to date, and notices prose that changed on one side only."""

from __future__ import annotations

from pipeline.guide import LOCK, Line, compare, current, digest, parse

KEY = "guide/index.md#start"


def test_lock_is_current() -> None:
    wrong = compare(parse(LOCK.read_text(encoding="utf-8")), current())
    assert not wrong, "python -m pipeline.guide --update\n" + "\n".join(f"{k} {v}" for k, v in sorted(wrong.items()))


def test_one_side_is_red_and_names_both() -> None:
    message = compare({KEY: Line("a", "b")}, {KEY: Line("c", "b")})[KEY]
    assert f"docs/es/{KEY}" in message
    assert f"docs/en/{KEY}" in message
    assert message.endswith(f"{KEY} c b")


def test_both_sides_new_and_gone() -> None:
    assert "both languages" in compare({KEY: Line("a", "b")}, {KEY: Line("c", "d")})[KEY]
    assert "is new" in compare({}, {KEY: Line("a", "b")})[KEY]
    assert "is gone" in compare({KEY: Line("a", "b")}, {})[KEY]
    assert compare({KEY: Line("a", "b")}, {KEY: Line("a", "b")}) == {}


def test_wrapping_does_not_count() -> None:
    assert digest("T", "one two\nthree") == digest("T", "one\ntwo three") != digest("T", "one two four")
