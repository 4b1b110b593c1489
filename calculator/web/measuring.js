// What a reader measured: the lengths of a dataset, read here, and a run of their own.

import { readNumber } from "./format.js";

/** Of common tokenizers on prose; code and other scripts need more tokens. Shown and editable. */
export const CHARACTERS_PER_TOKEN = 4;

/**
 * The lengths of a dataset's examples, counted in a thread of their own; null where there is none to read.
 * @param {File} file
 * @param {number} ratio characters per token
 * @param {URL} folder where dataset.js lies
 * @returns {Promise<import("./dataset.js").Measured | null>}
 */
export function lengthsOf(file, ratio, folder) {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("dataset.js", folder), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.done) return;
      worker.terminate();
      resolve(data.measured ?? null);
    };
    worker.postMessage({ file, ratio });
  });
}

/** @param {import("./dataset.js").Measured} measured @returns {import("./fields.js").Flat} the fields that it answers */
export const fieldsOf = ({ examples, mean, longest, histogram }) => ({
  "dataset.examples": examples, "dataset.mean_tokens": mean, "dataset.length_histogram": histogram, sequence_length: longest,
});

/**
 * A model's config.json, a tool's file or a dataset: told apart by keys that the others do not have.
 * @param {File} file
 * @returns {Promise<"model" | "tool" | "dataset">}
 */
export async function kindOf(file) {
  if (/\.ya?ml$/i.test(file.name)) return "tool";
  if (!/\.json$/i.test(file.name) || file.size > 1e6) return "dataset";
  const text = await file.text();
  if (/"(model_type|hidden_size|architectures)"/.test(text)) return "model";
  const tool = /"(zero_optimization|train_micro_batch_size_per_gpu|compute_environment|finetuning_type|sequence_len)"/;
  return file.size < 1e5 && tool.test(text) ? "tool" : "dataset";
}

/**
 * The form for a run of the reader's own, as it is filled in.
 * @param {(id: string) => HTMLElement} find
 * @param {import("./text.js").View} view
 * @param {string} request the question that was run
 */
export function runOf(find, view, request) {
  const field = (/** @type {string} */ id) => /** @type {HTMLInputElement | HTMLSelectElement} */ (find(id)).value;
  const number = (/** @type {string} */ id) => readNumber(field(id), "number", view.language).value ?? undefined;
  const { calibration: _, ...asked } = JSON.parse(request);
  return { gib: number("#aj-measured-gib"), rate: number("#aj-measured-rate"), run: { ...asked, gpu: field("#aj-measured-gpu") } };
}

/**
 * Opens the project's form with a run.
 * @param {ReturnType<typeof runOf>} measured
 * @param {string} repository
 */
export function send({ gib, rate, run }, repository) {
  const body = JSON.stringify({ measured_gib: gib, measured_tokens_per_second: rate, request: run }, null, 2);
  const form = new URLSearchParams({ title: "measurement: ", body: `\`\`\`json\n${body}\n\`\`\`` });
  open(`${repository}/issues/new?${form}`, "_blank", "noopener");
}
