"""torchtune's builders, tokenizers and checkpoint kinds, by model of the catalog. Read from release 0.6.1."""

from __future__ import annotations

LLAMA_3 = ("torchtune.models.llama3.llama3_tokenizer", {"path": "original/tokenizer.model"}, "LLAMA3")
LLAMA_3_2 = (*LLAMA_3[:2], "LLAMA3_2")
LLAMA_2 = ("torchtune.models.llama2.llama2_tokenizer", {"path": "tokenizer.model"}, "LLAMA2")
MISTRAL = ("torchtune.models.mistral.mistral_tokenizer", {"path": "tokenizer.model"}, "MISTRAL")
GEMMA = ("torchtune.models.gemma.gemma_tokenizer", {"path": "tokenizer.model"}, "GEMMA")
GEMMA_2 = (*GEMMA[:2], "GEMMA2")
PHI_4 = ("torchtune.models.phi4.phi4_tokenizer", {"vocab_path": "vocab.json", "merges_path": "merges.txt"}, "PHI4")
QWEN_2 = ("torchtune.models.qwen2.qwen2_tokenizer", {"path": "vocab.json", "merges_file": "merges.txt"}, "QWEN2")
QWEN_25 = ("torchtune.models.qwen2_5.qwen2_5_tokenizer", QWEN_2[1], "QWEN2")
TORCHTUNE_MODELS: dict[str, tuple[str, tuple[str, dict[str, str], str]]] = {
    "llama-2-7b": ("llama2.llama2_7b", LLAMA_2),
    "llama-2-13b": ("llama2.llama2_13b", LLAMA_2),
    "llama-2-70b": ("llama2.llama2_70b", LLAMA_2),
    "llama-3-8b": ("llama3.llama3_8b", LLAMA_3),
    "llama-3-70b": ("llama3.llama3_70b", LLAMA_3),
    "llama-3.1-8b": ("llama3_1.llama3_1_8b", LLAMA_3),
    "llama-3.1-70b": ("llama3_1.llama3_1_70b", LLAMA_3),
    "llama-3.1-405b": ("llama3_1.llama3_1_405b", LLAMA_3),
    "llama-3.2-1b": ("llama3_2.llama3_2_1b", LLAMA_3_2),
    "llama-3.2-3b": ("llama3_2.llama3_2_3b", LLAMA_3_2),
    "mistral-7b-v0.1": ("mistral.mistral_7b", MISTRAL),
    "gemma-2b": ("gemma.gemma_2b", GEMMA),
    "gemma-7b": ("gemma.gemma_7b", GEMMA),
    "gemma-2-2b": ("gemma2.gemma2_2b", GEMMA_2),
    "gemma-2-9b": ("gemma2.gemma2_9b", GEMMA_2),
    "gemma-2-27b": ("gemma2.gemma2_27b", GEMMA_2),
    "phi-4": ("phi4.phi4_14b", PHI_4),
    "qwen2-0.5b": ("qwen2.qwen2_0_5b", QWEN_2),
    "qwen2-1.5b": ("qwen2.qwen2_1_5b", QWEN_2),
    "qwen2-7b": ("qwen2.qwen2_7b", QWEN_2),
    "qwen2.5-0.5b": ("qwen2_5.qwen2_5_0_5b", QWEN_25),
    "qwen2.5-1.5b": ("qwen2_5.qwen2_5_1_5b_base", QWEN_25),
    "qwen2.5-3b": ("qwen2_5.qwen2_5_3b", QWEN_25),
    "qwen2.5-7b": ("qwen2_5.qwen2_5_7b_base", QWEN_25),
    "qwen2.5-14b": ("qwen2_5.qwen2_5_14b_base", QWEN_25),
    "qwen2.5-32b": ("qwen2_5.qwen2_5_32b_base", QWEN_25),
    "qwen2.5-72b": ("qwen2_5.qwen2_5_72b_base", QWEN_25),
}
