"""The site as an API: addresses and columns that others rely on, and the text of the rolling issue."""

import datetime
import json
from pathlib import Path

import jsonschema
import pytest

from pipeline.api import api, schemas
from pipeline.check import check, files_of
from pipeline.history import history
from pipeline.stale import dead_links, links, stale

TODAY = datetime.date(2026, 11, 30)

# Version 1 as published. A column may be added here; one that is taken away or renamed breaks somebody's program and
# needs version 2.
SHAPE = {
    "offers": "provider offer gpu gpus region purchase usd_per_hour vcpus ram_gib price_basis confidence "
    "assumed checked source_url note",
    "gpus": "id name vendor architecture compute_capability memory_label_gb nvidia_smi_mib usable_gib "
    "usable_basis memory_type memory_bandwidth_gb_per_s bf16_dense_tflops fp16_dense_tflops "
    "fp32_tflops int8_dense_tops fp8_dense_tflops fp4_dense_tflops gemm_measured_tflops interconnect "
    "interconnect_gb_per_s pcie_generation tdp_w ecc supports_bf16 supports_flash_attention_2 "
    "supports_fp8 release_year class source source_url checked note",
    "models": "id name family hf_id published_parameters published_parameters_source_url license gated released "
    "checked note config",
    "providers": "id name url kind domains price_regions note billing_granularity_seconds minimum_charge_seconds "
    "spot spot_notice_seconds stop persistent_storage storage_billed_while_stopped "
    "block_storage_usd_per_gb_month network_storage_usd_per_gb_month stopped_storage_usd_per_gb_month "
    "egress_usd_per_gb free_egress_gb_per_month host_usd_per_vcpu_hour host_usd_per_gib_hour "
    "ssh docker jupyter api autostop budget_alerts multi_node_link regions_eu regions_latam sources",
    "measurements": "id source source_path source_version source_url model hf_id method lora_rank lora_targets "
    "base_precision trained_precision optimizer micro_batch sequence_length packing "
    "gradient_checkpointing attention loss framework gpu gpus parallelism offload task "
    "trainable_parameters peak_gib peak_kind printed unit scope second_gib second_kind static_gib "
    "quality note",
    "bounds": "id source source_url model hf_id method lora_rank lora_targets base_precision optimizer "
    "micro_batch grad_accum sequence_length packing gradient_checkpointing attention loss framework "
    "gpu gpu_id gpus parallelism offload outcome value cause note",
    "throughput": "id source url framework model layers hidden ffn heads kv_heads head_dim vocabulary gated tied "
    "experts experts_per_token method quantization compute stack lora_targets lora_rank checkpointing "
    "padding micro_batch sequence_length mean_tokens grad_accum gpu gpus nodes strategy tp pp offload "
    "attention also tokens_per_s_per_gpu quality left_out note",
    "history": "provider offer region gpu gpus purchase readings",
}


@pytest.fixture(scope="module")
def published(root: Path) -> dict[str, dict]:
    data = check(files_of(root), TODAY).data
    return {path: json.loads(text) for path, text in api(data, history(root, data)).items()}


@pytest.mark.parametrize("name", SHAPE)
def test_a_published_list_keeps_its_columns(name: str, published: dict[str, dict]) -> None:
    content = published[f"{name}.json"]
    assert set(content) == {"version", "data", "license", name}
    assert content["version"] == "1"
    assert content["license"]["name"] == "CC0 1.0"
    for row in content[name]:
        assert list(row) == SHAPE[name].split()


@pytest.mark.parametrize("name", SHAPE)
def test_every_row_keeps_to_the_published_schema(name: str, published: dict[str, dict]) -> None:
    assert published[f"schema/{name}.json"] == schemas()[name]
    validator = jsonschema.Draft202012Validator(published[f"schema/{name}.json"])
    for row in published[f"{name}.json"][name]:
        assert [error.message for error in validator.iter_errors(row)] == []


def test_every_provider_and_gpu_has_its_file(published: dict[str, dict]) -> None:
    offers = published["offers.json"]["offers"]
    by_provider, by_gpu = [], []
    for provider in published["providers.json"]["providers"]:
        content = published[f"providers/{provider['id']}.json"]
        assert content["provider"] == provider
        by_provider += content["offers"]
    for gpu in published["gpus.json"]["gpus"]:
        content = published[f"gpus/{gpu['id']}.json"]
        assert content["gpu"] == gpu
        assert {row["gpu"] for row in content["history"]} <= {gpu["id"]}
        by_gpu += content["offers"]
    assert len(by_provider) == len(by_gpu) == len(offers)


def test_the_index_names_every_file(published: dict[str, dict]) -> None:
    assert published["index.json"]["files"] == sorted(path for path in published if path != "index.json")


def test_the_description_names_every_address_and_resolves(published: dict[str, dict]) -> None:
    described = published["openapi.json"]
    assert described["openapi"] == "3.1.0"
    assert set(described["paths"]) == {f"/{name}.json" for name in [*SHAPE, "providers/{id}", "gpus/{id}"]}
    known = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(references(described)) <= known


def references(node: object) -> list[str]:
    if isinstance(node, dict):
        return [
            *([node["$ref"]] if "$ref" in node else []),
            *(one for value in node.values() for one in references(value)),
        ]
    return [one for value in node for one in references(value)] if isinstance(node, list) else []


def test_old_rows_are_listed_with_their_form(with_prices, price: str) -> None:
    data = with_prices(price.replace("2026-11-09", "2026-09-30"), price.replace("1x", "2x"))
    text = stale(data, TODAY, [])
    assert "1 de 2 ofertas se vieron hace más de 60 días" in text
    assert "1 of 2 offers were seen over 60 days ago" in text
    assert "- `1x RTX 4090` · 61 d · [¿Sigue igual? / Still right?](" in text
    assert "provider=acme&offer=1x%20RTX%204090&gpu=rtx-4090-24gb&gpus=1&region=eu&purchase=on-demand" in text
    assert "2x RTX" not in text


def test_nothing_old_and_nothing_dead_is_no_issue(with_prices, price: str) -> None:
    assert stale(with_prices(price), TODAY, []) == ""


def test_the_issue_fits_into_an_issue(root: Path) -> None:
    data = check(files_of(root), TODAY).data
    assert len(stale(data, TODAY + datetime.timedelta(days=400), [])) < 65_536


def test_dead_links_are_named_with_their_reason(with_prices, price: str) -> None:
    data = with_prices(price)
    assert "https://acme.example/prices" in links(data)
    found = dead_links(links(data), lambda url: "404" if url.endswith("/prices") else "")
    assert found == [("https://acme.example/prices", "404")]
    assert "- <https://acme.example/prices> (404)" in stale(data, TODAY, found)
