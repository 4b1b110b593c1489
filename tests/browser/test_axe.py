"""WCAG 2.2 AA by axe: no violation, both themes, both languages."""

import pytest

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCHEMES = ("default", "slate")


@pytest.fixture(scope="session")
def axe(root):
    """The checker's own code."""
    return (root / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def violations(visitor, axe):
    """What is wrong with the page, in the light and in the dark."""
    if not visitor.page.evaluate("Boolean(window.axe)"):
        visitor.page.evaluate(axe)
    found = visitor.page.evaluate(
        """async ([tags, schemes]) => {
            const found = [];
            for (const scheme of schemes) {
                document.documentElement.dataset.scheme = scheme;
                document.body.dataset.mdColorScheme = scheme;
                // What does not depend on colour is looked at once.
                const runOnly = scheme === schemes[0] ? tags : { type: "rule", values: ["color-contrast"] };
                const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"] });
                for (const { id, nodes } of violations)
                    for (const { html, failureSummary } of nodes)
                        found.push(`${scheme}, ${id}: ${html.slice(0, 160)} ${failureSummary}`);
            }
            return found;
        }""",
        [TAGS, SCHEMES],
    )
    return [str(one) for one in found]


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("width", [390, 1440])
def test_calculator_is_accessible(visit, axe, language, width):
    visitor = visit(viewport={"width": width, "height": 900}, color_scheme="light", reduced_motion="reduce")
    visitor.open(f"{language}/calculator/")
    visitor.page.evaluate("document.querySelectorAll('.md-content details').forEach(fold => fold.open = true)")
    assert not (found := violations(visitor, axe)), "\n".join(found)
    visitor.page.locator("#aj-model").click()
    visitor.page.wait_for_selector("[data-answered]")  # the touch starts Python: no answer comes while axe measures
    assert not (found := violations(visitor, axe)), "\n".join(found)
    visitor.page.keyboard.press("Escape")
    if width < 768:
        visitor.page.locator("[data-toggle=data]").click()
    visitor.page.locator("#aj-sequence_length").fill("x")
    assert not (found := violations(visitor, axe)), "\n".join(found)


@pytest.mark.full
@pytest.mark.parametrize("language", ["es", "en"])
def test_every_page_is_accessible(visit, axe, site, language):
    visitor = visit(color_scheme="light", reduced_motion="reduce")
    found = []
    for path in sorted((site / language).rglob("index.html")):
        page = path.parent.relative_to(site).as_posix() + "/"
        visitor.page.goto(visitor.base + page)
        found += [f"{page}: {violation}" for violation in violations(visitor, axe)]
    assert not found, "\n".join(found)
