"""The collectors on recorded answers, good and hostile, and what of them enters a file of prices."""

import datetime
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.check import check, files_of
from pipeline.files import Data
from pipeline.refresh import akash, aws, azure, cudo, ecb, gpuhunt, oci, scaleway, skypilot, vultr
from pipeline.refresh.fetch import Fetch, Network, SourceError, parse_json
from pipeline.refresh.merge import merge, write
from pipeline.refresh.offer import choose
from pipeline.refresh.run import refresh, tell

TODAY = datetime.date(2026, 11, 30)
RECORDED = Path(__file__).parent / "recorded"
HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>"


class Recording:
    """Answers from a table of (piece of the address, bytes); the first that matches. Anything else is gone."""

    def __init__(self, *answers: tuple[str, bytes]) -> None:
        self.answers = answers

    def get(self, url: str) -> bytes:
        for piece, data in self.answers:
            if piece in url:
                return data
        raise SourceError(f"{url}: HTTP Error 404")

    def lines(self, url: str) -> Iterator[str]:
        return io.StringIO(self.get(url).decode(), newline="")


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


def packed(name: str, data: bytes | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, recorded(name) if data is None else data)
    return buffer.getvalue()


SKYPILOT = (("vms.csv&per_page", recorded("commits.json")), ("vms.csv", recorded("vast.csv")))
AZURE = (
    ("skip=1000", recorded("azure-2.json")),
    ("eastus", recorded("azure-1.json")),
    ("prices.azure.com", b'{"Items": []}'),
)
AWS = (("spot-advisor", recorded("spot-advisor.json")), ("us-east-1/index.csv", recorded("aws.csv")),
       ("index.csv", b"".join(recorded("aws.csv").splitlines(keepends=True)[:6])))  # fmt: skip
VULTR = (("plans-metal", recorded("vultr-metal.json")), ("plans?", recorded("vultr.json")))
AKASH = (("gpu-prices", recorded("akash.json")),)
CUDO = (("machine-types", recorded("cudo.json")),)
SCALEWAY = (("eurofxref", recorded("ecb.xml")), ("products?", recorded("scaleway.json")))
OCI = (("products/", recorded("oci.json")),)
GPUHUNT = (("nebius/latest", packed("nebius.csv")), ("runpod/latest", packed("runpod.csv")))


@pytest.fixture(scope="module")
def data(root: Path) -> Data:
    return check(files_of(root), TODAY).data


def brief(offers: list[dict]) -> list[tuple]:
    return sorted((offer["gpu"], offer["gpus"], offer["purchase"], offer["usd_per_hour"]) for offer in offers)


# --- recorded answers as they should be ---


def test_gpuhunt_gives_gpu_offers_with_their_exact_gpu(data: Data) -> None:
    offers = gpuhunt.collect(Recording(*GPUHUNT), data, TODAY, "nebius").offers["nebius"]
    assert brief(offers) == [
        ("h100-sxm-80gb", 1, "on-demand", 4.5),
        ("h100-sxm-80gb", 1, "spot", 1.8),
        ("h100-sxm-80gb", 8, "on-demand", 36.0),
        ("h200-sxm-141gb", 8, "on-demand", 43.2),
        ("h200-sxm-141gb", 8, "on-demand", 44.0),
        ("l40s-48gb", 1, "on-demand", 1.55),
    ]
    assert offers[0]["checked"] == "2026-11-30"
    assert offers[0]["source_url"].endswith("/nebius/latest/catalog.zip")


def test_gpuhunt_tells_runpods_two_clouds_apart(data: Data) -> None:
    offers = gpuhunt.collect(Recording(*GPUHUNT), data, TODAY, "runpod").offers
    assert brief(offers["runpod-community"]) == [("rtx-4090-24gb", 1, "on-demand", 0.34)]
    assert {gpu for gpu, *_ in brief(offers["runpod-secure"])} == {"rtx-4090-24gb", "a100-pcie-80gb", "a100-sxm-80gb"}


def test_skypilot_takes_its_date_from_the_last_commit_and_no_zero_spot(data: Data) -> None:
    collected = skypilot.collect(Recording(*SKYPILOT), data, TODAY, "vast")
    offers = collected.offers["vast"]
    assert brief(offers) == [
        ("h100-sxm-80gb", 1, "on-demand", 1.87),
        ("h100-sxm-80gb", 1, "spot", 1.1),
        ("rtx-4090-24gb", 1, "on-demand", 0.4),
        ("rtx-4090-24gb", 2, "on-demand", 0.79),
    ]
    assert {offer["checked"] for offer in offers} == {"2026-11-28"}
    assert list(collected.refused) == ["unknown GPU 'A100' of vast"]


def test_azure_follows_pages_and_leaves_windows_and_cpus(data: Data) -> None:
    offers = azure.collect(Recording(*AZURE), data, TODAY).offers["azure"]
    assert brief(offers) == [
        ("a100-pcie-80gb", 1, "on-demand", 3.673),
        ("a100-pcie-80gb", 1, "spot", 0.6788),
        ("t4-16gb", 1, "on-demand", 0.526),
    ]


def test_aws_takes_plain_hours_and_estimates_spot_from_the_advisor(data: Data) -> None:
    offers = aws.collect(Recording(*AWS), data, TODAY).offers["aws"]
    assert brief(offers) == [
        ("a10g-24gb", 1, "on-demand", 1.006),
        ("a10g-24gb", 1, "spot", 0.342),  # 1.006 × (1 − 0.66)
        ("h100-sxm-80gb", 8, "on-demand", 55.04),
        ("h100-sxm-80gb", 8, "spot", 26.4192),  # 55.04 × (1 − 0.52)
    ]
    spot = next(offer for offer in offers if offer["purchase"] == "spot")
    assert (spot["price_basis"], spot["assumed"]) == ("scaled", ["average"])
    assert spot["note"] == "Spot Advisor: interrupted in >20% of months"


def test_vultr_takes_whole_gpus_and_preemptible_metal(data: Data) -> None:
    collected = vultr.collect(Recording(*VULTR), data, TODAY)
    assert brief(collected.offers["vultr"]) == [
        ("a40-48gb", 1, "on-demand", 1.712),
        ("h100-sxm-80gb", 8, "on-demand", 23.92),
        ("h100-sxm-80gb", 8, "spot", 18.4),
    ]
    assert list(collected.refused) == ["unknown GPU or a part of one: 'NVIDIA_A100 4GB'"]


def test_akash_needs_enough_machines_for_an_average(data: Data) -> None:
    collected = akash.collect(Recording(*AKASH), data, TODAY)
    assert brief(collected.offers["akash"]) == [("h100-sxm-80gb", 1, "on-demand", 1.48)]
    assert sorted(collected.refused) == [
        "a100 SXM4 80Gi: fewer than 5 machines", "t4 PCIe 16Gi: no price in USD", "unknown GPU 'gtx1070ti PCIe 8Gi'",
    ]  # fmt: skip


def test_cudo_says_that_the_host_is_extra(data: Data) -> None:
    offers = cudo.collect(Recording(*CUDO), data, TODAY).offers["cudo"]
    assert brief(offers) == [("h100-sxm-80gb", 1, "on-demand", 2.25), ("rtx-a6000-48gb", 1, "on-demand", 0.45)]
    assert {tuple(offer["assumed"]) for offer in offers} == {("host_extra",)}


def test_scaleway_turns_euros_per_minute_into_dollars_per_hour(data: Data) -> None:
    collected = scaleway.collect(Recording(*SCALEWAY), data, TODAY)
    (offer,) = collected.offers["scaleway"]
    assert offer["usd_per_hour"] == 69.0  # 1 EUR × 60 × 1.15
    assert offer["note"] == "60 EUR/h at 1.15 USD per euro"
    assert list(collected.refused) == ["unknown GPU 'GeForce-3070'"]


def test_oci_multiplies_the_gpus_price_by_what_a_machine_has(data: Data) -> None:
    collected = oci.collect(Recording(*OCI), data, TODAY)
    assert brief(collected.offers["oci"]) == [
        ("a10-24gb", 1, "on-demand", 2.0), ("a10-24gb", 2, "on-demand", 4.0), ("a10-24gb", 4, "on-demand", 8.0),
        ("h100-sxm-80gb", 8, "on-demand", 80.0),
    ]  # fmt: skip
    assert list(collected.refused) == ["unknown GPU 'OCI - Compute - GPU - GB200'"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("currency='USD'", "currency='CHF'", "no rate of the dollar"),
        ("rate='1.1500'", "rate='115.00'", "115.0 USD per euro"),
        ("2026-11-27", "2026-11-02", "the rate is of 2026-11-02"),
        ("2026-11-27", "2026-13-27", "is no day"),
    ],
)
def test_no_rate_is_no_price(old: str, new: str, says: str, data: Data) -> None:
    rates = recorded("ecb.xml").replace(old.encode(), new.encode())
    with pytest.raises(SourceError, match=says):
        scaleway.collect(Recording(("eurofxref", rates), SCALEWAY[1]), data, TODAY)
    assert ecb.usd_per_euro(Recording(*SCALEWAY), TODAY) == 1.15


# --- hostile answers ---


def azure_with(**changes: object) -> tuple[tuple[str, bytes], ...]:
    page = json.loads(recorded("azure-2.json"))
    page["Items"][0] |= changes
    return (("prices.azure.com", json.dumps(page).encode()),)


def aws_with(old: str, new: str) -> tuple[tuple[str, bytes], ...]:
    return (AWS[0], ("us-east-1/index.csv", recorded("aws.csv").replace(old.encode(), new.encode())), AWS[2])


def hunt_with(old: str, new: str) -> tuple[tuple[str, bytes], ...]:
    return (("latest", packed("nebius.csv", recorded("nebius.csv").replace(old.encode(), new.encode()))),)


def vast_with(old: str, new: str) -> tuple[tuple[str, bytes], ...]:
    return (SKYPILOT[0], ("vms.csv", recorded("vast.csv").replace(old.encode(), new.encode())))


COLLECT = {
    "gpuhunt": lambda fetch, data: gpuhunt.collect(fetch, data, TODAY, "nebius"),
    "skypilot": lambda fetch, data: skypilot.collect(fetch, data, TODAY, "vast"),
    "azure": lambda fetch, data: azure.collect(fetch, data, TODAY),
    "aws": lambda fetch, data: aws.collect(fetch, data, TODAY),
    "vultr": lambda fetch, data: vultr.collect(fetch, data, TODAY),
    "akash": lambda fetch, data: akash.collect(fetch, data, TODAY),
    "cudo": lambda fetch, data: cudo.collect(fetch, data, TODAY),
    "scaleway": lambda fetch, data: scaleway.collect(fetch, data, TODAY),
    "oci": lambda fetch, data: oci.collect(fetch, data, TODAY),
}
CORRUPTED = packed("nebius.csv")[:60] + b"\0" * 40 + packed("nebius.csv")[100:]
HEADER = recorded("nebius.csv").split(b"\n")[0]
NAN_PRICE = recorded("azure-2.json").replace(b'"retailPrice": 0.526', b'"retailPrice": NaN')
ELSEWHERE = recorded("azure-1.json").replace(b"prices.azure.com:443", b"evil.example")
NO_METAL = b'{"plans_metal": []}'
FREE = recorded("vultr.json").replace(b"1.712", b"0")
IN_DOLLARS = recorded("scaleway.json").replace(b"EUR", b"USD")
BROKEN = {
    "gpuhunt: HTML": ("gpuhunt", (("latest", HTML),), "File is not a zip file"),
    "gpuhunt: truncated zip": ("gpuhunt", (("latest", packed("nebius.csv")[:-40]),), "File is not a zip file"),
    "gpuhunt: corrupted zip": ("gpuhunt", (("latest", CORRUPTED),), "catalog.zip"),
    "gpuhunt: another provider inside": ("gpuhunt", (("latest", packed("runpod.csv")),), "no item named 'nebius.csv'"),
    "gpuhunt: other columns": ("gpuhunt", hunt_with("price,", "cost,"), "other columns"),
    "gpuhunt: only the header": ("gpuhunt", (("latest", packed("nebius.csv", HEADER)),), "empty answer"),
    "gpuhunt: nothing": ("gpuhunt", (("latest", b""),), "File is not a zip file"),
    "gpuhunt: gone": ("gpuhunt", (), "404"),
    "skypilot: HTML": ("skypilot", (SKYPILOT[0], ("vms.csv", HTML)), "other columns"),
    "skypilot: empty": ("skypilot", (SKYPILOT[0], ("vms.csv", b"")), "other columns"),
    "skypilot: no commit": ("skypilot", (("per_page", b"[]"), SKYPILOT[1]), "no commit"),
    "skypilot: limited": ("skypilot", (("per_page", b'{"message": "rate limit"}'), SKYPILOT[1]), "no commit"),
    "skypilot: all prices zero": ("skypilot", (SKYPILOT[0], ("vms.csv", b"\n".join(
        [recorded("vast.csv").splitlines()[0], b"1x-RTX_4090,RTX4090,1.0,32.0,64.0,0.0,0.0,US,,"]))), "never 0"),
    "azure: HTML": ("azure", (("prices", HTML),), "not JSON"),
    "azure: half a page": ("azure", (("prices", recorded("azure-1.json")[:900]),), "not JSON"),
    "azure: empty list": ("azure", (("prices", b'{"Items": [], "NextPageLink": null}'),), "empty answer"),
    "azure: a list for a page": ("azure", (("prices", b"[]"),), "no Items"),
    "azure: NaN": ("azure", (("prices", NAN_PRICE),), "NaN"),
    "azure: zero": ("azure", azure_with(retailPrice=0.0), "never 0"),
    "azure: text for a price": ("azure", azure_with(retailPrice="0.526"), "must be a number"),
    "azure: euros": ("azure", azure_with(currencyCode="EUR"), "not USD"),
    "azure: pages without end": ("azure", (("prices", recorded("azure-1.json")),), "over 200 pages"),
    "azure: sent elsewhere": ("azure", (("prices", ELSEWHERE),), "sends us to"),
    **{f"{name}: HTML": (name, (("", HTML),), "") for name in ("vultr", "akash", "cudo", "scaleway", "oci")},
    **{f"{name}: an empty object": (name, (SCALEWAY[0], ("", b"{}")), "in the answer")
       for name in ("vultr", "akash", "cudo", "scaleway", "oci")},
    "vultr: half": ("vultr", (VULTR[0], ("plans?", recorded("vultr.json")[:300])), "not JSON"),
    "vultr: all zero": ("vultr", (("plans-metal", NO_METAL), ("plans?", FREE)), "never 0"),
    "akash: euros": ("akash", (("", recorded("akash.json").replace(b'"USD"', b'"EUR"')),), "no price in USD"),
    "cudo: no prices": ("cudo", (("", recorded("cudo.json").replace(b"gpuPriceHr", b"gpuPrice")),), "must be a number"),
    "scaleway: dollars": ("scaleway", (SCALEWAY[0], ("", IN_DOLLARS)), "not EUR"),
    "scaleway: no rate": ("scaleway", (("eurofxref", HTML), SCALEWAY[1]), "no rate of the dollar"),
    "oci: other currency": ("oci", (("", recorded("oci.json").replace(b'"USD"', b'"BRL"')),), "no offer left"),
    "aws: HTML": ("aws", (AWS[0], ("index.csv", HTML)), "no price list"),
    "aws: cut off": ("aws", (AWS[0], ("us-east-1/index.csv", recorded("aws.csv")[:-60]), AWS[2]), "cut off"),
    "aws: euros": ("aws", aws_with('"USD"', '"EUR"'), "not USD"),
    "aws: no advisor": ("aws", (("spot-advisor", b"{}"), *AWS[1:]), "other fields"),
    "aws: advisor is HTML": ("aws", (("spot-advisor", HTML), *AWS[1:]), "not JSON"),
    "aws: column gone": ("aws", aws_with('"CapacityStatus"', '"Capacity"'), "without ['CapacityStatus']"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_answer_is_a_clear_failure(case: str, data: Data) -> None:
    source, answers, says = BROKEN[case]
    with pytest.raises(SourceError) as failure:
        COLLECT[source](Recording(*answers), data)
    assert says in str(failure.value)


@pytest.mark.parametrize(
    ("source", "answers", "lost"),
    [
        ("gpuhunt", hunt_with("eu-north1,4.5,", "eu-north1,0.0,"), "never 0"),
        ("gpuhunt", hunt_with("eu-north1,4.5,", "eu-north1,nan,"), "must be a number"),
        ("gpuhunt", hunt_with("eu-north1,4.5,", "eu-north1,-4.5,"), "outside"),
        ("gpuhunt", hunt_with("1,L40S,48.0", "1,L40S,96.0"), "'L40S 96GB'"),
        ("gpuhunt", hunt_with("eu-north1,4.5,", "eu-north1,45000,"), "outside"),
        ("skypilot", vast_with("H100-SXM,1.0", "H100-SXM-160GB,1.0"), "'H100-SXM-160GB'"),
        ("aws", aws_with("1.0060000000", "0.0000000000"), "never 0"),
    ],
)
def test_one_bad_row_is_refused_by_name(source: str, answers: tuple, lost: str, data: Data) -> None:
    good_answers = {"gpuhunt": GPUHUNT, "skypilot": SKYPILOT, "aws": AWS}[source]
    good = COLLECT[source](Recording(*good_answers), data)
    collected = COLLECT[source](Recording(*answers), data)
    assert any(lost in why for why in collected.refused)
    assert 0 < sum(map(len, collected.offers.values())) < sum(map(len, good.offers.values()))


def test_a_plain_address_is_not_asked() -> None:
    with pytest.raises(SourceError, match="not https"):
        Network().get("http://prices.example/list.json")


def test_deep_json_is_refused() -> None:
    with pytest.raises(SourceError, match="not JSON"):
        parse_json("https://x.example", b"[" * 200_000)


# --- what enters a file ---


def offer(name: str, price: float, **more: object) -> dict:
    return {
        "offer": name, "gpu": "rtx-4090-24gb", "gpus": 1, "region": None, "purchase": "on-demand",
        "usd_per_hour": price,
        "vcpus": None, "ram_gib": None, "price_basis": "listed", "confidence": "A", "assumed": [],
        "checked": "2026-11-30", "source_url": "https://robot.example/list", "note": None,
    } | more  # fmt: skip


SOURCE = "https://robot.example/"


def merged(old: list[dict], new: list[dict], data: Data) -> dict[str, dict]:
    return {row["offer"]: row for row in merge("acme", old, new, SOURCE, data.prices).offers}


def test_a_source_renews_its_own_rows_and_no_others(data: Data) -> None:
    mine, gone, theirs = offer("a", 0.5), offer("b", 0.5), offer("c", 0.5, source_url="https://acme.example/prices")
    rows = merged([mine, gone, theirs, offer("d", 0.5)], [offer("a", 0.6), offer("d", 0.5), offer("e", 0.7)], data)
    assert set(rows) == {"a", "c", "d", "e"}
    assert rows["a"]["usd_per_hour"] == 0.6
    assert rows["c"] == theirs


def test_what_a_person_read_later_stands(data: Data) -> None:
    person = offer("a", 0.5, source_url="https://acme.example/prices", checked="2026-11-30")
    assert merged([person], [offer("a", 0.9, checked="2026-11-20")], data)["a"] == person
    assert merged([person | {"checked": "2026-11-01"}], [offer("a", 0.6)], data)["a"]["usd_per_hour"] == 0.6


def test_a_source_that_shrinks_changes_nothing(data: Data) -> None:
    old = [offer(str(number), 0.5) for number in range(10)]
    assert len(merged(old, old[:7], data)) == 7
    with pytest.raises(SourceError, match="10 rows became 6"):
        merge("acme", old, old[:6], SOURCE, data.prices)


def test_a_large_move_gets_a_note_and_a_remark(data: Data) -> None:
    result = merge("acme", [offer("a", 0.4, checked="2026-11-01")], [offer("a", 0.6)], SOURCE, data.prices)
    assert result.offers[0]["note"] == "moved +50% since 2026-11-01, read by a robot"
    assert result.remarks == ["acme a: 0.4 → 0.6 USD/h"]


def test_an_implausible_price_waits_for_a_person(data: Data) -> None:
    result = merge("acme", [], [offer("doubled", 40.0), offer("fine", 0.5)], SOURCE, data.prices)
    assert [row["offer"] for row in result.offers] == ["fine"]
    assert result.remarks == ["acme doubled: 40 USD/h is far from its GPU's median"]


def test_one_row_per_offer_or_the_wanted_regions() -> None:
    offers = [offer("a", 2, region="x"), offer("a", 1, region="y"), offer("a", 3, region="z")]
    assert [row["region"] for row in choose(offers, [])] == ["y"]
    assert [row["region"] for row in choose(offers, ["x", "z"])] == ["x", "z"]


class Killed(BaseException):
    """What stops a program from outside."""


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_stopped_while_writing_leaves_the_old_file(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "acme.csv"
    write(path, [offer("a", 0.5)])
    before = path.read_bytes()

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(os, "fsync", killed) if step == "fsync" else monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(Killed):
        write(path, [offer("a", 0.9), offer("b", 0.9)])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "acme.csv"
    assert write(path, [offer("a", 0.5)])
    assert not write(path, [offer("a", 0.5)])


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    for path, content in files_of(root).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def test_a_whole_refresh_leaves_valid_data_and_fails_source_by_source(copy: Path) -> None:
    fetch: Fetch = Recording(*GPUHUNT, *SKYPILOT)  # the other sources are gone
    data = check(files_of(copy), TODAY).data
    outcomes = refresh(copy, data, fetch, TODAY, ["aws", "gpuhunt-nebius", "skypilot-vast"])
    assert [(outcome.source, outcome.written) for outcome in outcomes] == [
        ("aws", []), ("gpuhunt-nebius", ["nebius"]), ("skypilot-vast", []),
    ]  # fmt: skip
    assert "404" in outcomes[0].failure
    assert any("kept as it was" in remark for remark in outcomes[2].remarks)  # 34 rows became 4
    report = check(files_of(copy), TODAY, data)
    assert report.red == []
    assert "❌ **aws**" in tell(outcomes)
    assert "✅ **gpuhunt-nebius** nebius" in tell(outcomes)
    new = next(row.values for row in report.data.prices if row.values["offer"] == "gpu-h200-sxm 8gpu-128vcpu-1600gb")
    assert (new["usd_per_hour"], new["region"], new["checked"]) == (43.2, "eu-north1", "2026-11-30")
