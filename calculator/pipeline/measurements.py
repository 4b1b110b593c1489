"""Published runs as requests: what each source's software did, so that a row is compared with the run it measured.

`read` is a pure function from a row of `data/measurements/memory.csv` to a request of the contract, or to the reason
why there is none. What a table does not say comes from the source's own code at that commit; each function says
which. No value here was chosen because it makes a figure fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

Row = dict[str, str]
Request = dict[str, Any]


class Reading(NamedTuple):
    """A row as a request, or the reason why it is none."""

    request: Request | None
    reason: str = ""


class NotOfferedError(Exception):
    """The row is a run that the contract has no words for, or that its source does not describe enough."""


# Repositories whose architecture is that of a catalog model.
SAME_MODEL = {
    "TheBloke/Mistral-7B-v0.1-GPTQ": "mistral-7b-v0.1",
    "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": "mixtral-8x7b",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b",
    "TheBloke/Llama-2-70B-GPTQ": "llama-2-70b",
    "NousResearch/Llama-2-70b-hf": "llama-2-70b",
    "TechxGenus/Meta-Llama-3-8B-GPTQ": "llama-3-8b",
    "meta-llama/Meta-Llama-3-8B-Instruct": "llama-3-8b",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "unsloth/mistral-7b-v0.2": "mistral-7b-v0.2",
    "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T": "tinyllama-1.1b",
    "unsloth/tinyllama-bnb-4bit": "tinyllama-1.1b",
    "unsloth/gpt-oss-20b": "gpt-oss-20b",
    "Qwen/Qwen-1_8B-Chat": "qwen-1.8b",
    "Qwen/Qwen-1_8B-Chat-Int4": "qwen-1.8b",
    "Qwen/Qwen-7B-Chat": "qwen-7b",
    "Qwen/Qwen-7B-Chat-Int4": "qwen-7b",
    "Qwen/Qwen-14B-Chat": "qwen-14b",
    "Qwen/Qwen-72B-Chat": "qwen-72b",
    "THUDM/chatglm3-6b": "chatglm3-6b",
    "baichuan-inc/Baichuan2-7B-Chat": "baichuan2-7b",
    "Qwen/Qwen1.5-7B-Chat-AWQ": "qwen1.5-7b",
    "ZhipuAI/GLM-4.5-Air": "glm-4.5-air",
    "moonshotai/Moonlight-16B-A3B-Instruct": "moonlight-16b-a3b",
    "unsloth/qwen3-14b-unsloth-bnb-4bit": "qwen3-14b",
    "Qwen/Qwen2.5-0.5B-Instruct": "qwen2.5-0.5b",
    "Qwen/Qwen2.5-1.5B-Instruct": "qwen2.5-1.5b",
    "Qwen/Qwen2.5-3B-Instruct": "qwen2.5-3b",
    "Qwen/Qwen2.5-7B-Instruct": "qwen2.5-7b",
    "mistralai/Devstral-Small-2507": "devstral-small-24b",
    "mistralai/Magistral-Small-2506": "mistral-small-24b",
    "mistralai/Magistral-Small-2507": "mistral-small-24b",
    "allenai/Olmo-3-7B-Instruct-SFT": "olmo-3-7b",
}
# Cards as the sources write them. PyTorch gives its cache back when a card is full, so a reserved peak ends there.
CARDS = {
    "A100 80GB": "a100-sxm-80gb",
    "A100-SXM4-80G": "a100-sxm-80gb",
    "A100-SXM4-40GB": "a100-sxm-40gb",
    "A10G 24GB": "a10g-24gb",
    "A800": "a100-sxm-80gb",
    "A800 80GB": "a100-sxm-80gb",
    "H100 80GB": "h100-sxm-80gb",
    "NVIDIA L40S": "l40s-48gb",
    "RTX 3090 24GB": "rtx-3090-24gb",
    "RTX 4090 24GB": "rtx-4090-24gb",
}
# Models that are nobody's catalog entry: the published config's shape.
SHAPES: dict[str, Request] = {
    "OpenBuddy/openbuddy-zephyr-7b-v14.1": {  # Mistral 7B with a longer vocabulary
        "model_type": "mistral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 36608,
        "tie_word_embeddings": False,
    },
}


def read(row: Row, models: dict[str, str]) -> Reading:
    """A row as a request.

    Args:
        row: of memory.csv.
        models: Hugging Face id → catalog id.
    """
    try:
        request = SOURCES.get(row["source"], unknown)(row)
        request["model"] = _model(row["hf_id"], models)
        if row["gpu"] in CARDS:
            request["gpu"] = CARDS[row["gpu"]]
    except NotOfferedError as error:
        return Reading(None, str(error))
    return Reading(request)


def _model(name: str, models: dict[str, str]) -> str | Request:
    if name in SHAPES:
        return SHAPES[name]
    known = SAME_MODEL.get(name) or models.get(name)
    if not known:
        raise NotOfferedError(f"model {name} is not in the catalog")
    return known


def _number(row: Row, name: str) -> int:
    """A whole number; some cells say in brackets where it comes from."""
    found = re.match(r"\d+(?= \(|$)", row[name])
    if not found:
        raise NotOfferedError(f"{name.replace('_', ' ')} is not stated")
    return int(found[0])


def _base(row: Row) -> Request:
    """What every source's rows say in the same way."""
    return {
        "micro_batch": _number(row, "micro_batch"),
        "sequence_length": _number(row, "sequence_length"),
        "gradient_checkpointing": "none" if row["gradient_checkpointing"] == "no" else "full",
    }


def _lora(row: Row, targets: str | list[str], dtype: str, dropout: float) -> Request:
    return {"rank": _number(row, "lora_rank"), "targets": targets, "dtype": dtype, "dropout": dropout}


def _ranks(row: Row) -> int:
    return int(row["gpus"])


# ----------------------------------------------------------------------------------------------------- sources


def fms(row: Row) -> Request:
    """foundation-model-stack/fms-acceleration: fms-hf-tuning's SFT trainer on one or more A100-80.

    From scripts/benchmarks: `adamw_torch`, checkpointing, FlashAttention 2, LoRA dropout 0.1 on fp32 adapters (PEFT
    0.12 and 0.13); `bf16` or `fp16` is set (autocast) in every quantised scenario and in all of the Liger table, not
    in the other full and LoRA ones. Transformers 4.48.1, Liger table 4.45.2, Orca tables 4.43 and 4.44. Without
    `foak` TRL prepares a 4-bit model on one GPU (fp32 norms), which the accelerated configurations avoid. FSDP is
    accelerate's FSDP1, which keeps trained flat parameters in fp32 under autocast.
    """
    if not row["sequence_length"]:
        raise NotOfferedError("the longest batch of this unpacked data set is not published")
    config = row["framework"].rsplit("config:", 1)[1].strip()
    liger_table = row["source_path"].endswith("_liger.csv")
    fast = "foak" in config
    request = _base(row) | {
        "framework": "hf",
        "transformers": "4.45" if liger_table else "4.48",
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "padding": "packed",
        "loss": "fused" if "liger" in config else "in-place" if fast else "default",
        "kernels": "unsloth" if fast else "none",
    }
    sharded = _ranks(row) > 1
    if row["method"] == "full":
        request |= {"method": "full", "precision": "bf16-mixed" if sharded and liger_table else "bf16"}
    else:
        targets = ["c_attn"] if "santacoder" in row["model"] else ["q_proj", "k_proj", "v_proj", "o_proj"]
        quantization = {"nf4": "nf4-nested", "gptq-int4": "gptq-int4"}.get(row["base_precision"], "none")
        request |= {
            "method": "lora" if quantization == "none" else "qlora",
            "quantization": quantization,
            "base_dtype": "fp16" if quantization == "gptq-int4" else "bf16",
            "autocast": quantization != "none" or liger_table,
            "kbit_upcast": config == "baseline-peft-bnb" and not sharded,
            "lora": _lora(row, targets, "fp32", 0.1),
        }
    if sharded:
        request["parallel"] = {"strategy": "fsdp1", "gpus_per_node": _ranks(row)}
    return request


def litgpt(row: Row) -> Request:
    """Lightning-AI/litgpt: its own model code, `bf16-true` unless the row says otherwise.

    From litgpt/finetune/lora.py and config_hub: adapters in the weights' dtype, dropout 0.05, no checkpointing on one
    device, the head and cross-entropy in chunks of 128 tokens that stay alive, torch's AdamW (foreach), bitsandbytes'
    paged AdamW with `--quantize`. FSDP1 with original parameters and without synchronising while accumulating.
    `transformers` tells the age of the stack, and with it bitsandbytes': the tutorials are of 2023, config_hub of 2024.
    """
    if row["method"].startswith("adapter_v2"):
        raise NotOfferedError("LLaMA-Adapter v2 trains a scale and a bias on every linear: not offered")
    if row["quality"] == "B":
        raise NotOfferedError("rank and targets of this documentation example are not stated")
    quantization = {"nf4": "nf4", "nf4 (double quant)": "nf4-nested"}.get(row["base_precision"], "none")
    mixed = row["base_precision"] == "fp32"
    request = _base(row) | {
        "framework": "litgpt",
        "optimizer": "paged-adamw" if row["optimizer"] == "bnb PagedAdamW" else "adamw-foreach",
        "attention": "flash",
        "padding": "packed",
        "loss": "chunked-kept",
        "grad_accum": 2,
    }
    if row["method"] == "full":
        return request | {"method": "full", "precision": "bf16", "loss": "default"}
    request |= {
        "quantization": quantization,
        "base_dtype": "fp32" if mixed else "bf16",
        "autocast": mixed,
        "kbit_upcast": False,
        "transformers": "4.40" if "config_hub" in row["source_path"] else "4.34",
    }
    if row["method"].startswith("adapter"):
        request |= {"method": "llama-adapter", "virtual_tokens": 10, "lora": {"dtype": "bf16"}}
    else:
        targets: str | list[str] = "qv"
        if "head" in row["lora_targets"]:
            targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"]
        request |= {
            "method": "lora" if quantization == "none" else "qlora",
            "lora": _lora(row, targets, "fp32" if mixed else "bf16", 0.05),
        }
    if _ranks(row) > 1:
        request["parallel"] = {"strategy": "fsdp1", "gpus_per_node": _ranks(row)}
    return request


PEFT_METHODS = {
    "adaption_prompt": "llama-adapter",
    "dora": "dora",
    "ia3": "ia3",
    "ln_tuning": "ln-tuning",
    "lora": "lora",
    "prefix": "prefix",
    "prompt": "prompt",
    "ptuning": "p-tuning",
    "vera": "vera",
}
LONGEST_METAMATH_BATCH = 686  # tokens; from the gap between two of the published runs, see data/measurements/README.md


def peft(row: Row) -> Request:
    """huggingface/peft: method_comparison/MetaMathQA, and one row of its documentation.

    From its run.py: weights in bf16, adapters in fp32, no autocast (`use_amp` false), torch's AdamW, no checkpointing,
    default attention (SDPA), texts of like length batched and padded, the cache emptied every ten steps.
    """
    if row["id"].startswith("peftdoc"):
        raise NotOfferedError("read off a screenshot; the tool is not known")
    if row["optimizer"] == "lora-fa":
        raise NotOfferedError("the LoRA-FA optimizer is not offered")
    method = PEFT_METHODS.get(row["method"])
    if method is None:
        raise NotOfferedError(f"method {row['method']} is not offered")
    request: Request = {
        "framework": "hf",
        "method": method,
        "micro_batch": _number(row, "micro_batch"),
        "sequence_length": LONGEST_METAMATH_BATCH,
        "gradient_checkpointing": "none",
        "base_dtype": "bf16",
        "autocast": False,
        "optimizer": "adamw-foreach",
        "attention": "sdpa",
        "padding": "padded",
        "dataset": {"group_by_length": True},
        "loss": "default",
    }
    if row["lora_rank"] and method in ("llama-adapter", "prefix", "prompt", "p-tuning"):
        request["virtual_tokens"] = _number(row, "lora_rank")
    elif row["lora_rank"]:
        request["lora"] = _lora(row, row["lora_targets"].split("+"), "fp32", 0.0)
    elif row["lora_targets"] and method == "ia3":
        request["lora"] = {"targets": row["lora_targets"].split("+"), "dtype": "fp32"}
    return request


def qwen(row: Row) -> Request:
    """QwenLM/Qwen: finetune.py under the Hugging Face trainer, right-padded to the stated length.

    From finetune.py and its shell scripts: LoRA rank 64, dropout 0.05; base models also train embeddings and head.
    The single-GPU LoRA script uses no DeepSpeed (`bf16`), Q-LoRA uses GPTQ int4 under ZeRO-2 in fp16, full
    fine-tuning ZeRO-3. Transformers 4.32 to 4.37. What measured the memory is not said.
    """
    notebook = "notebooks" in row["framework"]
    request = _base(row) | {
        "framework": "hf",
        "transformers": "4.37",
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "grad_accum": 16 if notebook else 8,
    }
    if row["method"] == "full":
        if notebook:
            return request | {"method": "full", "precision": "bf16"}
        return request | {
            "method": "full",
            "framework": "deepspeed",
            "precision": "bf16-master",
            "optimizer": "adamw",
            "parallel": {"strategy": "zero3", "gpus_per_node": _ranks(row)},
        }
    quantized = row["method"] == "qlora"
    if quantized:
        request["parallel"] = {"strategy": "zero2", "gpus_per_node": 1, "bucket_elements": 200_000_000}
    return request | {
        "method": row["method"],
        "quantization": "gptq-int4" if quantized else "none",
        "base_dtype": "fp16" if quantized else "bf16",
        "autocast": True,
        "kbit_upcast": False,
        "train_embeddings": "lm_head" in row["lora_targets"],
        "lora": _lora(row, ["c_attn", "c_proj", "w1", "w2"], "bf16", 0.05),
    }


def swift(row: Row) -> Request:
    """modelscope/ms-swift 1.x: its Benchmark.md, PyTorch's reserved peak.

    From its docs and swift/llm at that commit: LoRA rank 8 on the fused query-key-value, dropout 0.05, bf16 under
    autocast, `adamw_torch`, accumulation 16, samples longer than the cap are dropped, so the longest is just below.
    Packing fills each row up to the cap and no further: rows differ in length. The benchmark's texts have 3234 ± 2547
    tokens; the tuners' are not described, and are taken as spread evenly up to the cap.
    """
    if row["framework"] == "ms-swift megatron":
        raise NotOfferedError("a rounded figure in a script's header; the data set's lengths are not known")
    if row["method"] in ("lisa", "llamapro"):
        raise NotOfferedError(f"{row['method']} is not offered")
    if row["base_precision"] in ("aqlm-2bit", "nf4 (unsloth 4bit)"):
        raise NotOfferedError(f"{row['base_precision']}: not offered, or its rank is not stated")
    tuners, cap = "exp " in row["note"], _number(row, "sequence_length")
    request = _base(row) | {
        "framework": "ms-swift",
        "transformers": "4.38" if tuners else "4.36",
        "optimizer": "adamw-foreach",
        "attention": "eager" if row["attention"] == "eager" else "flash",
        "padding": "padding-free" if row["packing"] == "yes" else "padded",
        "dataset": {"mean_tokens": cap / 2 if tuners else _mean_below(cap, 3234, 2547)},
        "loss": "default",
        "grad_accum": 16,
    }
    if row["method"] in ("full", "galore"):
        request |= {"method": row["method"], "precision": "bf16"}
        if "+quantize" in row["note"]:  # `galore_quantization`: q_galore_torch's AdamW with 8-bit moments
            request["optimizer"] = "adamw-8bit"
    elif row["method"].startswith("adapter"):
        request |= {"method": "adapter", "bottleneck": 128, "base_dtype": "bf16", "autocast": True}
    else:
        targets = "all-linear" if row["lora_targets"] == "all linear" else "qkv"
        request |= {
            "method": row["method"],
            "quantization": _swift_quantization(row),
            "base_dtype": "bf16",
            "autocast": True,
            "kbit_upcast": False,
            "lora": _lora(row, targets, "fp32", 0.05),
        }
    if row["parallelism"].startswith("naive"):
        request["parallel"] = {"strategy": "device-map", "gpus_per_node": _ranks(row)}
    elif row["parallelism"] == "ddp":
        request["parallel"] = {"strategy": "ddp", "gpus_per_node": _ranks(row)}
    return request


def _mean_below(cap: int, mean: float, deviation: float) -> float:
    """Mean length of those texts of a log-normal collection that are not longer than `cap`."""
    spread = math.log(1 + (deviation / mean) ** 2) ** 0.5
    place = (math.log(cap / mean) + spread**2 / 2) / spread
    normal = NormalDist().cdf
    return round(mean * normal(place - spread) / normal(place), 1)


def _swift_quantization(row: Row) -> str:
    """AWQ packs as GPTQ with groups of 128 does."""
    base = row["base_precision"]
    if base.startswith("nf4"):
        return "nf4-nested"
    return {"gptq-int4": "gptq-int4", "awq-int4": "gptq-int4", "gptq-int8": "int8"}.get(base, "none")


def torchtitan(row: Row) -> Request:
    """pytorch/torchtitan, and pytorch/ao's training tables: FSDP2, fp32 parameters, bf16 compute, reserved peak.

    From torchtitan's llama3_8b.toml: fused AdamW, sequence 8192, selective checkpointing by operation. Since April 2025
    `compile` compiles the loss too, before that the blocks only, which leaves the logits as they are: such rows are
    asked for without `compile`.
    """
    if row["framework"].startswith(("torchtune", "torchao script")):
        raise NotOfferedError("micro-batch, length or model of this table are not stated")
    if row["gradient_checkpointing"].startswith("unknown"):
        raise NotOfferedError("checkpointing is not stated")
    compiled_loss = row["source_version"].endswith("2025-06") or "2.9" in row["source_version"]
    low = re.search("float8|mxfp8|tensorwise|rowwise", row["framework"] + row["note"], re.IGNORECASE)
    request = _base(row) | {
        "framework": "torchtune",
        "method": "full",
        "precision": "fp8-mixed" if low and "none (bfloat16)" not in row["framework"] else "bf16-mixed",
        "optimizer": "adamw",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "compile": "compile=yes" in row["framework"] and compiled_loss,
    }
    if row["gradient_checkpointing"].startswith("selective"):
        request["gradient_checkpointing"] = "selective"
    context = re.search(r"cp(\d+)", row["parallelism"])
    nodes = max(1, _ranks(row) // 8)
    request["parallel"] = {"strategy": "fsdp2", "gpus_per_node": _ranks(row) // nodes, "nodes": nodes}
    if context and int(context[1]) > 1:
        request["parallel"]["cp"] = int(context[1])
    return request


def internevo(row: Row) -> Request:
    """InternLM/InternEvo: doc/en/train_performance.md, A800, packed 2048 tokens, integers of an unstated tool.

    From internlm/ and configs/7B_sft.py: 16-bit gradients and an fp32 master copy (a ZeRO that grew out of
    ColossalAI's, buckets of 2²⁹), four micro-batches, FSDP with 16-bit parameters, synchronised at each of them.
    """
    parts = dict(re.findall(r"(tp|pp)(\d+)", row["parallelism"]))
    sharded = "fsdp=True" in row["parallelism"]
    return {
        "framework": "deepspeed",
        "method": "full",
        "precision": "bf16-master",
        "micro_batch": _number(row, "micro_batch"),
        "sequence_length": _number(row, "sequence_length"),
        "gradient_checkpointing": "full",
        "grad_accum": 4,
        "optimizer": "adamw",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "parallel": {
            "strategy": "fsdp1" if sharded else "zero1",
            "library": "colossalai",
            "bucket_elements": 2**29,
            "prefetch": 1,
            "sync_each_batch": True,
            "gpus_per_node": min(8, _ranks(row)),
            "nodes": max(1, _ranks(row) // 8),
            "tp": int(parts["tp"]),
            "pp": int(parts["pp"]),
        },
    }


def colossal(row: Row) -> Request:
    """hpcaitech/ColossalAI: ColossalChat's tables, Llama 2 7B, ZeRO-2, allocated peak.

    From applications/ColossalChat: bf16 weights and gradients, fp32 master (HybridAdam), checkpointing, FlashAttention,
    dummy data of the stated length, LowLevelZeroPlugin with its own bucket size. Its loops hold the logits, the
    reference model's too, in variables of their own, and leave `use_cache` on.
    """
    return _base(row) | {
        "framework": "deepspeed",
        "transformers": "4.39",
        "method": "full",
        "precision": "bf16-master",
        "task": row["task"],
        "outputs_alive": True,
        "optimizer": "adamw",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "gradient_checkpointing": "full",
        "parallel": {
            "strategy": "zero2",
            "library": "colossalai",
            "bucket_elements": 12 * 2**20,
            "gpus_per_node": _ranks(row),
            "offload": "none" if row["offload"] == "no" else "optimizer",
        },
    }


def megatron(row: Row) -> Request:
    """NVIDIA-NeMo/Megatron-Bridge: recipes on H100.

    The mixture-of-experts rows are what is left after the optimizer step (weights, fp32 gradient buffers, states: the
    experts' are whole where only one rank has them), which is the same whatever is recomputed.
    """
    if row["peak_kind"] == "allocated":
        raise NotOfferedError("allocated after the optimizer step: weights, gradient buffers and states, not the peak")
    raise NotOfferedError("selective recomputation of single modules and interleaved pipelines are not offered")


def notebooks(row: Row) -> Request:
    """unslothai/notebooks, unslothai/unsloth, huggingface/trl: stored outputs and README tables."""
    del row
    raise NotOfferedError("variable lengths below a cap: the longest sample is not published")


def can_i_finetune(row: Row) -> Request:
    """DaoyuanLi2816/can-i-finetune-this: its benchmark's own loop, one RTX 4080, allocated peak of two or three steps.

    From src/canifinetune/bench/runner.py: transformers 5 on torch 2.6, synthetic rows of full length, adapters on the
    attention, `prepare_model_for_kbit_training` for 4 bit, no autocast, outputs kept in a variable.
    """
    quantized = row["method"] == "qlora"
    return _base(row) | {
        "framework": "hf",
        "transformers": "5.0",
        "method": row["method"],
        "quantization": "nf4-nested" if quantized else "none",
        "base_dtype": "bf16",
        "autocast": False,
        "kbit_upcast": quantized,
        "lora": _lora(row, row["lora_targets"], "fp32", 0.0),
        "optimizer": row["optimizer"].replace("_", "-"),
        "attention": "sdpa",
        "padding": "packed",
        "loss": "default",
        "outputs_alive": True,
        "grad_accum": 1,
    }


def fsdp_qlora(row: Row) -> Request:
    """AnswerDotAI/fsdp_qlora: train.py under FSDP1, everything in bf16, rows of full length.

    From train.py: adapters of rank 64 and dropout 0.1 on all linears, reentrant checkpointing, torch's AdamW (foreach),
    the loop's variable holds the outputs, NO_SHARD for "ddp". Transformers 4.38. What it reserves includes wrapping,
    before training: with one short row that is the peak, as the source says itself.
    """
    if row["sequence_length"] == "512" and row["peak_kind"] == "reserved":
        raise NotOfferedError("the reserved peak is that of wrapping the model: it is the same with longer rows")
    quantized, offloads = row["method"] == "qlora", row["offload"] != "no"
    return _base(row) | {
        "framework": "hf",
        "transformers": "4.38",
        "method": row["method"],
        "quantization": "nf4-nested" if quantized else "none",
        "base_dtype": "bf16",
        "autocast": False,
        "kbit_upcast": False,
        "lora": _lora(row, "all-linear", "bf16", 0.1),
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "outputs_alive": True,
        "activation_offload": "activations" in row["offload"],
        "grad_accum": 1,
        "parallel": {
            "strategy": row["parallelism"],
            "gpus_per_node": _ranks(row),
            "offload": "all" if offloads else "none",
        },
    }


def torchtune(row: Row) -> Request:
    """pytorch/torchtune: the table of optimization flags, Llama 3.2 3B on one A100, peak of what is in use.

    From the recipes' configs: bf16 throughout, fused AdamW, adapters on all linears but the keys'. The model of
    2024 gave fp32 logits until the loss became chunked.
    """
    if row["loss"] == "none" and "compile" in row["framework"]:
        raise NotOfferedError("a compiled loss on logits that the model has turned to fp32 is not offered")
    if "8bit" in row["optimizer"]:
        raise NotOfferedError("torchao's 8-bit AdamW works on fp32 copies: offered is bitsandbytes'")
    request = _base(row) | {
        "framework": "torchtune",
        "method": row["method"],
        "optimizer": "adamw",
        "optimizer_in_backward": "backward" in row["optimizer"],
        "compile": "compile" in row["framework"],
        "activation_offload": "offload" in row["framework"],
        "attention": "sdpa",
        "padding": "packed",
        "loss": "chunked-kept" if row["loss"] == "chunked" else "default",
        "grad_accum": 1,
    }
    if row["method"] == "full":
        return request | {"precision": "bf16"}
    targets = ["q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    return request | {
        "quantization": "nf4-nested" if row["method"] == "qlora" else "none",
        "base_dtype": "bf16",
        "lora": _lora(row, targets, "bf16", 0.0),
    }


def axolotl(row: Row) -> Request:
    """axolotl-ai-cloud/axolotl: figures that the READMEs of its examples give for a configuration that stands beside.

    Packed rows, cut cross-entropy, FlashAttention. Its FSDP2 trains bf16 weights as loaded; accelerate before 1.11
    reduces their gradients at every micro-step. Whether a figure was read before the first evaluation, whose logits are
    whole, is not said. gpt-oss of August 2025 ran on transformers 4.55.
    """
    if row["method"] == "lora":
        raise NotOfferedError("the reserved peak is that of loading: MXFP4 is unpacked on the GPU by 64-bit indices")
    optimizers = {"adamw_torch": "adamw-foreach", "adamw_torch_fused": "adamw"}
    request = _base(row) | {
        "framework": "axolotl",
        "method": row["method"],
        "optimizer": optimizers.get(row["optimizer"], "adamw-8bit"),
        "grad_accum": int(row["note"].rsplit(" ", 1)[1]),
        "attention": "flash",
        "padding": "packed",
        "loss": "fused",
        "activation_offload": "offloaded" in row["gradient_checkpointing"],
    }
    if row["method"] == "full":
        return request | {
            "transformers": "4.55",
            "precision": "bf16",
            "parallel": {
                "strategy": "fsdp2",
                "gpus_per_node": _ranks(row),
                "offload": "none" if row["offload"] == "no" else "all",
                "sync_each_batch": True,
            },
        }
    dropout = re.search(r"dropout ([\d.]+)", row["framework"])
    return request | {
        "quantization": "nf4-nested" if row["method"] == "qlora" else "none",
        "base_dtype": "bf16",
        "autocast": True,
        "lora": {
            "rank": _number(row, "lora_rank"),
            "targets": "all-linear",
            "dropout": float(dropout[1]) if dropout else 0,
        },
    }


def smoke(row: Row) -> Request:
    """calculator/smoke/smoke.py, contributed: its own loop on one GPU, every row of the longest length, under SDPA."""
    quantized = row["base_precision"] in ("nf4", "nf4-nested", "int8")
    half = "bf16" if quantized else row["base_precision"]
    request = _base(row) | {
        "framework": "hf",
        "method": row["method"],
        "quantization": row["base_precision"] if quantized else "none",
        "optimizer": row["optimizer"],
        "attention": "sdpa",
        "padding": "packed",
        "loss": "default",
        "kbit_upcast": False,
    }
    if row["method"] == "full":
        return request | {"precision": half}
    named = row["lora_targets"]
    lora = _lora(row, named if named in ("all-linear", "attention", "qkv", "qv") else named.split(), "fp32", 0.0)
    return request | {"base_dtype": half, "autocast": "autocast on" in row["note"], "lora": lora}


def unknown(row: Row) -> Request:
    """A source whose software nobody has described here yet: its rows are data, and not compared."""
    raise NotOfferedError(f"how {row['source']} measures is not described")


SOURCES: dict[str, Callable[[Row], Request]] = {
    "smoke test": smoke,
    "foundation-model-stack/fms-acceleration": fms,
    "Lightning-AI/litgpt": litgpt,
    "huggingface/peft": peft,
    "QwenLM/Qwen": qwen,
    "modelscope/ms-swift": swift,
    "pytorch/torchtitan": torchtitan,
    "pytorch/ao": torchtitan,
    "InternLM/InternEvo": internevo,
    "hpcaitech/ColossalAI": colossal,
    "NVIDIA-NeMo/Megatron-Bridge": megatron,
    "unslothai/unsloth": notebooks,
    "unslothai/notebooks": notebooks,
    "huggingface/trl": notebooks,
    "DaoyuanLi2816/can-i-finetune-this": can_i_finetune,
    "AnswerDotAI/fsdp_qlora": fsdp_qlora,
    "pytorch/torchtune": torchtune,
    "axolotl-ai-cloud/axolotl": axolotl,
}


# ------------------------------------------------------------------------------------------------------ bounds

# Shapes of llm-foundry's MPT benchmark: width, heads, layers.
MPT = {
    "125m": (768, 12, 12),
    "350m": (1024, 16, 24),
    "760m": (1536, 12, 24),
    "1b": (2048, 16, 24),
    "3b": (2560, 20, 32),
    "7b": (4096, 32, 32),
    "13b": (5120, 40, 40),
    "30b": (7168, 56, 48),
    "70b": (8192, 64, 80),
}


def read_bound(row: Row, models: dict[str, str]) -> Reading:
    """A row of bounds.csv (out of memory, or fits) as a request for its own card."""
    try:
        request = BOUNDS.get(row["source"], _no_bound)(row)
        if not row["gpu_id"]:
            raise NotOfferedError("the card is not stated")
        request["gpu"] = row["gpu_id"]
        if "model" not in request:
            request["model"] = _model(row["hf_id"], models)
    except NotOfferedError as error:
        return Reading(None, str(error))
    return Reading(request)


def _no_bound(row: Row) -> Request:
    del row
    raise NotOfferedError("one configuration of a chart, not described enough")


def _fms_bound(row: Row) -> Request:
    """Blank rows of the same benchmark: the same configurations, packed to 4096 tokens."""
    return fms(row | {"sequence_length": "4096", "source_path": row["source_url"]})


def _litgpt_bound(row: Row) -> Request:
    """Rows of litgpt's tables that print OOM. Rank 8 on queries and values in the tutorial, 16 on all in config_hub."""
    if row["gpus"] == "4" and row["model"] == "Falcon 40 B":
        raise NotOfferedError("the four-device row does not say its checkpointing")
    hub = "config_hub" in row["source_url"]
    full = row["method"] == "full"
    filled = {
        "lora_rank": row["lora_rank"] or ("16" if hub else "8"),
        "lora_targets": "q+k+v+proj(o)+mlp+head" if hub and not full else "q+v",
        "base_precision": {"bnb.nf4-dq": "nf4 (double quant)"}.get(row["base_precision"], row["base_precision"]),
        "gradient_checkpointing": "yes" if full else "no",
        "quality": "A",
        "source_path": row["source_url"],
    }
    return litgpt(row | filled) | ({} if row["gpus"] == "1" or not full else {"method": "full"})


def _swift_bound(row: Row) -> Request:
    return swift(row | {"note": "", "lora_targets": "", "parallelism": "naive"})


def _mpt_bound(row: Row) -> Request:
    """mosaicml/llm-foundry: Composer and FSDP1, fp32 weights under autocast, decoupled AdamW, tokens packed.

    Its loss is flash-attention's cross-entropy: 16-bit logits and their gradient, nothing else, which is what a
    compiled loss keeps. Micro-batches were chosen by hand so that the run fits.
    """
    width, heads, layers = MPT[row["model"].removeprefix("MPT-")]
    return {
        "model": {
            "model_type": "mpt",
            "d_model": width,
            "n_heads": heads,
            "n_layers": layers,
            "max_seq_len": _number(row, "sequence_length"),
            "vocab_size": 50368,
            "no_bias": True,
        },
        "framework": "hf",
        "method": "full",
        "precision": "fp8-mixed" if "fp8" in row["base_precision"] else "bf16-mixed",
        "micro_batch": _number(row, "micro_batch"),
        "sequence_length": _number(row, "sequence_length"),
        "gradient_checkpointing": "full" if row["gradient_checkpointing"] == "yes" else "none",
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "padding": "packed",
        "loss": "default",
        "compile": True,
        "parallel": {
            "strategy": "fsdp1",
            "gpus_per_node": min(8, _ranks(row)),
            "nodes": max(1, _ranks(row) // 8),
            "reshard_after_forward": row["parallelism"] != "fsdp shard_grad_op",
        },
    }


def _case(row: Row) -> Request:
    """Threads of users: those that state model, method, precision, card, count, micro-batch and length."""
    if row["id"] == "C391":
        raise NotOfferedError("micro-batch is not stated")
    if row["id"] not in CASES:
        raise NotOfferedError("the thread does not state its whole configuration")
    return {"micro_batch": _number(row, "micro_batch"), "attention": "sdpa", "padding": "packed"} | CASES[row["id"]]


LLAMA_FACTORY: Request = {"framework": "llama-factory", "method": "lora", "gradient_checkpointing": "full"}
ALPACA_LORA: Request = {  # prepare_model_for_int8_training and fp16=True, LoRA on queries and values, padded to 256
    "framework": "hf",
    "method": "lora",
    "quantization": "int8",
    "base_dtype": "fp16",
    "kbit_upcast": True,
    "autocast": True,
    "transformers": "4.28",
    "optimizer": "adamw-foreach",
    "lora": {"rank": 8, "targets": "qv", "dtype": "fp32", "dropout": 0.05},
    "gradient_checkpointing": "full",
    "sequence_length": 256,
    "grad_accum": 32,
}
# What a thread states, as the contract's fields; its model is the catalog's of that family and size.
CASES: dict[str, Request] = {
    "C132": LLAMA_FACTORY
    | {
        "model": "llama-3-8b",
        "sequence_length": 8192,
        "base_dtype": "bf16",
        "lora": {"rank": 8, "targets": "qv"},
        "parallel": {"strategy": "zero3", "gpus_per_node": 8},
        "transformers": "4.40",
    },
    # DeepSpeed does not shard bitsandbytes weights: every rank loads the whole model.
    "C134": LLAMA_FACTORY
    | {
        "model": "llama-3-70b",
        "method": "qlora",
        "sequence_length": 2048,
        "lora": {"rank": 8, "targets": "qv"},
        "parallel": {"strategy": "ddp", "gpus_per_node": 8},
        "transformers": "4.40",
    },
    "C141": {
        "model": "llama-3-8b",
        "framework": "unsloth",
        "method": "qlora",
        "sequence_length": 9900,
        "lora": {"rank": 16, "targets": "all-linear"},
        "loss": "in-place",
        "transformers": "4.40",
        "grad_accum": 4,
    },
    "C157": {
        "model": "llama-7b",
        "framework": "hf",
        "method": "full",
        "precision": "fp16-mixed",
        "sequence_length": 512,
        "gradient_checkpointing": "none",
        "optimizer": "adamw-foreach",
        "grad_accum": 8,
        "attention": "eager",
        "transformers": "4.28",
        "parallel": {"strategy": "fsdp1", "gpus_per_node": 5},
    },
    "C164": {
        "model": "llama-65b",
        "framework": "hf",
        "method": "qlora",
        "kbit_upcast": True,
        "sequence_length": 512,
        "lora": {"rank": 64, "targets": "all-linear", "dtype": "fp32", "dropout": 0.05},
        "gradient_checkpointing": "full",
        "optimizer": "paged-adamw",
        "grad_accum": 4,
        "attention": "eager",
        "transformers": "4.30",
    },
    "C227": {
        "model": "llama-2-13b",
        "framework": "hf",
        "method": "full",
        "precision": "bf16-mixed",
        "sequence_length": 2048,
        "gradient_checkpointing": "full",
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "transformers": "4.31",
    },
    "C249": LLAMA_FACTORY
    | {
        "model": "mixtral-8x7b",
        "sequence_length": 1024,
        "base_dtype": "fp16",
        "lora": {"rank": 8, "targets": "qv"},
        "parallel": {"strategy": "ddp", "gpus_per_node": 8},
        "transformers": "4.37",
    },
    "C266": {
        "model": "vicuna-7b",
        "framework": "hf",
        "method": "qlora",
        "quantization": "nf4",
        "base_dtype": "fp16",
        "kbit_upcast": True,
        "sequence_length": 1024,
        "lora": {"rank": 8, "targets": "qv", "dtype": "fp32", "dropout": 0.05},
        "gradient_checkpointing": "none",
        "optimizer": "adamw-foreach",
        "attention": "eager",
        "transformers": "4.31",
    },
    "C267": {
        "model": "vicuna-7b",
        "framework": "deepspeed",
        "method": "full",
        "precision": "bf16-master",
        "sequence_length": 2048,
        "gradient_checkpointing": "full",
        "grad_accum": 16,
        "attention": "flash",
        "transformers": "4.31",
        # srun starts one `deepspeed` launcher a node, without a host file: two jobs of four ranks
        "parallel": {"strategy": "zero2", "gpus_per_node": 4},
    },
    "C362": ALPACA_LORA | {"model": "llama-7b"},
    "C364": ALPACA_LORA | {"model": "llama-7b"},
    "C381": ALPACA_LORA | {"model": "llama-13b", "grad_accum": 64},
    "C377": LLAMA_FACTORY
    | {
        "model": "llama-3.3-70b",
        "method": "qlora",
        "quantization": "gptq-int4",
        "sequence_length": 2048,
        "lora": {"rank": 8, "targets": "all-linear"},
        "grad_accum": 8,
        "parallel": {"strategy": "ddp", "gpus_per_node": 2},
        "transformers": "4.48",
    },
    "C401": {
        "model": "qwen-72b",
        "framework": "ms-swift",
        "method": "lora",
        "sequence_length": 2048,
        "lora": {"rank": 8, "targets": "qkv"},
        "gradient_checkpointing": "full",
        "grad_accum": 4,
        "transformers": "4.38",
        "parallel": {"strategy": "ddp", "gpus_per_node": 8},
    },
    "C414": {
        "model": "llama-2-13b",
        "framework": "hf",
        "method": "full",
        "precision": "bf16-mixed",
        "sequence_length": 512,
        "gradient_checkpointing": "full",
        "grad_accum": 2,
        "optimizer": "adamw-foreach",
        "attention": "flash",
        "transformers": "4.31",
        "parallel": {"strategy": "none", "gpus_per_node": 2, "tp": 2},
    },
}

BOUNDS: dict[str, Callable[[Row], Request]] = {
    "foundation-model-stack/fms-acceleration": _fms_bound,
    "Lightning-AI/litgpt": _litgpt_bound,
    "modelscope/ms-swift": _swift_bound,
    "mosaicml/llm-foundry": _mpt_bound,
    "AnswerDotAI/fsdp_qlora": fsdp_qlora,
    "case": _case,
}
