"""A run that exists already: a tool's file becomes the question, an out-of-memory error is read against it."""

import pytest

AXOLOTL = """
base_model: Qwen/Qwen2.5-7B
adapter: qlora
load_in_4bit: true
sequence_len: 4096
sample_packing: yes
micro_batch_size: 2
gradient_accumulation_steps: 4
lora_r: 32
lora_target_linear: true
gradient_checkpointing: true
flash_attention: true
optimizer: paged_adamw_8bit
learning_rate: 2e-4
wandb_project: mine
"""
ZERO_3 = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}'
ERROR = """
    return torch._C._nn.cross_entropy_loss(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 23.64 GiB of which
1.12 GiB is free. Including non-PyTorch memory, this process has 22.40 GiB memory in use. Of the allocated memory
20.87 GiB is allocated by PyTorch, and 934.12 MiB is reserved by PyTorch but unallocated.
"""


def read(visitor, kind, text):
    """Paste into a box, press, wait until something was read."""
    page = visitor.page
    if not page.locator(f"#{kind}").evaluate("fold => fold.open"):
        page.locator(f"#{kind} > summary").click()
    page.locator(f"#aj-paste-{kind}").fill(text)
    page.locator(f"[data-paste={kind}]").click()
    page.wait_for_function(
        "kind => document.querySelector(`#aj-read-${kind}`).querySelector('table, .aj-moment, .aj-fault, h4')",
        arg=kind,
        timeout=120_000,
    )


def test_a_configuration_becomes_the_question(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    visitor.answered(lambda: read(visitor, "config", AXOLOTL))
    assert page.locator("#aj-model").input_value() == "Qwen2.5 7B"
    assert page.locator("#aj-sequence_length").input_value().replace("\u202f", "") == "4096"
    assert page.locator("#aj-lora-rank").input_value() == "32"
    assert page.locator("#aj-framework").input_value() == "axolotl"
    told = visitor.text("#aj-read-config")
    assert "lora_r: 32" in told
    assert "micro_batch_size: 2" in told
    page.locator("#aj-read-config details > summary").click()
    assert "wandb_project" in visitor.text("#aj-read-config details")
    assert "framework=axolotl" in page.url


def test_a_launchers_file_joins_the_question(visit):
    visitor = visit()
    visitor.open("en/calculator/#model=llama-3.1-8b&method=lora&parallel.gpus_per_node=4")
    page = visitor.page
    visitor.answered(lambda: read(visitor, "config", ZERO_3))
    assert page.locator("#aj-method-lora").is_checked()
    assert page.locator("#aj-parallel-strategy").input_value() == "zero3"
    assert page.locator("#aj-parallel-gpus_per_node").input_value() == "4"


def test_a_dropped_file_goes_through_the_box(visit):
    visitor = visit()
    visitor.open("es/calculator/")
    page = visitor.page
    page.locator("#config > summary").click()
    file = {"name": "qlora.yaml", "mimeType": "text/yaml", "buffer": AXOLOTL.encode()}
    visitor.answered(lambda: page.locator("#aj-paste-file").set_input_files(file))
    assert page.locator("#aj-paste-config").input_value() == AXOLOTL
    assert page.locator("#aj-lora-rank").input_value() == "32"


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("es", "a: [1,\nb: 2", "No es YAML ni JSON"),
        ("en", "just words", "cannot be"),
        ("en", "name: mine\nsteps: 3", "none of their keys"),
    ],
)
def test_what_is_no_configuration_is_told(visit, language, text, words):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    read(visitor, "config", text)
    assert words in visitor.text("#aj-read-config .aj-fault")


def test_an_error_is_read_and_its_fix_is_a_button(visit):
    visitor = visit()
    visitor.open("es/calculator/#oom")
    page = visitor.page
    assert page.evaluate("document.activeElement.id") == "aj-paste-oom"
    read(visitor, "oom", ERROR)
    told = visitor.text("#aj-read-oom")
    assert "pérdida" in told
    assert "1,1 GiB" in told  # free
    assert "última gota" not in told
    before = visitor.text(".aj-numbers")
    first = page.locator("#aj-read-oom .aj-fixes button").first
    visitor.answered(first.click)
    assert visitor.text(".aj-numbers") != before
    visitor.answered(page.locator(".aj-undo").first.click)
    assert visitor.text(".aj-numbers") == before


@pytest.mark.parametrize(("language", "words"), [("es", "MPS (Apple)"), ("en", "MPS (Apple)")])
def test_another_devices_error_is_refused_by_name(visit, language, words):
    visitor = visit()
    visitor.open(f"{language}/calculator/")
    read(visitor, "oom", "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB)")
    assert words in visitor.text("#aj-read-oom .aj-fault")
