"""What frameworks do to memory, against their sources: each case worked by hand."""

import pytest

from ajuste.activations import attention, waiting_per_token
from ajuste.card import estimate_memory
from ajuste.case import Case
from ajuste.catalog import load_catalog
from ajuste.constants import MID
from ajuste.host import host_ram
from ajuste.layer_work import forward_points, indexed_experts
from ajuste.levers import candidates
from ajuste.loss import loss_points
from ajuste.memory import MemoryTable, fullest_table
from ajuste.moments import merged_experts
from ajuste.resolve import resolve
from ajuste.sharding import gather_pool
from ajuste.tool_files import read_config

from .conftest import LLAMA_8B

N = 8_030_261_248
EMBEDDING = 525_336_576  # 128,256 × 4,096
LAYER = 218_112_000  # parameters of one layer
LOGITS = 128_256 * 2048  # of one sequence
LORA = {"rank": 16, "targets": "all-linear", "dtype": "fp32"}
BASE = {"model": LLAMA_8B, "framework": "hf", "micro_batch": 1, "sequence_length": 2048, "attention": "flash"} | {
    "padding": "packed",
    "grad_accum": 1,
}


def case(**fields: object) -> Case:
    return Case(*resolve(BASE | fields, load_catalog("{}")), MID)


def table(**fields: object) -> MemoryTable:
    return fullest_table(*resolve(BASE | fields, load_catalog("{}")))


def terms(moment: str, **fields: object) -> dict[str, float]:
    found = table(**fields)
    return found.terms(found.moments()[moment])


def fsdp(version: int, ranks: int = 4, **fields: object) -> dict[str, object]:
    return {"parallel": {"strategy": f"fsdp{version}", "gpus_per_node": ranks} | fields}


# --------------------------------------------------------------------------------------------- TRL's tiles


def test_trls_tiles_hold_4096_tokens_by_32768_words():
    """A tile in 16 bit, rows of an fp32 head cast for it, the hidden states' fp32 gradient; no copy of the head."""
    lora = {"method": "lora", "lora": LORA, "loss": "tiled", "autocast": True}
    forward, backward, last = loss_points(case(**lora, base_dtype="bf16"))
    assert forward.logits == backward.logits == 2 * 2048 * 32_768
    assert (forward.casts, last.logits) == (0, 0)
    assert loss_points(case(**lora, base_dtype="fp32"))[0].casts == 2 * 32_768 * 4096
    assert loss_points(case(**lora, base_dtype="bf16", micro_batch=8))[0].logits == 2 * 4096 * 32_768
    assert backward.temporaries - forward.temporaries == 2 * 2048 * 4096 + 4 * 2048 * 4096 - 2 * 2 * 2048 * 4096
    full = loss_points(case(method="full", precision="bf16", loss="tiled"))
    assert [point.gradients for point in full] == [0, 4 * EMBEDDING, 6 * EMBEDDING]


# --------------------------------------------------------------------------------- torchtune's compiled loss


def test_torchtunes_compiled_chunks_keep_16_bit_logits():
    """2V·T, and in backward a chunk's gradient of 2V·T ÷ 8; without the compiler 6V·T and a chunk of 8V·T ÷ 8."""
    request = {"method": "lora", "lora": LORA, "framework": "torchtune", "loss": "chunked-kept"}
    for compiled, forward, backward in ((True, 2, 2 + 2 / 8), (False, 6 + 8 / 8, 6 + 8 / 8)):
        points = {p.name: p.logits for p in loss_points(case(**request, compile=compiled))}
        assert points == {"loss": forward * LOGITS, "loss_backward": backward * LOGITS}


def test_a_trained_heads_gradient_grows_chunk_by_chunk():
    """Each chunk's backward writes a whole gradient, 2V·h, which is added to the others' sum: 4V·h at once."""
    request = {"method": "full", "precision": "bf16", "framework": "torchtune", "loss": "chunked-kept"}
    last = loss_points(case(**request, compile=True))[-1]
    assert (last.name, last.gradients, last.logits) == ("head_backward", 4 * EMBEDDING, 2 * LOGITS * 7 / 8)


# ----------------------------------------------------------------------------------------- FSDP's gradients

MIXED = {"method": "full", "precision": "bf16-mixed", "grad_accum": 8, "optimizer": "adamw"}
PURE = {"method": "full", "precision": "bf16", "optimizer": "adamw"}


@pytest.mark.parametrize("version", [1, 2])
def test_unreduced_gradients_have_the_gathered_type(version: int):
    """Under `no_sync` a gradient is what backward wrote: 2 bytes, whole; at the step 4 ÷ 4 of the fp32 shard."""
    assert terms("forward", **MIXED, **fsdp(version))["gradients"] == 2 * N
    assert terms("optimizer_step", **MIXED, **fsdp(version))["gradients"] == 4 * N / 4


def test_gradients_of_every_micro_step_may_be_reduced():
    """`sync_each_batch` (and accelerate before 1.11 with FSDP2): the shard of each rank, 4 ÷ 4, waits."""
    assert terms("forward", **MIXED, **fsdp(2, sync_each_batch=True))["gradients"] == 4 * N / 4


def test_reducing_at_every_micro_step_is_offered():
    """Whole gradients of 2 bytes become shards of 4 ÷ 4: half of 2N is saved where steps are accumulated."""
    offered = {"parallel": {"sync_each_batch": True}}
    for grad_accum, expected in ((8, True), (1, False)):
        plan, arch = resolve(BASE | MIXED | fsdp(2) | {"grad_accum": grad_accum}, load_catalog("{}"))
        found = [changed for change, changed in candidates(plan) if change == offered]
        assert bool(found) == expected
        for changed in found:
            before, after = (fullest_table(p, arch).columns["gradients"][1] for p in (plan, changed))
            assert before - after == N


# --------------------------------------------------------------------------------------- FSDP's CPU offload


def test_fsdp2_offload_keeps_one_layers_gradients():
    """Each reduced shard goes to the host instead of staying; only what backward is writing is on the GPU."""
    found = table(**PURE, **fsdp(2, offload="all"), transformers="5.11")
    moments = zip(found.instants, found.columns["gradients"], strict=True)
    ends = {i.work.name: gradients for i, gradients in moments if i.moment == "backward" and i.work.name == "end"}
    assert ends == {"end": 2 * 2 * 2 * EMBEDDING}  # embedding and head in 16 bit, and the piece in which they travel
    assert sorted(found.columns["gradients"])[-3] == 2 * EMBEDDING + 2 * LAYER  # the head's, and one layer's
    step = terms("optimizer_step", **PURE, **fsdp(2, offload="all"))
    assert not {"gradients", "optimizer_states", "weights", "temporaries"}.intersection(step)


def test_fsdp1_offload_keeps_shards_until_backward_ends():
    """`_saved_grad_shard` of every unit is let go in the last callback: 2N ÷ 4 in backward, none at the step."""
    asked = PURE | {"transformers": "5.11"}
    one, two = (max(table(**asked, **fsdp(v, offload="all")).columns["gradients"]) for v in (1, 2))
    assert one - two == 2 * N / 4
    step = terms("optimizer_step", **PURE | {"optimizer": "adamw-foreach"}, **fsdp(1, offload="all"))
    assert not {"gradients", "temporaries"}.intersection(step)


def test_whole_gradients_cannot_be_offloaded():
    """Accumulated without synchronising, they have not been reduced and stay: 2N."""
    assert terms("forward", **PURE | {"grad_accum": 2}, **fsdp(2, offload="all"))["gradients"] == 2 * N


@pytest.mark.parametrize("version", [1, 2])
def test_fsdp_offload_takes_adapters_along(version: int):
    step = terms("optimizer_step", method="lora", lora=LORA, optimizer="adamw", **fsdp(version, offload="all"))
    assert not {"weights", "adapters", "gradients", "optimizer_states"}.intersection(step)


def test_fsdp_offload_in_host_ram():
    """bf16 weights 2, gradients 2 and moments 4 of all ranks of the node: no fp32 copy is made."""
    offloaded, plain = (
        host_ram(*resolve(BASE | PURE | fsdp(2, offload=kind), load_catalog("{}")), MID) for kind in ("all", "none")
    )
    assert offloaded.low - plain.low == pytest.approx(8 * N)


# ------------------------------------------------------------------------------------------------- axolotl


def test_axolotls_fsdp2_trains_the_weights_as_loaded():
    """It prepares FSDP2 itself and casts nothing; its FSDP1 is accelerate's, with fp32 shards."""
    config = {"base_model": "Qwen/Qwen3-4B", "bf16": "auto", "fsdp_config": {"offload_params": False}}
    for version, precision, autocast in ((2, "bf16", False), (1, "bf16-mixed", True)):
        request = read_config(config | {"fsdp_version": version}, "axolotl")["request"]
        assert (request["precision"], request["autocast"]) == (precision, autocast)


def test_axolotls_linearized_experts_are_modules_that_4_bit_packs():
    config = {"base_model": "meta-llama/Llama-4-Scout-17B-16E", "adapter": "qlora", "load_in_4bit": True}
    request = read_config(config | {"llama4_linearized_experts": True}, "axolotl")["request"]
    assert request["quantize_moe_experts"] is True
    assert "quantize_moe_experts" not in read_config(config, "axolotl")["request"]


# ------------------------------------------------------------------------------- PyTorch's kernels in fp32


def test_fp32_attention_of_grouped_heads_writes_out_its_scores():
    """Flash takes 16 bit, the memory-efficient kernel no grouped heads: 4 n·S per token are kept.

    Queries, keys and values of all heads 3 × 4q, what the output projection's adapter reads 4q, scores
    4 × 32 heads × 2048; expanded by transformers (before 4.54, or for a mask) 4 × 4q and 4 B per head.
    """
    request = {"method": "qlora", "kbit_upcast": True, "autocast": False, "attention": "sdpa", "lora": LORA}
    written = 4 * 4 * 4096 + 4 * 32 * 2048
    expanded = 4 * 4 * 4096 + 4 * 32
    for change, bytes_per_token in (
        ({}, written),
        ({"transformers": "4.53"}, expanded),
        ({"padding": "padded"}, expanded + 2 * 2048),
        ({"autocast": True}, 2 * 2 * (4096 + 1024) + 4 * 32),
    ):
        c = case(**request | change)
        assert attention(c, c.layer) == bytes_per_token, change
    assert max(p.temporaries for p in forward_points(case(**request))) == (13 * 32 * 2048 + 4 * 4096 + 6 * 4096) * 2048


# ------------------------------------------------------------------------------------- FSDP's other buffers


def test_fsdp2_gathers_into_blocks_of_another_stream():
    """Two buffers in forward, one in backward: what the second held, here embedding and head, no other tensor takes."""
    root = 2 * (2 * EMBEDDING + 4096)
    assert gather_pool(case(**PURE, **fsdp(2), transformers="5.11")) == root
    assert gather_pool(case(**PURE, **fsdp(1))) == gather_pool(case(**PURE)) == 0
    plan, arch = resolve(BASE | PURE | fsdp(2) | {"transformers": "5.11"}, load_catalog("{}"))
    memory = estimate_memory(plan, arch)
    assert memory.reserved.mid - memory.allocated.mid > root


def test_embedding_and_head_are_units_of_fsdp2_since_accelerate_1_14():
    """Half of both is gathered at the loss and none while layers run backward; the head's gradient does not stay."""
    request = PURE | {"loss": "fused"} | fsdp(2)
    own, left = table(**request), table(**request, transformers="5.11")
    for moment, less in (("loss", EMBEDDING), ("backward", 2 * EMBEDDING)):
        gathered = [
            min(g for i, g in zip(t.instants, t.columns["gathered_weights"], strict=True) if i.moment == moment)
            for t in (own, left)
        ]
        assert gathered[1] - gathered[0] == pytest.approx(2 * less, rel=1e-4)
    first, most = own.columns["gradients"], left.columns["gradients"]
    assert max(first) == 2 * 2 * EMBEDDING + 2 * N / 4  # the embedding's, and the piece in which it travels
    assert max(most) == 2 * 2 * 2 * EMBEDDING + 2 * N / 4
    axolotl = table(**request | {"framework": "axolotl"})  # prepares FSDP2 itself
    assert axolotl.columns["gathered_weights"] == left.columns["gathered_weights"]


def test_fsdp1_keeps_inputs_and_gradients_of_frozen_layers():
    """At the first layer: 32 inputs and the gradients of 31, 2h·T each; its own input's comes last."""
    found = table(method="lora", lora=LORA, base_dtype="bf16", gradient_checkpointing="full", **fsdp(1))
    waits = [a for i, a in zip(found.instants, found.columns["activations"], strict=True) if i.moment == "backward"]
    tables = 2 * 2 * 128 * 2048  # sine and cosine
    assert max(waits) - tables == (32 + 31) * 2 * 4096 * 2048


def test_gpt_oss_indexed_its_experts_one_by_one():
    """Before transformers 5: one expert's gradient has the size of all, 2 B × 32 × 2880 × 2 · 2880 of gate and up."""
    config = {
        "model_type": "gpt_oss",
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": 24,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 201088,
        "num_local_experts": 32,
        "num_experts_per_tok": 4,
    }
    for release, size in (("4.55", 2 * 32 * 2880 * 5760), ("5.0", 0)):
        c = case(**PURE | {"model": config, "transformers": release})
        assert indexed_experts(c) == size


# ------------------------------------------------------------------------------------------- names of targets


@pytest.mark.parametrize(
    ("dotted", "plain"),
    [
        (["self_attn.q_proj", "self_attn.v_proj"], ["q_proj", "v_proj"]),
        (["mlp.gate_proj", "model.layers.mlp.down_proj"], ["gate_proj", "down_proj"]),
        (["mlp.q_proj", "self_attn.k_proj", "self_attn.gate_proj"], ["k_proj"]),
        (["layers.3.self_attn.v_proj", "o_proj"], ["o_proj"]),
    ],
)
def test_targets_may_name_the_parent_module(dotted: list[str], plain: list[str]):
    """PEFT takes the end of a module's path, from a dot on; one layer by its number is not what all layers have."""
    by_path, by_name = (
        case(method="lora", base_dtype="bf16", lora=LORA | {"targets": names}).trainable for names in (dotted, plain)
    )
    assert by_path == by_name > 0


@pytest.mark.parametrize(
    ("pattern", "names"),
    [  # as axolotl's examples have them
        (
            r"model.language_model.layers.[\d]+.(_checkpoint_wrapped_module.)?(mlp|self_attn).(up|down|q|k|v)_proj",
            "mlp.down_proj mlp.up_proj self_attn.k_proj self_attn.q_proj self_attn.v_proj",
        ),
        (r".*\.layers\.(3|7|11)\.self_attn\.(q|v)_proj", "self_attn.q_proj self_attn.v_proj"),
        (r"model.layers.[\d]+.mlp.(shared_experts.)?(up_proj)", "mlp.shared_experts.up_proj mlp.up_proj"),
        ("q_proj, v_proj", "q_proj v_proj"),
        ("(q_proj", "(q_proj"),
    ],
)
def test_a_pattern_names_modules(pattern: str, names: str):
    config = {"base_model": "Qwen/Qwen3-4B", "adapter": "lora", "lora_r": 8, "lora_target_modules": pattern}
    assert sorted(read_config(config, "axolotl")["request"]["lora"]["targets"]) == names.split()


def test_shared_experts_are_named_apart():
    """Llama 4, 16 experts and a shared one, which `shared_expert.up_proj` means; `feed_forward.up_proj` means none."""
    config = {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 202048,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
    }
    request = {"model": config, "method": "lora", "base_dtype": "bf16"}
    targets = ["self_attn.q_proj", "shared_expert.up_proj", "feed_forward.up_proj"]
    q, shared = 16 * (5120 + 40 * 128), 16 * (5120 + 8192)
    assert case(**request, lora=LORA | {"targets": targets}).trainable == 48 * (q + shared)


# ------------------------------------------------------------------------------------------ old bitsandbytes


def test_old_bitsandbytes_held_inputs_that_checkpointing_could_not_free():
    """Up to 0.43.1 a 4-bit linear held its input by hand: 2 (2h + q + f) per layer beside the checkpoint's 2h.

    Reentrant checkpointing (the Trainer's of those days) ran without gradients first and held none; ms-swift's was not.
    """
    request = {"method": "qlora", "lora": LORA, "kbit_upcast": False, "gradient_checkpointing": "full"}
    held = 2 * (2 * 4096 + 4096 + 14336)
    for framework, release, more in (("ms-swift", "4.36", held), ("hf", "4.36", 0), ("ms-swift", "4.57", 0)):
        c = case(**request, framework=framework, transformers=release)
        assert waiting_per_token(c, c.layer) == 2 * 4096 + more


# ------------------------------------------------------------------------------------------- experts, loaded


def test_experts_are_merged_while_they_load():
    """Qwen3-MoE, 128 experts of 3 × 2048 · 768: gate and up, 2 B each, wait beside the parameter they are copied into.

    Packed only then, the parameter is in 16 bit too. transformers before 5 has modules, gpt-oss one parameter already.
    """
    config = {
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "vocab_size": 151936,
        "num_experts": 128,
        "num_experts_per_tok": 8,
    }
    gate_and_up = 2 * 128 * 2 * 2048 * 768
    lora = {"model": config, "method": "lora", "base_dtype": "bf16", "lora": LORA | {"targets": "attention"}}
    packed = {"method": "qlora", "base_dtype": "bf16", "quantize_moe_experts": True}
    for change, size in (
        ({"transformers": "5.0"}, gate_and_up),
        ({"transformers": "5.0"} | packed, 2 * gate_and_up),
        ({"transformers": "4.57"}, 0),
        ({"transformers": "5.0"} | fsdp(2), 0),
    ):
        assert merged_experts(case(**lora | change)) == size, change
    short = {"transformers": "5.0", "sequence_length": 64}
    memory = estimate_memory(*resolve(BASE | lora | packed | short, load_catalog("{}")))
    assert memory.whole_run_peak == "load"
    assert memory.reserved.mid == max(memory.table.totals)
