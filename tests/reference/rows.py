"""The op-level reference as requests: one row of reference.csv, one request of the contract."""

import csv
import json
from pathlib import Path

HERE = Path(__file__).parent
MODELS = json.loads((HERE / "models.json").read_text())
MLP = ["gate_proj", "up_proj", "down_proj", "gate_up_proj"]
TARGETS = {"all": "all-linear", "attn": "attention", "qv": "qv", "mlp": MLP}
OPTIMIZER = {"adamw_fused": "adamw", "adamw_foreach": "adamw-foreach", "adamw8bit": "adamw-8bit"}
ATTENTION = {"sdpa": ("flash", "packed"), "eager": ("eager", "packed"), "sdpa_mask": ("sdpa", "padded")}
LOSS = {"hf": "default", "liger": "fused", "trl_chunked": "chunked"}
FULL = {"bf16": "bf16", "amp": "bf16-mixed", "fp32": "fp32"}
# Column precision of PEFT rows: (adapter dtype, autocast, kbit_upcast).
PEFT = {
    "bf16": ("fp32", False, False),
    "bf16_a16": ("bf16", False, False),
    "bf16_amp": ("fp32", True, False),
    "bf16_amp_a16": ("bf16", True, False),
    "prep": ("fp32", False, True),
    "prep_amp": ("fp32", True, True),
    "fp32": ("fp32", False, False),
}


def rows() -> list[dict]:
    with open(HERE / "reference.csv", newline="") as file:
        return list(csv.DictReader(file))


def request(row: dict) -> dict:
    """The request that asks for what a row simulated."""
    attention, padding = ATTENTION[row["attn"]]
    asked = {
        "model": MODELS[row["model"]],
        "method": row["method"],
        "framework": "hf",
        "transformers": "5.24",
        "micro_batch": int(row["mb"]),
        "sequence_length": int(row["seq"]),
        "grad_accum": int(row["grad_accum"]),
        "gradient_checkpointing": "full" if row["ckpt"] == "True" else "none",
        "attention": attention,
        "padding": padding,
        "loss": LOSS[row["loss"]],
        "optimizer": OPTIMIZER.get(row["optimizer"], row["optimizer"]),
        "outputs_alive": row["keep_outputs"] == "True",
    }
    if row["method"] == "full":
        return asked | {"precision": FULL[row["precision"]]}
    dtype, autocast, upcast = PEFT[row["precision"]]
    asked["lora"] = {
        "rank": int(row["rank"]),
        "targets": TARGETS[row["targets"]],
        "dtype": dtype,
        "dropout": float(row["dropout"]),
    }
    asked |= {"autocast": autocast, "kbit_upcast": upcast}
    if row["precision"] == "fp32":
        asked["base_dtype"] = "fp32"
    return asked
