// A model by any of its names, as the estimator's catalog finds it: what a name on Hugging Face says about owner, tuning
// or storage does not change the architecture.

/** @typedef {import("./text.js").Names["models"]} Models */

/** Words of a repository's name that do not say how large the model is. The estimator's TUNING_WORDS, held equal by a test. */
export const TUNING_WORDS = new Set(
  (
    "instruct chat it pt base hf meta sft dpo bf16 fp16 fp8 unsloth bnb " +
    "4bit 8bit nf4 gptq awq int4 int8 dynamic quantized"
  ).split(" "),
);

/** The date of a later tuning: 2507 is July 2025. */
const MONTH = /^(2[4-9]|3\d)(0[1-9]|1[0-2])$/;

/** @param {string} name */
function stem(name) {
  const words = name.trim().toLowerCase().replaceAll("\\", "/").split("/").at(-1)?.replaceAll("_", "-").split("-") ?? [];
  return words.filter((word) => !TUNING_WORDS.has(word) && !MONTH.test(word)).join("-");
}

/**
 * The catalog's id of a model: by id, name or Hugging Face id, else the only one that differs in owner and tuning alone.
 * @param {string} name
 * @param {Models} models
 * @returns {string | undefined}
 */
export function modelNamed(name, models) {
  const typed = name.trim().replace(/^https:\/\/(www\.)?huggingface\.co\//i, "").replace(/\/+$/, "");
  const same = (/** @type {string | null} */ other) => other?.toLowerCase() === typed.toLowerCase();
  const exact = Object.entries(models).find(([id, m]) => [id, m.name, m.hf_id].some(same));
  if (exact) return exact[0];
  const wanted = stem(typed);
  const found = Object.entries(models).filter(([id, m]) => wanted && [stem(m.hf_id ?? ""), stem(id)].includes(wanted));
  return found.length === 1 ? found[0][0] : undefined;
}
