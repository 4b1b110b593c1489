"""A small catalog, invented: its offers and facts are made so that bills can be worked out by hand."""

import json

import pytest

import ajuste

LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
TINY = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
}


def gpu(name: str, usable: float | None, **facts: object) -> dict:
    """An invented card, Ampere-like unless said otherwise."""
    row = {
        "id": name,
        "name": name,
        "vendor": "NVIDIA",
        "architecture": "Ampere",
        "compute_capability": "8.0",
        "memory_label_gb": 24,
        "usable_gib": usable,
        "usable_basis": "seen",
        "memory_type": "HBM2e",
        "memory_bandwidth_gb_per_s": 1000,
        "bf16_dense_tflops": 100,
        "fp16_dense_tflops": 100,
        "fp32_tflops": 20,
        "fp8_dense_tflops": None,
        "gemm_measured_tflops": 80,
        "interconnect": "pcie",
        "interconnect_gb_per_s": 32,
        "pcie_generation": 4,
        "tdp_w": 300,
        "supports_bf16": True,
        "supports_flash_attention_2": True,
        "supports_fp8": False,
        "class": "datacenter",
        "checked": "2026-11",
    }
    return row | facts


def offer(provider: str, card: str, price: float, **facts: object) -> dict:
    """An invented offer."""
    row = {
        "provider": provider,
        "offer": f"{facts.get('gpus', 1)}x {card}",
        "gpu": card,
        "gpus": 1,
        "region": "eu-west",
        "purchase": "on-demand",
        "usd_per_hour": price,
        "vcpus": 8,
        "ram_gib": 64,
        "price_basis": "listed",
        "confidence": "A",
        "assumed": [],
        "checked": "2026-11-20",
        "source_url": "https://example.org/prices",
    }
    return row | facts


BUNDLE = {
    "format": 1,
    "data": "2026-11-20",
    "as_of": "2026-11-30",
    "gpus": [
        gpu("small-8gb", 7.5, memory_label_gb=8),
        gpu("medium-24gb", 23.5),
        gpu("large-80gb", 79.0, memory_label_gb=80, bf16_dense_tflops=300, fp16_dense_tflops=300,
            gemm_measured_tflops=240, memory_bandwidth_gb_per_s=2000),
        gpu("old-16gb", 15.5, memory_label_gb=16, supports_bf16=False, supports_flash_attention_2=False,
            architecture="Turing", memory_type="GDDR6"),
        gpu("unknown-48gb", None, memory_label_gb=48),
        gpu("tensor-unit", 90.0, vendor="Google"),
    ],
    "models": [
        {"id": "llama-3.1-8b", "name": "Llama 3.1 8B", "hf_id": "meta-llama/Llama-3.1-8B",
         "published_parameters": 8030261248, "config": LLAMA_8B},
        {"id": "tiny", "name": "Tiny", "hf_id": "example/tiny", "published_parameters": None, "config": TINY},
    ],
    "providers": [
        {"id": "second", "kind": "neocloud", "billing_granularity_seconds": 1, "minimum_charge_seconds": 0,
         "block_storage_usd_per_gb_month": 0.1, "egress_usd_per_gb": 0.0, "persistent_storage": True,
         "autostop": True, "budget_alerts": True},
        {"id": "hourly", "kind": "hyperscaler", "billing_granularity_seconds": 3600, "minimum_charge_seconds": 3600,
         "block_storage_usd_per_gb_month": 0.1, "egress_usd_per_gb": 0.09, "persistent_storage": False},
        {"id": "vague", "kind": "marketplace"},
    ],
    "offers": [
        offer("second", "medium-24gb", 0.5),
        offer("second", "medium-24gb", 0.2, purchase="spot"),
        offer("second", "large-80gb", 2.0, region="us-east"),
        offer("second", "large-80gb", 15.0, gpus=8),
        offer("hourly", "medium-24gb", 0.6),
        offer("hourly", "small-8gb", 0.1, checked="2026-11-01"),
        offer("vague", "medium-24gb", 0.3, checked="2026-01-15", region=None),
        offer("vague", "medium-24gb", 0.9, gpus=2, price_basis="scaled"),
        offer("vague", "old-16gb", 0.15, checked="2026-11"),
        offer("vague", "unknown-48gb", 0.4),
        offer("vague", "tensor-unit", 0.4),
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def bundle() -> dict:
    return BUNDLE


@pytest.fixture(scope="session")
def catalog() -> ajuste.Catalog:
    return ajuste.load_catalog(json.dumps(BUNDLE))


@pytest.fixture(scope="session")
def real(catalog_text: str) -> ajuste.Catalog:
    """The catalog made from data/."""
    return ajuste.load_catalog(catalog_text)
