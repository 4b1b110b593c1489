"""What a model family does that its config.json does not say: biases, norms, fused projections, module names.

One entry per `model_type` of Hugging Face. A value that a config may state is read from the config first; the entry
holds the default of the model's own code. Source: the configuration and modelling files of the public transformers
package (5.24) and of the models' own repositories, read 2026-11.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Module names by role. "all-linear", "attention" … and lists of names in a request are resolved against these.
LLAMA = {
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "o": "o_proj",
    "gate": "gate_proj",
    "up": "up_proj",
    "down": "down_proj",
    "qkv": "qkv_proj",
    "gate_up": "gate_up_proj",
    "head": "lm_head",
}
GPT2 = LLAMA | {"qkv": "c_attn", "o": "c_proj", "up": "c_fc", "down": "c_proj"}
BLOOM = LLAMA | {"qkv": "query_key_value", "o": "dense", "up": "dense_h_to_4h", "down": "dense_4h_to_h"}
CHATGLM = BLOOM | {"gate_up": "dense_h_to_4h", "head": "output_layer"}
QWEN = LLAMA | {"qkv": "c_attn", "o": "c_proj", "gate": "w2", "up": "w1", "down": "c_proj"}
INTERNLM2 = LLAMA | {"qkv": "wqkv", "o": "wo", "gate": "w1", "up": "w3", "down": "w2", "head": "output"}
MIXTRAL = LLAMA | {"expert_gate": "w1", "expert_up": "w3", "expert_down": "w2"}
MPT = LLAMA | {"qkv": "Wqkv", "o": "out_proj"}
OPT = LLAMA | {"o": "out_proj", "up": "fc1", "down": "fc2"}
PHI = LLAMA | {"o": "dense", "up": "fc1", "down": "fc2"}
GPTJ = LLAMA | {"o": "out_proj", "up": "fc_in", "down": "fc_out"}
STARCODER2 = LLAMA | {"up": "c_fc", "down": "c_proj"}
GRANITE_MOE = LLAMA | {"gate_up": "input_linear", "down": "output_linear"}
LFM2 = LLAMA | {"o": "out_proj", "gate": "w1", "up": "w3", "down": "w2"}
EXAONE = LLAMA | {"o": "out_proj", "gate": "c_fc_0", "up": "c_fc_1", "down": "c_proj"}


class Family(NamedTuple):
    """How one family differs from Llama. A string in place of a boolean names the config key that says it."""

    names: dict[str, str] = LLAMA
    norm: str = "rms"  # rms · gemma (1 + w, computed in fp32) · layer (with bias) · layer-no-bias · none (no weights)
    norms: int = 2  # norms over the hidden size in one layer
    final_norm: bool = True
    qkv_bias: bool | str = False
    o_bias: bool | str = False
    mlp_bias: bool | str = False
    head_bias: bool | str = False
    qk_norm: str = ""  # "" · head (over head_dim) · all (over all heads) · per-head (a weight for each head)
    qk_norm_key: str = ""  # the config key that turns the norms on; "" = always
    gated: bool = True
    fused_qkv: bool = False
    fused_gate: bool = False
    tied: bool = False  # when the config does not say
    learned_positions: bool = False
    position_offset: int = 0
    rotary: float = 1.0  # when the config does not say; 0 = ALiBi or none
    embedding_norm: bool = False
    softcap: bool = False
    scaled_embedding: bool = False
    expert_bias: bool = False
    expert_parameters: bool = False  # experts are parameters in every release, not linear modules in the older ones
    router_bias: bool = False
    sinks: bool = False
    half_ffn: bool = False  # the config states twice the width (Qwen 1)


_BIASED: dict[str, Any] = {"qkv_bias": True, "o_bias": True, "mlp_bias": True}
_ATTENTION_BIAS: dict[str, Any] = {"qkv_bias": "attention_bias", "o_bias": "attention_bias"}
_LLAMA_BIAS: dict[str, Any] = _ATTENTION_BIAS | {"mlp_bias": "mlp_bias"}
_GPT2 = Family(
    names=GPT2, norm="layer", gated=False, fused_qkv=True, tied=True, learned_positions=True, rotary=0, **_BIASED
)
_QWEN3 = Family(qk_norm="head", **_ATTENTION_BIAS)
_GEMMA = Family(norm="gemma", tied=True, scaled_embedding=True, **_ATTENTION_BIAS)
_GEMMA3 = _GEMMA._replace(norms=4, qk_norm="head")
_COHERE = Family(norm="layer-no-bias", norms=1, tied=True, **_ATTENTION_BIAS)
_FALCON = Family(names=BLOOM, norm="layer", gated=False, fused_qkv=True, tied=True, qkv_bias="bias", o_bias="bias")
_GRANITE_MOE = Family(names=GRANITE_MOE, fused_gate=True, expert_parameters=True, **_ATTENTION_BIAS)
_PHI3 = Family(fused_qkv=True, fused_gate=True)

FAMILIES: dict[str, Family] = {
    "llama": Family(**_LLAMA_BIAS),
    "mistral": Family(),
    "ministral": Family(),
    "ministral3": Family(),
    "mixtral": Family(names=MIXTRAL),
    "qwen": Family(names=QWEN, qkv_bias=True, fused_qkv=True, half_ffn=True),
    "qwen2": Family(qkv_bias=True),
    "qwen2_moe": Family(qkv_bias=True),
    "qwen2_vl_text": Family(qkv_bias=True),
    "qwen2_5_vl_text": Family(qkv_bias=True),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_vl_text": _QWEN3,
    "qwen3_vl_moe_text": _QWEN3,
    "qwen3_next": _QWEN3._replace(norm="gemma"),
    "qwen3_5_text": _QWEN3._replace(norm="gemma"),
    "qwen3_5_moe_text": _QWEN3._replace(norm="gemma"),
    "gemma": _GEMMA,
    "gemma2": _GEMMA._replace(norms=4, softcap=True),
    "gemma3_text": _GEMMA3,
    "gemma4_text": _GEMMA3._replace(expert_parameters=True, router_bias=True),
    "phi": Family(names=PHI, norm="layer", norms=1, gated=False, head_bias=True, rotary=0.5, **_BIASED),
    "phi3": _PHI3,
    "phi4_multimodal": _PHI3,
    "phimoe": Family(norm="layer", head_bias="lm_head_bias", **_ATTENTION_BIAS),
    "granite": Family(**_LLAMA_BIAS),
    "granitemoe": _GRANITE_MOE,
    "granitemoeshared": _GRANITE_MOE,
    "granitemoehybrid": _GRANITE_MOE,
    "bamba": Family(**_LLAMA_BIAS),
    "falcon_h1": Family(**_LLAMA_BIAS),
    "nemotron_h": Family(gated=False, norms=1, rotary=0, **_LLAMA_BIAS),
    "lfm2": Family(names=LFM2, qk_norm="head", tied=True),
    "lfm2_moe": Family(names=LFM2, qk_norm="head", tied=True),
    "olmo": Family(norm="none", **_ATTENTION_BIAS),
    "olmo2": Family(qk_norm="all", **_ATTENTION_BIAS),
    "olmo3": Family(qk_norm="all", **_ATTENTION_BIAS),
    "olmoe": Family(qk_norm="all", **_ATTENTION_BIAS),
    "smollm3": Family(tied=True, **_LLAMA_BIAS),
    "stablelm": Family(
        norm="layer", qkv_bias="use_qkv_bias", qk_norm="per-head", qk_norm_key="qk_layernorm", rotary=0.25
    ),
    "starcoder2": Family(
        STARCODER2, "layer", qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", gated=False, tied=True
    ),
    "gpt2": _GPT2,
    "gpt_bigcode": _GPT2,
    "gpt_neox": Family(names=BLOOM, norm="layer", gated=False, fused_qkv=True, rotary=0.25, **_BIASED),
    "gptj": Family(names=GPTJ, norm="layer", norms=1, mlp_bias=True, head_bias=True, gated=False),
    "opt": Family(OPT, "layer", gated=False, tied=True, learned_positions=True, position_offset=2, rotary=0, **_BIASED),
    "bloom": Family(
        names=BLOOM, norm="layer", gated=False, fused_qkv=True, tied=True, rotary=0, embedding_norm=True, **_BIASED
    ),
    "falcon": _FALCON,
    "mpt": Family(names=MPT, norm="layer-no-bias", gated=False, fused_qkv=True, tied=True, rotary=0),
    "cohere": _COHERE._replace(qk_norm="per-head", qk_norm_key="use_qk_norm"),
    "cohere2": _COHERE,
    "glm": Family(qkv_bias="attention_bias", fused_gate=True, rotary=0.5),
    "glm4": Family(qkv_bias="attention_bias", fused_gate=True, norms=4, rotary=0.5),
    "glm4_moe": Family(qkv_bias="attention_bias", qk_norm="head", qk_norm_key="use_qk_norm", router_bias=True),
    "glm4_moe_lite": Family(router_bias=True),
    "glm_moe_dsa": Family(router_bias=True),
    "chatglm": Family(CHATGLM, qkv_bias="add_qkv_bias", fused_qkv=True, fused_gate=True, rotary=0.5),
    "internlm": Family(qkv_bias="bias", o_bias="bias"),
    "internlm2": Family(INTERNLM2, qkv_bias="bias", o_bias="bias", fused_qkv=True),
    "internlm3": Family(qkv_bias="qkv_bias", o_bias="bias", mlp_bias="bias"),
    "baichuan": Family(names=LLAMA | {"qkv": "W_pack"}, fused_qkv=True),
    "minicpm": Family(tied=True),
    "minicpm3": Family(tied=True),
    "deepseek": Family(),
    "deepseek_v2": Family(),
    "deepseek_v3": Family(router_bias=True),
    "deepseek_v32": Family(router_bias=True),
    "kimi_k2": Family(router_bias=True),
    "gpt_oss": Family(
        qkv_bias=True, o_bias=True, expert_bias=True, expert_parameters=True, router_bias=True, sinks=True
    ),
    "llama4_text": Family(**_ATTENTION_BIAS),
    "seed_oss": Family(qkv_bias="attention_bias", o_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "jamba": Family(),
    "exaone": Family(names=EXAONE),
    "exaone4": Family(qk_norm="head"),
    "exaone_moe": Family(qk_norm="head", router_bias=True),
    "nemotron": Family(norm="layer", gated=False, rotary=0.5, **_LLAMA_BIAS),
    "arcee": Family(gated=False, **_LLAMA_BIAS),
    "helium": Family(**_LLAMA_BIAS),
    "solar_open": Family(router_bias=True, **_LLAMA_BIAS),
    "hyperclovax": Family(norms=4, **_LLAMA_BIAS),
    "flex_olmo": Family(qk_norm="all", **_ATTENTION_BIAS),
    "jais2": Family(norm="layer", gated=False, **_LLAMA_BIAS),
    "mellum": _QWEN3,
    "hy_v3": _QWEN3._replace(router_bias=True),
    "cohere2_moe": _COHERE,
    "vaultgemma": _GEMMA._replace(softcap=True),
    "codegen": Family(names=GPTJ, norm="layer", norms=1, fused_qkv=True, mlp_bias=True, head_bias=True, gated=False),
    "apertus": Family(gated=False, qk_norm="head", **_ATTENTION_BIAS),
    "hunyuan_v1_dense": Family(qk_norm="head", **_ATTENTION_BIAS),
    "hunyuan_v1_moe": Family(qk_norm="head", **_ATTENTION_BIAS),
    "ernie4_5": Family(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", tied=True),
    "ernie4_5_moe": Family(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", tied=True),
    "dots1": Family(qk_norm="head", router_bias=True, **_ATTENTION_BIAS),
    "mimo": Family(qkv_bias=True),
    "minimax_m2": Family(names=MIXTRAL, qk_norm="all", router_bias=True),
}
# Families whose fused experts PEFT still finds by the names they had as modules. Source: the conversion patterns of
# transformers 5.24 as PEFT 0.21 reads them.
CONVERTED = {
    *("mixtral", "minimax_m2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5_moe", "glm4_moe"),
    *("glm4_moe_lite", "glm_moe_dsa", "solar_open", "mellum", "qwen3_moe", "qwen3_next", "hunyuan_v1_moe"),
    *("flex_olmo", "olmoe", "exaone_moe", "cohere2_moe"),
}
