"""Why a key of a tool's file decides nothing here, and why a field cannot be written in a file."""

from __future__ import annotations

from .sentences import Sentences, sentences

REASONS: Sentences = sentences("""
no-effect
  es No cambia la memoria ni el tiempo.
  en It changes neither memory nor time.
data
  es Es de tus datos: di cuántos ejemplos hay y lo largos que son.
  en It is about your data: say how many examples there are and how long they are.
place
  es Dice dónde se guarda o se registra, no cuánto ocupa.
  en It says where things are kept or logged, not how much they take.
length
  es La duración se cuenta por épocas y ejemplos; los pasos dependen de cuántos ejemplos haya.
  en Length is counted in epochs and examples; steps depend on how many examples there are.
small
  es Cambia la memoria o el tiempo tan poco que no se cuenta.
  en It changes memory or time too little to be counted.
not-modelled
  es Puede cambiar la memoria o el tiempo y todavía no lo calculamos.
  en It may change memory or time, and we do not count it yet.
elsewhere
  es Está en otro archivo: léelo también.
  en It is in another file: read that one too.
auto
  es «auto»: lo decide la herramienta al arrancar.
  en “auto”: the tool decides when it starts.
unknown
  es No está en nuestra tabla: no sabemos si cambia la memoria o el tiempo.
  en It is not in our table: we cannot say whether it changes memory or time.
value
  es Todavía no calculamos este valor.
  en We do not count this value yet.
depends
  es Solo cuenta con otro método, otra tarea u otra estrategia.
  en It only counts with another method, task or strategy.
fraction
  es Es una fracción de tus datos: di cuántos ejemplos se evalúan («eval.examples»).
  en It is a fraction of your data: say how many examples are evaluated (“eval.examples”).
off
  es Está desactivado.
  en It is off.
model
  es El modelo es un config.json sin nombre: pon en el archivo dónde están sus pesos.
  en The model is a config.json without a name: say in the file where its weights are.
refused-tool
  es {tool} no tiene una opción para esto: correrá con {value}.
  en {tool} has no option for this: it will run with {value}.
refused-launch
  es Se dice al arrancar, no en este archivo.
  en It is said when the job is launched, not in this file.
refused-data
  es Lo deciden tus datos, no este archivo.
  en Your data decide it, not this file.
refused-batch
  es No tiene clave propia: es micro-lote × acumulación × GPU, y esos sí están en el archivo.
  en It has no key of its own: it is micro-batch × accumulation × GPUs, and the file says those.
refused-market
  es Es de la oferta y del presupuesto, no del entrenamiento.
  en It belongs to the offer and the budget, not to the training.
""")

# By tool: reason -> keys, or beginnings of keys that end in `*`. What the HF Trainer's users share comes first.
TRAINER: dict[str, tuple[str, ...]] = {
    "no-effect": (
        *(
            "lora_alpha",
            "learning_rate",
            "lr_scheduler*",
            "warmup_*",
            "weight_decay",
            "adam_*",
            "max_grad_norm",
            "seed",
            "data_seed",
        ),
        *("label_smoothing_factor", "neftune_noise_alpha", "do_train", "do_eval", "do_predict", "trust_remote_code"),
        *("load_best_model_at_end", "metric_for_best_model", "greater_is_better", "ddp_timeout", "full_determinism"),
        *("eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy", "remove_unused_columns"),
        *("bias", "resume_from_checkpoint", "tf32", "use_reentrant*", "gradient_checkpointing_kwargs*"),
        *("overwrite_output_dir", "average_tokens_across_devices", "save_safetensors", "use_fast_tokenizer"),
        *("loss_type", "loraplus_*", "init_lora_weights", "optim_args", "auto_find_batch_size"),
    ),
    "place": (
        *("output_dir", "logging_*", "log_*", "report_to", "run_name", "project", "push_to_hub", "hub_*", "wandb*"),
        *("plot_loss", "disable_tqdm", "swanlab_*", "use_swanlab", "include_num_input_tokens_seen", "trackio_*"),
        *("include_tokens_per_second", "hf_hub_token", "cache_dir"),
    ),
    "data": ("dataset*", "eval_dataset", "dataloader_*", "preprocessing_*", "chat_template*", "eos_token", "pad_token"),
    "length": ("max_steps",),
    "small": ("ddp_*", "pad_to_multiple_of", "torch_empty_cache_steps", "optim_target_modules"),
    "elsewhere": ("deepspeed", "config_file", "accelerator_config*"),
}

BY_TOOL: dict[str, dict[str, tuple[str, ...]]] = {
    "axolotl": {
        "data": (
            *(
                "datasets",
                "test_datasets",
                "pretraining_dataset",
                "special_tokens*",
                "tokens",
                "default_system_message",
            ),
            *(
                "train_on_inputs",
                "shuffle_merged_datasets",
                "skip_prepare_dataset",
                "sample_packing_*",
                "min_sample_len",
            ),
            *("excess_length_strategy", "streaming*", "roles_to_train", "added_tokens_overrides*", "eot_tokens"),
            *("field_messages", "message_field*", "image_size", "image_resize_algorithm", "eval_sample_packing"),
            *("remove_unused_columns", "curriculum_sampling", "multipack_real_batches", "val_set_size"),
        ),
        "no-effect": (
            *("learning_rate", "embedding_lr*", "lora_alpha", "model_type", "tokenizer_*", "processor_type", "strict"),
            *(
                "is_*_derived_model",
                "cosine_*",
                "rl_beta",
                "kto_*",
                "orpo_alpha",
                "simpo_gamma",
                "cpo_alpha",
                "dpo_beta",
            ),
            *("auto_resume_from_checkpoints", "early_stopping_patience", "loss_watchdog_*", "save_first_step"),
            *(
                "base_model_config",
                "base_model_ignore_patterns",
                "revision_of_model",
                "type_of_model",
                "hf_use_auth_token",
            ),
            *(
                "lora_fan_in_fan_out",
                "low_cpu_mem_usage",
                "trainer_cls",
                "dpo_*",
                "fix_untrained_tokens",
                "chat_template*",
            ),
            *("pad_to_sequence_len", "weight_decay", "num_labels", "qat*", "quantization.*", "use_tensorboard"),
            *("lora_model_dir", "lora_fp32_gradients", "ring_attn_func", "heads_k_stride", "eval_on_start", "debug"),
            *("trl.beta", "trl.reward_*", "trl.temperature", "trl.scale_rewards", "trl.log_*", "trl.num_completions*"),
            *(
                "trl.top_*",
                "trl.min_p",
                "trl.loss_type",
                "trl.epsilon*",
                "trl.mask_truncated_completions",
                "gradient_clipping",
            ),
            *("trl.vllm_server_*", "vllm.host", "vllm.port", "do_bench_eval", "torch_dtype", "lora_target_parameters"),
            *("dpo_label_smoothing", "liger_*", "lora_qkv_kernel", "lora_mlp_kernel"),
            *(
                "lora_o_kernel",
                "lora_embedding_kernel",
                "plugins",
                "flash_attn_*",
                "fsdp_config.*",
                "fsdp_final_state_dict_type",
            ),
            *(
                "scaling_softmax*",
                "model_quantization_config_kwargs*",
                "trl.max_prompt_length",
                "center_rewards_coefficient",
            ),
        ),
        "place": (
            "mlflow_*",
            "use_mlflow",
            "comet_*",
            "use_comet",
            "gradio_*",
            "dataset_prepared_path",
            "push_dataset_to_hub",
        ),
        "length": ("max_steps", "evals_per_epoch", "saves_per_epoch"),
        "not-modelled": (
            *(
                "relora*",
                "unfrozen_parameters",
                "lisa_*",
                "tiled_mlp*",
                "s2_attention",
                "quantize_moe_experts",
                "use_pose",
            ),
            *(
                "peft_layers_*",
                "lora_layers_to_transform",
                "vllm.*",
                "trl.*",
                "eval_sequence_len",
                "max_memory*",
                "device_map",
            ),
            *("experts_implementation", "load_in_16bit", "torch_compile_*", "deepcompile", "layer_offloading"),
            *(
                "peft_trainable_token_indices*",
                "lora_modules_to_save",
                "fp8*",
                "xformers_attention",
                "overrides_of_model_*",
            ),
            *(
                "bnb_config_kwargs*",
                "peft.*",
                "do_causal_lm_eval",
                "eval_causal_lm_metrics",
                "eval_table_size",
                "rope_scaling*",
            ),
            *(
                "eval_max_new_tokens",
                "process_reward_model",
                "mixlora_*",
                "loraplus_*",
                "nf4_backend",
                "resize_token_*",
            ),
        ),
        "elsewhere": ("base_model_config",),
    },
    "llama-factory": {
        "data": (
            *(
                "template",
                "mask_history",
                "train_on_prompt",
                "tokenized_path",
                "mix_strategy",
                "interleave_probs",
                "streaming",
            ),
            *("overwrite_cache", "buffer_size", "max_samples", "media_dir", "image_*", "video_*", "enable_thinking"),
            *("preserve_thinking", "tool_format", "default_system", "packing", "audio_*", "ignore_pad_token_for_loss"),
        ),
        "no-effect": (
            *(
                "pref_beta",
                "pref_ftx",
                "simpo_gamma",
                "dpo_label_smoothing",
                "kto_*",
                "lora_alpha",
                "quantization_method",
            ),
            *("quantization_type", "adapter_name_or_path", "create_new_adapter", "stage", "galore_*", "model_revision"),
            *("upcast_layernorm", "upcast_lmhead_output", "resize_vocab", "do_sample", "temperature", "top_p", "top_k"),
            *(
                "flash_attn",
                "freeze_multi_modal_projector",
                "pissa_*",
                "early_stopping_steps",
                "ref_model",
                "disable_shuffling",
            ),
            *(
                "low_cpu_mem_usage",
                "double_quantization",
                "use_v1_kernels",
                "infer_*",
                "compute_accuracy",
                "ray_init_kwargs*",
            ),
        ),
        "not-modelled": (
            *("use_badam", "badam_*", "use_apollo", "apollo_*", "use_adam_mini", "use_llama_pro", "freeze_trainable_*"),
            *(
                "freeze_extra_modules",
                "mixture_of_depths",
                "shift_attn",
                "rope_scaling",
                "reward_model*",
                "ppo_*",
                "oft_*",
            ),
            *("use_kt", "kt_*", "use_mca", "fp8*", "freeze_language_model", "predict_with_generate", "max_new_tokens"),
            *("additional_target", "use_hyper_parallel", "hyper_parallel_args", "module_dropout", "use_dft_loss"),
        ),
        "place": ("ray_*", "export_*", "use_tensorboard"),
    },
    "trl": {
        "data": (
            *("completion_only_loss", "assistant_only_loss", "packing_strategy", "shuffle_dataset", "truncation_mode"),
            *("datasets", "streaming", "max_prompt_length", "columns"),
        ),
        "no-effect": (
            *(
                "beta",
                "label_smoothing",
                "temperature",
                "top_*",
                "min_p",
                "epsilon*",
                "reward_*",
                "scale_rewards",
                "bnb_4bit_*",
            ),
            *(
                "model_revision",
                "lora_task_type",
                "attn_implementation",
                "simpo_gamma",
                "cpo_alpha",
                "desirable_weight",
            ),
            *("undesirable_weight", "vllm_server_*", "mask_truncated_completions", "generation_kwargs*", "use_cache"),
            *("loss_weights", "num_completions_to_print", "disable_dropout"),
        ),
        "not-modelled": (
            *("num_iterations", "sync_ref_model", "ref_model_*", "generation_batch_size", "steps_per_generation"),
            *("vllm_*", "lora_target_parameters", "lora_modules_to_save", "precompute_ref_*", "model_init_kwargs*"),
        ),
    },
    "deepspeed": {
        "no-effect": (
            *("gradient_clipping", "prescale_gradients", "wall_clock_breakdown", "steps_per_print", "scheduler*"),
            *("optimizer.params*", "fp16.*", "bf16.*", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer"),
            *(
                "flops_profiler*",
                "tensorboard*",
                "wandb*",
                "csv_monitor*",
                "comms_logger*",
                "dump_state",
                "data_types*",
            ),
        ),
        "small": (
            *(
                "zero_optimization.overlap_comm",
                "zero_optimization.contiguous_gradients",
                "zero_optimization.*pin_memory",
            ),
            *(
                "zero_optimization.allgather_*",
                "zero_optimization.reduce_scatter",
                "zero_optimization.round_robin_gradients",
            ),
            *("zero_optimization.sub_group_size", "zero_optimization.stage3_*", "zero_optimization.offload_*", "aio*"),
        ),
        "not-modelled": ("zero_optimization.*", "activation_checkpointing*", "compression_training*", "pipeline*"),
    },
    "accelerate": {
        "no-effect": (
            *("compute_environment", "debug", "machine_rank", "main_*", "rdzv_*", "same_network", "use_cpu", "tpu_*"),
            *("enable_cpu_affinity", "gpu_ids", "downcast_bf16", "mixed_precision", "deepspeed_config.zero3_*"),
            *("deepspeed_config.gradient_clipping", "deepspeed_config.deepspeed_multinode_launcher", "commands"),
            *(
                "fsdp_config.fsdp_state_dict_type",
                "fsdp_config.fsdp_auto_wrap_policy",
                "fsdp_config.fsdp_use_orig_params",
            ),
            *("fsdp_config.fsdp_transformer_layer_cls_to_wrap", "fsdp_config.fsdp_sync_module_states"),
            *("fsdp_config.fsdp_cpu_ram_efficient_loading", "fsdp_config.fsdp_sharding_strategy"),
        ),
        "small": ("fsdp_config.fsdp_backward_prefetch*", "fsdp_config.fsdp_forward_prefetch"),
        "elsewhere": ("deepspeed_config.deepspeed_config_file",),
        "not-modelled": ("fsdp_config.*", "megatron_lm_config*", "dynamo_*", "fp8_*", "parallelism_config.*"),
    },
}


def reason_of(tool: str, key: str, value: object) -> dict[str, str]:
    """Why a key that no rule took decides nothing."""
    tables = [BY_TOOL[tool], TRAINER] if tool not in ("deepspeed", "accelerate") else [BY_TOOL[tool]]
    if key.startswith("deepspeed."):
        key, tables = key.removeprefix("deepspeed."), [BY_TOOL["deepspeed"]]
    exact = ((reason, keys) for table in tables for reason, keys in table.items() if key in keys)
    begun = (
        (reason, keys)
        for table in tables
        for reason, keys in table.items()
        if any(_begins(pattern, key) for pattern in keys if "*" in pattern)
    )
    for reason, _ in (*exact, *begun):
        return REASONS["off"] if reason == "not-modelled" and value in (False, 0, "none") else REASONS[reason]
    return REASONS["off"] if value is False else REASONS["unknown"]


def _begins(pattern: str, key: str) -> bool:
    """`*` stands for anything; one per pattern."""
    start, _, end = pattern.partition("*")
    return key.startswith(start) and key.endswith(end)
