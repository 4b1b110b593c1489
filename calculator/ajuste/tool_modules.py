"""Modules by the names that a model gives them, for files that list them: adapters' targets, embeddings, heads.

A request says `attention`: the tools' tables hold Llama's names for that (`LLAMA_TARGETS`), and Falcon has its own.
"""

from __future__ import annotations

from typing import Any

from .architecture import Architecture, read_architecture
from .catalog import Catalog
from .peft import PASSED_BY, TARGETS
from .plan import Plan
from .tool_rules import PEFT, Rows

LLAMA_TARGETS: tuple[tuple[str, list[str]], ...] = (
    ("qv", ["q_proj", "v_proj"]),
    ("qkv", ["q_proj", "k_proj", "v_proj"]),
    ("attention", ["q_proj", "k_proj", "v_proj", "o_proj"]),
)
ATTENTION = "attn"  # the attention of the families whose feed-forward has a projection of the same name

# (embedding, head) where they are not Llama's. Source: the modelling files of transformers 5.24 and, for chatglm,
# exaone, internlm2 and qwen, of the models' own repositories.
EMBEDDINGS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("gpt2", "gpt_bigcode", "gptj", "codegen", "mpt", "qwen", "exaone"), ("wte", "lm_head")),
    **dict.fromkeys(("bloom", "falcon"), ("word_embeddings", "lm_head")),
    "gpt_neox": ("embed_in", "lm_head"),
    "nemotron_h": ("embeddings", "lm_head"),
    "internlm2": ("tok_embeddings", "output"),
    "chatglm": ("word_embeddings", "output_layer"),
}
LLAMA_EMBEDDINGS = ("embed_tokens", "lm_head")
PAIRS = tuple(list(pair) for pair in dict.fromkeys((LLAMA_EMBEDDINGS, *EMBEDDINGS.values())))
SPELLINGS = (*PAIRS, *(pair[::-1] for pair in PAIRS))


def embeddings_rule(key: str, joined: bool = False) -> Rows:
    """Embedding and head trained whole, in a tool's key for it; `joined`: as text with commas."""
    said = tuple(",".join(pair) for pair in SPELLINGS) if joined else SPELLINGS
    return Rows(("train_embeddings",), (key,), (((True,), (said,)), ((False,), (None,))), when=PEFT)


def architecture_of(plan: Plan, catalog: Catalog) -> Architecture:
    """The architecture of a plan's model."""
    config = plan.model if isinstance(plan.model, dict) else catalog.models[plan.model]["config"]
    return read_architecture(config, plan.assume_family)


def module_names(word: str, arch: Architecture) -> list[str]:
    """The modules that a word of `lora.targets` means in a model, by name; with their parent where the name is shared.

    Those that PEFT refuses to adapt in this family are left out.
    """
    roles = TARGETS[word]
    linears = [m for layer in arch.layers for m in layer.linears]
    others = {m.name for m in linears if m.role not in roles}
    names = dict.fromkeys(m.name for m in linears if m.role in roles)
    passed = PASSED_BY.get(arch.family, ())
    return [f"{ATTENTION}.{name}" if name in others else name for name in names if name not in passed]


def with_own_names(plan: Plan, catalog: Catalog) -> Plan:
    """The plan with a word for its targets replaced by the model's names for them, where those are not Llama's."""
    word = plan.lora.targets
    if not plan.has_lora or not isinstance(word, str) or word not in TARGETS:
        return plan
    names = module_names(word, architecture_of(plan, catalog))
    if not names or names == dict(LLAMA_TARGETS)[word]:
        return plan
    return plan.replace(lora=plan.lora._replace(targets=tuple(names)))


def own_embeddings(flat: dict[str, Any], plan: Plan, catalog: Catalog) -> dict[str, Any]:
    """A file's keys with the model's own embedding and head in place of Llama's."""
    if not plan.train_embeddings:
        return {}
    own = EMBEDDINGS.get(architecture_of(plan, catalog).family, LLAMA_EMBEDDINGS)
    llama = list(LLAMA_EMBEDDINGS)
    said = {key: list(own) for key, value in flat.items() if value == llama}
    return said | {key: ",".join(own) for key, value in flat.items() if value == ",".join(llama)}
