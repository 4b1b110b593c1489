"""Memory, against numbers worked by hand."""

import inspect
import re
from collections.abc import Callable

import pytest

from ajuste import activations, layer_work, loss, memory, optimizer, sharding, vision, weights
from ajuste import formulas as formula_texts
from ajuste.activations import saved_per_token
from ajuste.architecture import read_architecture
from ajuste.card import card_of, estimate_memory
from ajuste.case import Case
from ajuste.catalog import load_catalog
from ajuste.constants import MID
from ajuste.host import checkpoint_bytes, disk, host_ram
from ajuste.memory import GIB, fullest_table
from ajuste.resolve import resolve

from .conftest import LLAMA_8B

N = 8_030_261_248  # 32 × 218,112,000 + 2 × 525,336,576 + 4,096
LINEAR = 6_979_321_856  # 32 × (4096·4096·2 + 4096·1024·2 + 3·4096·14336)
EMBEDDING = 525_336_576  # 128,256 × 4,096
WORKSPACE = 16 * 2**20
BASE = {"model": LLAMA_8B, "framework": "hf", "micro_batch": 1, "sequence_length": 2048, "attention": "flash"} | {
    "padding": "packed",
    "grad_accum": 1,
}
LORA = {"rank": 16, "targets": "all-linear", "dtype": "fp32"}


def case(**fields: object) -> Case:
    plan, arch = resolve(BASE | fields, load_catalog("{}"))
    return Case(plan, arch, MID)


def terms(moment: str, **fields: object) -> dict[str, float]:
    table = fullest_table(*resolve(BASE | fields, load_catalog("{}")))
    return table.terms(table.moments()[moment])


def test_full_bf16_is_ten_bytes_per_parameter_at_a_foreach_step():
    step = terms("optimizer_step", method="full", precision="bf16", optimizer="adamw-foreach")
    assert step == {
        "weights": 2 * N,
        "optimizer_states": 4 * N,  # two moments in bf16
        "gradients": 2 * N,
        "temporaries": 2 * N,  # one copy of the gradients
        "workspace": WORKSPACE,
    }


def test_mixed_precision_is_sixteen_bytes_per_parameter():
    """Under autocast the weights stay in fp32: 4 + 4 + 8. Half-precision weights are a myth here."""
    step = terms("optimizer_step", method="full", precision="bf16-mixed", optimizer="adamw")
    assert sum(step.values()) - WORKSPACE == 16 * N


def test_master_weights_are_shared_out_from_zero1():
    """bf16 weights and gradients 2 + 2, and (4 + 8) ÷ 8 on each of 8 ranks."""
    step = terms(
        "optimizer_step",
        method="full",
        precision="bf16-master",
        framework="deepspeed",
        parallel={"strategy": "zero1", "gpus_per_node": 8},
    )
    assert (step["weights"], step["gradients"]) == (2 * N, 2 * N)
    assert (step["master_weights"], step["optimizer_states"]) == (N / 2, N)
    # 7/8 of the gradients go first; then the rank's own, in one piece, in fp32: (2 + 2 + 4) ÷ 8, less than 2.
    assert "temporaries" not in step


def test_nf4_packs_the_linears_only():
    """Half a byte per packed weight, one byte per block of 64, one fp32 per 256 blocks; the rest 2 bytes, 4 upcast."""
    plain = terms("load", method="qlora", kbit_upcast=False)
    assert plain["weights"] == LINEAR / 2 + 2 * (N - LINEAR)
    assert plain["quantisation_constants"] == LINEAR / 64 * (1 + 4 / 256)
    upcast = terms("load", method="qlora", kbit_upcast=True)
    assert upcast["weights"] == LINEAR / 2 + 4 * (N - LINEAR)
    single = terms("load", method="qlora", quantization="nf4", kbit_upcast=False)
    assert single["quantisation_constants"] == LINEAR * 4 / 64


def test_adapters_of_rank_16_on_every_linear():
    """Per layer 16 × (8192 + 5120 + 5120 + 8192 + 3 × 18432) = 1,310,720; 32 layers; fp32, and Adam twice that."""
    held = terms("optimizer_step", method="lora", lora=LORA, optimizer="adamw")
    assert held["adapters"] == 4 * 41_943_040
    assert held["optimizer_states"] == 8 * 41_943_040
    assert held["gradients"] == 4 * 41_943_040


def test_logits_are_twelve_bytes_at_the_start_of_backward():
    """fp32 log-softmax, its gradient, and the gradient of the logits: 12 × 2048 × 128,256."""
    loss = terms("loss", method="lora", lora=LORA, transformers="5.0", loss="default")
    assert loss["logits"] == 12 * 2048 * 128_256
    shifted = terms("loss", method="lora", lora=LORA, transformers="4.48", loss="default")
    assert shifted["logits"] == 14 * 2048 * 128_256


def test_checkpoints_are_two_bytes_per_layer_and_token():
    """32 layers × 2 × 4096 × 2048 tokens, and the rotary tables, 2 × 2 × 128 × 2048."""
    forward = terms("forward", method="lora", lora=LORA, gradient_checkpointing="full", autocast=False)
    assert forward["activations"] == 32 * 2 * 4096 * 2048 + 2 * 2 * 128 * 2048


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # full bf16: 16h + 4q + 4k + 4n + 8f, and 4 B for each of two norms
        ({"method": "full", "precision": "bf16"}, 16 * 4096 + 4 * 4096 + 4 * 1024 + 4 * 32 + 8 * 14336 + 8),
        # bf16 adapters on all linears: 12h + 4q + 4k + 8f + 4n, 2r for each of 7 targets
        (
            {"method": "lora", "lora": LORA | {"dtype": "bf16"}, "autocast": False},
            12 * 4096 + 4 * 4096 + 4 * 1024 + 8 * 14336 + 4 * 32 + 7 * 2 * 16 + 8,
        ),
        # fp32 adapters under autocast: 18h + 6q + 4k + 8f
        (
            {"method": "lora", "lora": LORA, "autocast": True},
            18 * 4096 + 6 * 4096 + 4 * 1024 + 8 * 14336 + 4 * 32 + 7 * 2 * 16 + 8,
        ),
    ],
)
def test_saved_per_layer_and_token(fields, expected):
    c = case(**fields)
    assert saved_per_token(c, c.layer) == expected


def test_fsdp_keeps_an_eighth_and_gathers_two_layers_and_the_ends():
    """8 ranks: weights 2N ÷ 8; gathered 2 layers × 2 × 218,112,000 + 2 × (2 × 525,336,576 + 4096), one unit's."""
    request = {"method": "full", "precision": "bf16", "transformers": "5.11"}
    forward = terms("forward", **request, parallel={"strategy": "fsdp2", "gpus_per_node": 8})
    assert forward["weights"] == 2 * N / 8
    assert forward["gathered_weights"] == 2 * 2 * 218_112_000 + 2 * (2 * EMBEDDING + 4096)


def test_data_parallel_copies_gradients_into_buckets():
    step = terms("optimizer_step", method="full", precision="bf16", parallel={"strategy": "ddp", "gpus_per_node": 2})
    assert step["communication_buffers"] == step["gradients"] == 2 * N


def test_tensor_parallel_cuts_matrices_and_vocabulary_but_not_norms():
    c = case(method="full", precision="bf16", parallel={"tp": 4, "gpus_per_node": 4})
    norms = 32 * 2 * 4096 + 4096
    assert c.arch.parameters == (N - norms) / 4 + norms
    assert c.vocabulary == 128_256 / 4


MOONLIGHT = {
    "model_type": "deepseek_v3",
    "hidden_size": 2048,
    "intermediate_size": 11264,
    "moe_intermediate_size": 1408,
    "num_hidden_layers": 27,
    "first_k_dense_replace": 1,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "vocab_size": 163840,
}


def test_experts_have_ranks_of_their_own():
    """Moonlight-16B-A3B on 8 GPUs, tp 2, ep 8: published, 36.62 GiB stay after the optimizer's step.

    Source: Megatron-Bridge, nemo-mbridge-perf-activation-recompute. Each rank has 8 of 64 experts whole, with their
    12 B of states whole too: no other rank has the same; the rest is cut by 2 and its states over 4 data ranks; the
    fp32 gradient buffer stays.
    """
    held = terms(
        "save",
        model=MOONLIGHT,
        method="full",
        framework="megatron",
        precision="bf16-master",
        parallel={"strategy": "zero1", "gpus_per_node": 8, "tp": 2, "ep": 8},
    )
    assert sum(held.values()) == pytest.approx(36.62 * GIB, rel=0.01)
    assert held["gradients"] == 2 * held["weights"]


def test_experts_spread_over_what_expert_parallelism_leaves():
    """FSDP2 on 8 GPUs: ep 4 leaves two ranks with the same experts, so that each keeps a half of a quarter."""
    request = {"model": MOONLIGHT, "method": "full", "precision": "bf16"}
    plain, split = (
        terms("load", **request, parallel={"strategy": "fsdp2", "gpus_per_node": 8, "ep": ep})["weights"]
        for ep in (1, 4)
    )
    assert split == pytest.approx(plain, rel=1e-9)


def test_a_pipeline_is_as_full_as_its_fullest_stage():
    """4 stages of 8 layers. The first holds the embedding and 4 micro-batches in flight, the last the head."""
    request = BASE | {"method": "full", "precision": "bf16", "grad_accum": 8, "parallel": {"pp": 4, "gpus_per_node": 4}}
    table = fullest_table(*resolve(request, load_catalog("{}")))
    assert table.terms(0)["weights"] == 2 * (8 * 218_112_000 + EMBEDDING + 4096)
    plan, arch = resolve(request, load_catalog("{}"))
    assert Case(plan, arch, MID, "first").in_flight == 4
    assert Case(plan, arch, MID, "last").in_flight == 1


def test_reference_model_of_preference_training():
    assert terms("load", method="full", precision="bf16", task="dpo")["reference_model"] == 2 * N
    assert "reference_model" not in terms("load", method="lora", task="dpo")
    assert terms("load", method="lora", task="dpo", reference="copy", base_dtype="bf16")["reference_model"] == 2 * N


def test_paged_states_are_not_on_the_gpu():
    plan, arch = resolve(BASE | {"method": "full", "optimizer": "paged-adamw-8bit"}, load_catalog("{}"))
    memory = estimate_memory(plan, arch)
    assert memory.paged == N * 2 * (1 + 4 / 256)
    assert "optimizer_states" not in memory.table.terms(memory.table.peak_index)


def test_kept_logits_make_the_evaluation_the_peak():
    """100 examples × 2048 tokens × 128,256 × 4 bytes, on the GPU until the evaluation ends."""
    request = BASE | {"method": "qlora", "eval": {"examples": 100, "keep_logits": True}}
    memory = estimate_memory(*resolve(request, load_catalog("{}")))
    assert memory.whole_run_peak == "evaluation"
    assert memory.whole_run.mid - memory.required.mid > 100 * 2048 * 128_256 * 4


def test_colocated_generation_takes_its_share_of_the_card():
    request = BASE | {"method": "lora", "task": "grpo", "rl": {"engine": "none"}}
    alone = estimate_memory(*resolve(request, load_catalog("{}"))).required.mid
    request["rl"] = {"engine": "colocate", "engine_share": 0.5}
    assert estimate_memory(*resolve(request, load_catalog("{}"))).required.mid == pytest.approx(2 * alone)


def test_the_engine_s_own_weights_must_fit_its_share():
    """0.3 of a card holds Llama 3.1 8B (16.06 GB) and 1,024 tokens × 131,072 B of cache: 54 GB, so no card of 40."""
    request = BASE | {"method": "qlora", "task": "grpo", "rl": {"engine": "colocate", "engine_share": 0.3}}
    plan, arch = resolve(request, load_catalog("{}"))
    needed = (2 * N + 1024 * 131_072) / 0.3
    assert estimate_memory(plan, arch).required.low == pytest.approx(needed)
    sharded = plan.replace(parallel=plan.parallel._replace(strategy="fsdp2", gpus_per_node=4))
    assert card_of(sharded, arch).engine.low == pytest.approx(needed / 4)
    copies = plan.replace(parallel=plan.parallel._replace(strategy="ddp", gpus_per_node=4))
    assert card_of(copies, arch).engine.low == pytest.approx(needed)


def test_a_sharded_model_is_read_once_per_node():
    """Eight processes of 3.5 GiB; bf16 weights once: one rank reads, or all share the mapped file.

    In fp32 each process of DDP converts its own.
    """
    request = BASE | {"method": "full", "precision": "bf16", "dataset": {"examples": 1, "mean_tokens": 1}}
    for precision, each, strategy, mid, high in (
        ("bf16", 2, "fsdp2", 1, 1),
        ("bf16", 2, "ddp", 1, 8),
        ("fp32", 4, "ddp", 8, 8),
        ("fp32", 4, "zero3", 1, 1),
    ):
        parallel = {"strategy": strategy, "gpus_per_node": 8}
        plan, arch = resolve(request | {"precision": precision, "parallel": parallel}, load_catalog("{}"))
        ram = host_ram(plan, arch, MID)
        assert ram.mid == pytest.approx(8 * 3.5 * GIB + mid * each * N, rel=1e-6)
        assert ram.high - ram.mid > (1.3 * high - mid) * each * N


@pytest.mark.parametrize("strategy", ["zero2", "zero3"])
@pytest.mark.parametrize("gpus", [1, 4])
def test_offloaded_gradients_leave_buckets(strategy: str, gpus: int):
    """2 × 5 × 10⁸ gradients of 2 bytes, and one tensor's that passes; accumulated ones wait on the host."""
    parallel = {"strategy": strategy, "gpus_per_node": gpus, "offload": "optimizer", "bucket_elements": 500_000_000}
    request = BASE | {"method": "full", "precision": "bf16-master", "framework": "deepspeed", "parallel": parallel}
    for grad_accum in (1, 8):
        table = fullest_table(*resolve(request | {"grad_accum": grad_accum}, load_catalog("{}")))
        largest = {moment: table.terms(index).get("gradients", 0) for moment, index in table.moments().items()}
        assert largest["optimizer_step"] == largest["forward"] == 2 * EMBEDDING
        assert 2 * EMBEDDING <= largest["backward"] <= 4 * EMBEDDING
        assert table.terms(table.moments()["backward"])["communication_buffers"] == 2e9


def test_zero3_updates_one_sub_group_at_a_time():
    """Of 8.03 × 10⁹ ÷ 2 elements a rank updates 10⁹ at once; ÷ 16, all of them. ZeRO-2 all at once.

    Each has 2 bytes of its gradient in one piece and 4 of that in fp32.
    """
    for strategy, gpus, elements in (("zero3", 2, 1e9), ("zero3", 16, N / 16), ("zero2", 2, N / 2)):
        parallel = {"strategy": strategy, "gpus_per_node": gpus}
        request = BASE | {"method": "full", "precision": "bf16-master", "framework": "deepspeed", "parallel": parallel}
        table = fullest_table(*resolve(request, load_catalog("{}")))
        assert table.terms(table.moments()["optimizer_step"])["temporaries"] == 6 * elements


def test_colossalai_keeps_gradients_until_the_step():
    """A shard, 2N ÷ 2, although the optimizer is on the host; a bucket is one tensor at least, and its half."""
    parallel = {"strategy": "zero2", "gpus_per_node": 2, "offload": "optimizer", "library": "colossalai"}
    request = BASE | {"method": "full", "precision": "bf16-master", "parallel": parallel}
    table = fullest_table(*resolve(request, load_catalog("{}")))
    step = table.terms(table.moments()["optimizer_step"])
    assert step["gradients"] == N
    assert step["temporaries"] == 8 * EMBEDDING / 2  # the norm of the largest tensor's shard, in double precision
    assert table.terms(table.moments()["backward"])["communication_buffers"] == 2 * 4096 * 14336 * 1.5


def test_deepspeed_casts_adapters_to_16_bit_and_keeps_a_master_copy():
    """2 bytes on each rank, 4 + 8 shared by 4; norms and embeddings prepared in fp32 are 16 bit again."""
    parallel = {"strategy": "zero2", "gpus_per_node": 4}
    step = terms("optimizer_step", method="qlora", kbit_upcast=True, autocast=True, lora=LORA, parallel=parallel)
    adapters = 41_943_040
    assert step["weights"] == LINEAR / 2 + 2 * (N - LINEAR)
    assert (step["adapters"], step["gradients"]) == (2 * adapters, 2 * adapters / 4)
    assert (step["master_weights"], step["optimizer_states"]) == (adapters, 2 * adapters)


def test_zero3_keeps_its_gradient_buffer():
    """2N ÷ 4 at every instant of training, accumulating or not."""
    parallel = {"strategy": "zero3", "gpus_per_node": 4}
    request = BASE | {"method": "full", "precision": "bf16-master", "framework": "deepspeed", "parallel": parallel}
    table = fullest_table(*resolve(request, load_catalog("{}")))
    assert table.terms(table.moments()["forward"])["gradients"] == N / 2
    assert "gradients" not in table.terms(table.moments()["load"])


def test_a_raw_loop_still_has_its_logits_at_the_step():
    """2V·T, 4V·T before transformers 4.46."""
    for release, each in (("5.0", 2), ("4.40", 4)):
        step = terms("optimizer_step", method="full", outputs_alive=True, transformers=release)
        assert step["logits"] == each * 128_256 * 2048


def test_offloaded_states_move_to_the_host():
    parallel = {"strategy": "zero2", "gpus_per_node": 4}
    request = BASE | {"method": "full", "precision": "bf16-master", "framework": "deepspeed", "parallel": parallel}
    plan, arch = resolve(request, load_catalog("{}"))
    offloaded = plan.replace(parallel=plan.parallel._replace(offload="optimizer"))
    saved = estimate_memory(plan, arch).table.columns["optimizer_states"][-1]
    assert saved == 8 * N / 4
    assert "optimizer_states" not in estimate_memory(offloaded, arch).table.terms(1)
    # fp32 copy, both moments and fp32 gradients of all four ranks, on one node: 16 bytes per parameter
    assert host_ram(offloaded, arch, MID).low - host_ram(plan, arch, MID).low == pytest.approx(16 * N)


def test_disk_holds_the_checkpoints():
    """The download 2N, (2 kept + 1 being written) × (adapters 4 + states 8 bytes), nothing merged."""
    c = case(method="lora", lora=LORA, optimizer="adamw")
    assert checkpoint_bytes(c) == 12 * 41_943_040
    without = disk(c.plan.replace(save=c.plan.save._replace(keep=1)), c.arch, MID).mid
    assert disk(c.plan, c.arch, MID).mid - without == 12 * 41_943_040
    merged = disk(c.plan.replace(save=c.plan.save._replace(merge=True)), c.arch, MID).mid
    assert merged - disk(c.plan, c.arch, MID).mid == 2 * N


def test_published_run_on_one_gpu():
    """fms-acceleration, Mistral-7B full in bf16, 4 × 4096 tokens: 67.46 GiB at the step, weights and states 40.48."""
    model = LLAMA_8B | {"model_type": "mistral", "vocab_size": 32000}
    request = BASE | {"model": model, "method": "full", "precision": "bf16", "micro_batch": 4, "sequence_length": 4096}
    request |= {"optimizer": "adamw-foreach", "gradient_checkpointing": "full", "transformers": "4.48"}
    table = fullest_table(*resolve(request, load_catalog("{}")))
    assert table.peak / GIB == pytest.approx(67.46, rel=0.001)
    assert table.peak_moment == "optimizer_step"


# ----------------------------------------------------------------------------------------------------- vision

GEMMA = {"model_type": "gemma3", "text_config": LLAMA_8B | {"model_type": "gemma3_text"}} | {
    "vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "image_size": 896}
}
IMAGES = {"image_tokens": 256, "images_per_example": 1}


def test_a_trained_tower_keeps_its_own_activations():
    """4,096 patches × 27 layers × 2 B × (8 × 1152 + 4 × 4304); a frozen tower keeps none."""
    request = {"model": GEMMA, "method": "full", "precision": "bf16", "gradient_checkpointing": "none"}
    kept = {
        name: terms("backward", **request, vision=name, dataset=IMAGES)["activations"]
        for name in ("frozen", "trained", "absent")
    }
    assert kept["trained"] - kept["frozen"] == 4096 * 27 * 2 * (8 * 1152 + 4 * 4304)
    assert kept["frozen"] == kept["absent"]
    without = terms("backward", **request, vision="trained")
    assert without["activations"] == kept["frozen"]


def test_a_checkpointed_tower_keeps_one_layer_and_the_inputs():
    request = {"model": GEMMA, "method": "full", "precision": "bf16", "gradient_checkpointing": "full"}
    frozen, trained = (
        terms("forward", **request, vision=name, dataset=IMAGES)["activations"] for name in ("frozen", "trained")
    )
    assert trained - frozen == 4096 * 2 * (1152 * 27 + 8 * 1152 + 4 * 4304)


def test_images_of_any_size_are_counted_by_their_tokens():
    """Qwen2.5-VL merges 2 × 2 patches into one token: 1,000 tokens are 4,000 patches, with a gated feed-forward."""
    tower = {"model_type": "qwen2_5_vl", "hidden_size": 1280, "depth": 32, "intermediate_size": 3420}
    config = LLAMA_8B | {"model_type": "qwen2_5_vl", "vision_config": tower | {"spatial_merge_size": 2}}
    request = {"model": config, "method": "full", "precision": "bf16", "gradient_checkpointing": "none"}
    images = {"image_tokens": 1000, "images_per_example": 2}
    frozen, trained = (
        terms("forward", **request, vision=name, dataset=images)["activations"] for name in ("frozen", "trained")
    )
    assert trained - frozen == 2 * 4000 * 32 * 2 * (8 * 1280 + 5 * 3420)


def test_deepstack_mergers_are_counted():
    """Qwen3-VL-8B: three mergers more, each (4 × 1152)² + 4 × 1152 × 4096, and 2,304 learned positions."""
    tower = {"model_type": "qwen3_vl", "hidden_size": 1152, "depth": 27, "intermediate_size": 4304}
    plain = {"model_type": "qwen3_vl", "text_config": LLAMA_8B | {"model_type": "qwen3_vl_text"}} | {
        "vision_config": tower | {"spatial_merge_size": 2}
    }
    deep = plain | {
        "vision_config": plain["vision_config"]
        | {"deepstack_visual_indexes": [8, 16, 24], "num_position_embeddings": 2304}
    }
    counts = [read_architecture(config).vision for config in (plain, deep)]
    assert counts[1] - counts[0] == 3 * (4608**2 + 4608 * 4096) + 2304 * 1152


def test_experts_that_are_parameters_are_neither_packed_nor_adapted():
    """gpt-oss-20b: 24 layers × 32 experts × 3 × 2880² in bf16, whatever the release; attention takes the adapters.

    Unsloth's copies have them in 4 bit: its notebook prints 3,981,312 trained parameters at rank 8, and runs on a T4.
    """
    config = {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24} | {
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "num_local_experts": 32,
        "num_experts_per_tok": 4,
        "vocab_size": 201088,
        "tie_word_embeddings": False,
    }
    experts = 24 * 32 * 3 * 2880 * 2880
    request = BASE | {
        "model": config,
        "method": "qlora",
        "sequence_length": 1024,
        "lora": {"rank": 8},
        "kbit_upcast": False,
    }
    for more, low in (({"transformers": "4.57"}, 2 * experts), ({}, 2 * experts), ({"framework": "unsloth"}, 0)):
        plan, arch = resolve(request | more, load_catalog("{}"))
        table = fullest_table(plan, arch)
        held = table.columns["weights"][-1]
        assert low < held < low + 0.5 * experts + 2 * (arch.parameters - experts)
        assert Case(plan, arch, MID).trainable == 3_981_312
    assert estimate_memory(plan, arch).required.mid < 14.6 * GIB  # usable of a T4


# ------------------------------------------------------------------------------------------------------ the terms


def formulas() -> dict[str, Callable[..., object]]:
    """Every term of the table, and every public function of numbers in the modules they are made of."""
    found: dict[str, Callable[..., object]] = {**memory.RESIDENT, **memory.STATES, **memory.PASSING, **loss.KINDS}
    for module in (activations, layer_work, loss, optimizer, sharding, vision, weights):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            of_numbers = function.__annotations__.get("return") == "float"
            if of_numbers and not name.startswith("_") and function.__module__ == module.__name__:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = function
    return found


@pytest.mark.parametrize("name", formulas())
def test_a_term_is_a_screen_with_its_unit_and_its_formula(name: str):
    function = formulas()[name]
    told = inspect.getdoc(function) or ""
    assert len(inspect.getsourcelines(function)[0]) <= 45
    assert "unit:" in told.lower() or "bytes per token" in told.lower()
    assert re.search(r"Formula|See `|Source", told), told


def test_the_page_names_the_terms_as_the_code_does():
    written = set(formula_texts.WRITTEN)
    assert written == set(memory.TERMS)


def test_unsloth_packs_experts_that_are_parameters():
    """Qwen3-30B-A3B: 48 layers × 128 experts × 3 × 2048 × 768, half a byte each under Unsloth, 2 bytes elsewhere."""
    model = {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768}
    model |= {"num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128}
    model |= {"num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936}
    experts = 48 * 128 * 3 * 2048 * 768
    request = {"method": "qlora", "model": model, "transformers": "5.24", "kbit_upcast": False}
    unpacked, packed = (terms("load", **request, framework=name)["weights"] for name in ("hf", "unsloth"))
    assert unpacked - packed == 1.5 * experts


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_lora_kernels_keep_the_gate_and_up_only(dtype: str):
    """Per token of Llama 3.2 1B: 16 checkpoints 2h, one layer's X, e, g (2h + 4f), and 2f + 2h on the way back.

    Axolotl's pull request 3800 measured 0.14 MB per token with the same kernels, which are Unsloth's. Without fused
    norms, as axolotl is without Liger, each of the two keeps an fp32 copy instead of its input: 2 · 2h more.
    """
    model = LLAMA_8B | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16}
    model |= {"num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": True}
    lora = LORA | {"dtype": dtype, "dropout": 0.0}
    request = BASE | {"model": model, "method": "lora", "kernels": "unsloth", "loss": "fused", "attention": "flash"}
    request |= {"gradient_checkpointing": "full", "base_dtype": "bf16", "autocast": True, "lora": lora}

    def per_token(framework: str) -> float:
        peaks = [
            fullest_table(*resolve(request | {"framework": framework, "sequence_length": n}, load_catalog("{}"))).peak
            for n in (32_768, 131_072)
        ]
        return (peaks[1] - peaks[0]) / 98_304

    assert per_token("hf") == pytest.approx(0.146e6, rel=0.02)
    assert per_token("axolotl") - per_token("hf") == 2 * 2 * 2048
