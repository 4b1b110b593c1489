"""Every external link of the guide is a row of data/links.csv, and every row is used."""

from __future__ import annotations

import datetime

from pipeline.guide import external_links, link_rows, unlisted_links


def test_every_link_is_a_row() -> None:
    missing = unlisted_links()
    assert not missing, f"add to data/links.csv where you saw it, when, and the claim it carries: {missing}"


def test_every_row_is_used() -> None:
    assert not {row["url"] for row in link_rows()} - set(external_links())


def test_rows_are_complete() -> None:
    rows = link_rows()
    assert [row["url"] for row in rows] == sorted({row["url"] for row in rows}), "sorted by url, each once"
    for row in rows:
        assert row["url"].startswith("https://"), row
        assert row["seen_in"], row
        assert len(row["claim"]) >= 10, row
        datetime.date.fromisoformat(row["checked"])
