"""What a model family does that its config.json does not say: biases, norms, fused projections, module names.

One line per `model_type` of Hugging Face. A value that a config may state is read from the config first; the
line holds the default of the model's own code. Source: the configuration and modelling files of the public
transformers package (v4.57 and v5), read 2026-11.
"""

from typing import NamedTuple

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
GPT2 = {"qkv": "c_attn", "o": "c_proj", "up": "c_fc", "down": "c_proj", "head": "lm_head"}
NEOX = {
    "qkv": "query_key_value",
    "o": "dense",
    "up": "dense_h_to_4h",
    "down": "dense_4h_to_h",
    "head": "embed_out",
}


class Family(NamedTuple):
    """How one family differs from Llama."""

    names: dict[str, str] = LLAMA
    norm: str = "rms"  # rms · gemma (1 + w, computed in fp32) · layer (with bias)
    norms: int = 2  # norms over the hidden size in one layer
    final_norm: bool = True
    qkv_bias: bool | str = False  # a string names the config key that says it
    o_bias: bool | str = False
    mlp_bias: bool | str = False
    head_bias: bool = False
    qk_norm: str = ""  # "" · head (over head_dim) · all (over all heads) · each (over head_dim, a weight per head)
    gated: bool = True
    fused_qkv: bool = False
    fused_gate: bool = False
    tied: bool = False  # when the config does not say
    learned_positions: bool = False
    position_offset: int = 0
    embedding_norm: bool = False
    logit_softcap: bool = False
    scaled_embedding: bool = False


FAMILIES: dict[str, Family] = {
    "llama": Family(qkv_bias="attention_bias", o_bias="attention_bias", mlp_bias="mlp_bias"),
    "mistral": Family(),
    "ministral": Family(),
    "qwen2": Family(qkv_bias=True),
    "qwen3": Family(qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="head"),
    "gemma": Family(norm="gemma", tied=True, scaled_embedding=True),
    "gemma2": Family(norm="gemma", norms=4, tied=True, scaled_embedding=True, logit_softcap=True),
    "gemma3_text": Family(norm="gemma", norms=4, qk_norm="head", tied=True, scaled_embedding=True),
    "phi3": Family(fused_qkv=True, fused_gate=True),
    "mixtral": Family(names=LLAMA | {"gate": "w1", "up": "w3", "down": "w2"}),
    "qwen3_moe": Family(qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="head"),
    "granite": Family(qkv_bias="attention_bias", o_bias="attention_bias", mlp_bias="mlp_bias"),
    "olmo2": Family(qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="all"),
    "smollm3": Family(qkv_bias="attention_bias", o_bias="attention_bias", mlp_bias="mlp_bias", tied=True),
    "stablelm": Family(norm="layer", qkv_bias="use_qkv_bias"),
    "starcoder2": Family(
        names=LLAMA | {"up": "c_fc", "down": "c_proj"},
        norm="layer",
        qkv_bias="use_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        gated=False,
        tied=True,
    ),
    "gpt2": Family(
        names=GPT2,
        norm="layer",
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        gated=False,
        fused_qkv=True,
        tied=True,
        learned_positions=True,
    ),
    "gpt_neox": Family(
        names=NEOX, norm="layer", qkv_bias=True, o_bias=True, mlp_bias=True, gated=False, fused_qkv=True
    ),
}
