"""Ajuste: memory, time and cost of fine-tuning a language model, in pure Python."""
