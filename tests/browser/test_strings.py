"""The sentences: both languages say the same things, and whatever the code may say has a sentence."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def sentences(root):
    folder = root / "calculator/web/strings"
    return {
        language: json.loads((folder / f"{language}.json").read_text(encoding="utf-8")) for language in ("es", "en")
    }


def places(sentence):
    forms = [sentence] if isinstance(sentence, str) else list(sentence.values())
    return [sorted(set(re.findall(r"\{(\w+)\}", form))) for form in forms]


def test_both_languages_have_the_same_sentences(sentences):
    assert list(sentences["es"]) == list(sentences["en"])


def test_places_and_plurals_agree(sentences):
    for key, spanish in sentences["es"].items():
        english = sentences["en"][key]
        assert type(spanish) is type(english), key
        assert places(spanish)[0] == places(english)[0], key
        for sentence in (spanish, english):
            if isinstance(sentence, dict):
                assert set(sentence) == {"one", "other"}, key
                assert places(sentence)[0] == places(sentence)[1], key


def test_every_sentence_that_the_code_names_exists(root, sentences):
    named = set()
    for path in (root / "calculator/web").glob("*.js"):
        code = path.read_text(encoding="utf-8")
        named |= set(re.findall(r'say\("([\w.-]+)"', code))
    assert named - set(sentences["es"]) == set()


def test_every_sentence_is_said(root, sentences):
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (root / "calculator/web").iterdir()
        if path.suffix in (".js", ".mjs", ".py")
    )
    families = set(re.findall(r"[`\"]([\w.-]+\.)\$\{", code))  # `offers.${column}`
    families |= {f"{kind}." for kind in re.findall(r'name\("(\w+)"', code)}
    silent = [key for key in sentences["en"] if f'"{key}"' not in code and not key.startswith(tuple(families))]
    assert silent == ["language"]


def test_a_percentage_is_written_by_its_language(sentences, run_node):
    """17% in English, 17 % in Spanish, not to be broken: by `Format`, never in a sentence."""
    said = run_node(
        """
        import { Format } from "./format.js";
        console.log(JSON.stringify(["es", "en"].map((language) => new Format(language).percent(0.174))));
        """
    )
    assert said == ["17\u00a0%", "17%"]
    for language, said in sentences.items():
        assert [key for key, sentence in said.items() if "%" in str(sentence)] == [], language


def leaves(fields, above=""):
    for name, field in fields.items():
        if field.fields:
            yield from leaves(field.fields, f"{above}{name}.")
        else:
            yield above + name, field


def test_every_field_of_the_contract_has_a_label(sentences):
    """A link, a lever or a file may set any of them."""
    from ajuste.contract import REQUEST

    assert [name for name, _ in leaves(REQUEST) if f"field.{name}" not in sentences["es"]] == []


def test_every_choice_of_the_contract_has_words(sentences):
    from ajuste.contract import REQUEST

    choices = [
        f"value.{name}.{choice}"
        for name, field in leaves(REQUEST)
        for choice in field.choices or (field.items.choices if field.items else ())
    ]
    kinds = re.compile(r"(base_dtype|lora\.dtype)\.(bf16|fp16|fp32)$")  # names of number formats, the same everywhere
    assert [key for key in choices if key not in sentences["es"] and not kinds.search(key)] == []


def test_every_value_of_a_question_has_a_sentence(root, sentences):
    code = (root / "calculator/web/fields.js").read_text(encoding="utf-8")
    fields = re.findall(r'^  "?([\w.]+)"?: \{', code, flags=re.MULTILINE)
    assert len(fields) > 20
    assert [name for name in fields if f"field.{name}" not in sentences["es"]] == []


def test_terms_and_moments_of_the_estimator_have_names(sentences):
    from ajuste.memory import TERMS

    assert [name for name in TERMS if f"term.{name}" not in sentences["es"]] == []


def test_every_piece_of_advice_has_a_sentence(root, sentences):
    code = (root / "calculator/ajuste/advice.py").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:yield|else) "([a-z0-9-]+)"', code))
    assert len(named) > 20
    assert [name for name in named - {"warning"} if f"advice.{name}" not in sentences["es"]] == []


def test_everything_said_of_an_offer_has_a_sentence(sentences):
    from ajuste.offers import REASONS
    from ajuste.schema import OFFER
    from pipeline.schema import PRICES

    assumed = next(column.choices for column in PRICES.columns if column.name == "assumed")
    unknown = ("billing_granularity", "minimum_charge", "storage", "storage_stopped", "egress", "host")
    said = [*(f"assumed.{word}" for word in assumed), *(f"excluded.{reason}" for reason in REASONS)]
    said += [f"charge.{fact}" for fact in unknown]
    said += [f"price.{doubt}" for doubt in OFFER["properties"]["price_doubt"]["enum"] if doubt]
    assert [key for key in said if key not in sentences["es"]] == []


def test_numbers_and_links(root, run_node):
    """Written out by hand: what a person in each country would write."""
    said = run_node(
        """
        import { Format, readNumber } from "./format.js";
        import { fromFragment, toFragment } from "./link.js";
        const es = new Format("es"), en = new Format("en");
        const band = { low: 7.96, mid: 8.65, high: 9.5 };
        console.log(JSON.stringify([
            [es.gib(8.65), en.gib(8.65), es.gib(99.96), es.gibRange(band)],
            [es.number(10000), en.number(10000), es.number(2048), es.number(-3.14, 2)],
            [es.usd(0.684), en.usd(0.684), es.usd(1234.5), es.usd(0.001), es.usdRange({ low: 0.5, mid: 1, high: 2 })],
            [es.duration(0.61), es.duration(3.25), en.duration(50), en.durationRange({ low: 0.5, mid: 1, high: 2 })],
            [es.rate(3149), en.rate(12), es.date("2026-11-09"), en.date("2026-10")],
            [es.parameters(8030261248), en.parameters(8030261248)],
            ["2048", "2 048", "2.048", "2,048", "2.5", "dos", ""].map(text => readNumber(text, "integer", "es").value),
            ["2,5", "2.5", "1.234,5", "1,234.5", "x"].map(text => readNumber(text, "number", "es").value),
            [["1.234", "es"], ["1,234", "es"], ["1.234", "en"]].map(([text, one]) => readNumber(text, "number", one)),
            toFragment({ model: "a-b", "lora.rank": 8, transformers: "4.48", "filters.regions": ["eu"], x: true,
                         y: undefined }),
            fromFragment(toFragment({ model: { a: 1 }, transformers: "4.48", gpu: null, "lora.dropout": 0.5 })).request,
            [fromFragment("#offers"), fromFragment(""), fromFragment("#model=%ZZ").request],
        ]));
        """
    )
    thin, hard = "\u202f", "\u00a0"
    assert said == [
        [f"8,7{hard}GiB", f"8.7{hard}GiB", f"100{hard}GiB", f"8,0–9,5{hard}GiB"],
        [f"10{thin}000", "10,000", f"2{thin}048", "−3,14"],
        [f"US${hard}0,68", "$0.68", f"US${hard}1{thin}235", f"<{hard}US${hard}0,01", f"US${hard}0,50–2,00"],
        [f"37{hard}min", f"3,3{hard}h", f"2.1{hard}days", f"0.5–2.0{hard}h"],
        [f"3{thin}100", "12", f"9{hard}nov{hard}2026", f"Oct{hard}2026"],
        [f"8{thin}030{hard}M", f"8.03{hard}B"],
        [2048, 2048, 2048, 2048, None, None, None],
        [2.5, 2.5, 1234.5, 1234.5, None],
        [{"value": 1234, "echo": True}, {"value": 1.234, "echo": True}, {"value": 1.234, "echo": True}],
        "#model=a-b&lora.rank=8&transformers=%224.48%22&filters.regions=[%22eu%22]&x=true",
        {"model": {"a": 1}, "transformers": "4.48", "gpu": None, "lora.dropout": 0.5},
        [None, None, {"model": "%ZZ"}],
    ]


def test_a_crafted_link_stays_a_request(run_node):
    """A link may hold anything: no prototype is touched, nothing throws, and Python gets it all to refuse."""
    said = run_node(
        r"""
        import { unflatten } from "./fields.js";
        import { fromFragment, toFragment } from "./link.js";
        const link = "#model=a&__proto__.polluted=1&constructor.prototype=2&lora=5&lora.rank=4";
        const crafted = fromFragment(link).request;
        const nested = unflatten(crafted);
        console.log(JSON.stringify([
            ({}).polluted ?? null, Object.keys(nested), nested.lora,
            toFragment(fromFragment('#model="\\ud800"').request),
        ]));
        """
    )
    assert said == [None, ["model", "__proto__", "constructor", "lora"], {"rank": 4}, "#model=%EF%BF%BD"]


def test_whatever_an_answer_holds_is_escaped(run_node):
    said = run_node(
        """
        import { compact, html } from "./html.js";
        const evil = `<img src=x onerror="alert('1')">&`;
        console.log(JSON.stringify([
            String(html`<p title="${evil}">${evil}</p>`),
            String(html`${[1, [html`<b>${"<"}</b>`]]}${false}${null}${0}`),
            compact(html`<p>
                a <b>b</b>
            </p>`)]));
        """
    )
    safe = "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"
    assert said == [f'<p title="{safe}">{safe}</p>', "1<b>&lt;</b>0", "<p> a <b>b</b> </p>"]
