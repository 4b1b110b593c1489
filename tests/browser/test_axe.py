"""WCAG 2.2 AA by axe: no violation, both themes, both languages."""

import pytest

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(visitor, root):
    visitor.page.evaluate((root / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    found = visitor.page.evaluate(
        "runOnly => axe.run(document, { runOnly }).then(found => found.violations)",
        TAGS,
    )
    return [f"{rule['id']}: {node['html'][:160]} {node['failureSummary']}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_calculator_is_accessible(visit, root, language, theme, width):
    visitor = visit(viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce")
    visitor.open(f"{language}/calculator/")
    visitor.page.evaluate("document.querySelectorAll('.md-content details').forEach(fold => fold.open = true)")
    assert not (found := violations(visitor, root)), "\n".join(found)
    visitor.page.locator("#aj-model").click()
    assert not (found := violations(visitor, root)), "\n".join(found)
    visitor.page.keyboard.press("Escape")
    if width < 768:
        visitor.page.locator("[data-toggle=data]").click()
    visitor.page.locator("#aj-sequence_length").fill("x")
    assert not (found := violations(visitor, root)), "\n".join(found)


@pytest.mark.full
@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible(visit, root, site, language, theme):
    visitor = visit(color_scheme=theme, reduced_motion="reduce")
    found = []
    for path in sorted((site / language).rglob("index.html")):
        page = path.parent.relative_to(site).as_posix() + "/"
        visitor.page.goto(visitor.base + page)
        found += [f"{page}: {violation}" for violation in violations(visitor, root)]
    assert not found, "\n".join(found)
