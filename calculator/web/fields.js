// The questions of the form: which field of the contract, of which kind, in which place, shown when.

/** @typedef {Record<string, unknown>} Flat a request or plan with dotted names: {"lora.rank": 16} */
/**
 * @typedef {object} Field
 * @property {"integer" | "number" | "choice" | "list" | "boolean"} kind a list is asked for by one choice
 * @property {string[]} [choices]
 * @property {boolean} [automatic] null is an answer: "automatic"
 * @property {string} [unit] key of the unit's sentence
 * @property {(plan: Flat) => boolean} [when]
 */

export const METHODS = ["qlora", "lora", "full"];
export const OTHER_METHODS = [
  "dora", "rslora", "adalora", "vera", "ia3", "prefix", "prompt", "p-tuning", "adapter", "llama-adapter", "ln-tuning",
  "galore", "lomo", "freeze",
];
const FULL = ["full", "galore", "lomo", "freeze"];
const LORA = ["lora", "qlora", "dora", "rslora", "adalora", "vera"];

/** @param {Flat} plan */
export const trainsBase = (plan) => FULL.includes(String(plan.method));
/** @param {Flat} plan */
const hasLora = (plan) => LORA.includes(String(plan.method));
/** @param {Flat} plan */
const hasGpu = (plan) => plan.mode === "have-gpu";
/** @param {Flat} plan */
const hasBudget = (plan) => plan.mode === "have-budget";

/** @type {Record<string, Field>} */
export const FIELDS = {
  framework: {
    kind: "choice",
    choices: ["trl", "hf", "axolotl", "llama-factory", "unsloth", "torchtune", "litgpt", "ms-swift", "deepspeed", "megatron"],
  },
  task: { kind: "choice", choices: ["sft", "dpo", "kto", "orpo", "simpo", "reward", "grpo", "pretrain"] },
  precision: {
    kind: "choice",
    choices: ["bf16", "bf16-mixed", "bf16-master", "fp16", "fp16-mixed", "fp8-mixed", "fp32"],
    when: trainsBase,
  },
  sequence_length: { kind: "integer", unit: "unit.tokens" },
  "dataset.mean_tokens": { kind: "number", unit: "unit.tokens" },
  "dataset.examples": { kind: "integer" },
  "dataset.epochs": { kind: "number" },
  gpu: { kind: "choice", automatic: true },
  "job.budget_usd": { kind: "number", automatic: true, when: hasBudget },
  "job.deadline_h": { kind: "number", automatic: true },

  micro_batch: { kind: "integer", automatic: true },
  grad_accum: { kind: "integer" },
  padding: { kind: "choice", choices: ["padded", "packed", "padding-free"] },
  optimizer: {
    kind: "choice",
    choices: [
      "adamw", "adamw-foreach", "adamw-8bit", "paged-adamw-8bit", "paged-adamw", "adamw-4bit", "adafactor", "lion", "sgd", "muon",
    ],
  },
  quantization: {
    kind: "choice",
    choices: ["none", "nf4", "nf4-nested", "int8", "gptq-int4", "fp8"],
    when: (plan) => !trainsBase(plan),
  },
  "lora.rank": { kind: "integer", when: hasLora },
  "lora.targets": { kind: "choice", choices: ["all-linear", "attention", "qkv", "qv"], when: hasLora },
  gradient_checkpointing: { kind: "choice", choices: ["full", "selective", "none"] },
  attention: { kind: "choice", choices: ["flash", "sdpa", "eager"] },
  loss: { kind: "choice", choices: ["default", "in-place", "chunked", "chunked-kept", "tiled", "fused"] },
  "parallel.gpus_per_node": { kind: "integer" },
  "parallel.nodes": { kind: "integer" },
  "parallel.strategy": {
    kind: "choice",
    choices: ["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2", "device-map"],
  },
  "filters.purchase": { kind: "list" },
  "filters.providers": { kind: "list" },
  "filters.regions": { kind: "list" },
  "filters.kinds": { kind: "list" },
  "filters.max_age_days": { kind: "integer", automatic: true },
  "filters.max_gpus": { kind: "integer" },
  "eval.examples": { kind: "integer" },
  "eval.batch": { kind: "integer", when: (plan) => Number(plan["eval.examples"]) > 0 },
  "save.merge": { kind: "boolean", when: (plan) => !trainsBase(plan) },
  "job.experiments": { kind: "integer" },
  "job.idle_h_per_experiment": { kind: "number" },
  "job.keep_storage_days": { kind: "number" },
};

/** @type {[string, string[]][]} The fold: group, fields. */
export const SETTINGS = [
  ["batch", ["micro_batch", "grad_accum", "padding"]],
  ["memory", ["lora.rank", "lora.targets", "quantization", "optimizer", "gradient_checkpointing", "attention", "loss"]],
  ["gpus", ["parallel.gpus_per_node", "parallel.nodes", "parallel.strategy"]],
  ["job", ["eval.examples", "eval.batch", "save.merge", "job.experiments", "job.idle_h_per_experiment", "job.keep_storage_days"]],
];

/**
 * The fields of a mode's own question.
 * @param {Flat} plan
 */
export function modeFields(plan) {
  if (hasGpu(plan)) return ["gpu"];
  return hasBudget(plan) ? ["job.budget_usd", "job.deadline_h"] : [];
}

/**
 * {"lora": {"rank": 16}} → {"lora.rank": 16}. A pasted model stays whole.
 * @param {Record<string, any>} nested
 * @param {string} [prefix]
 * @returns {Flat}
 */
export function flatten(nested, prefix = "") {
  /** @type {Flat} */
  const flat = {};
  for (const [name, value] of Object.entries(nested)) {
    const group = value && typeof value === "object" && !Array.isArray(value) && name !== "model" && name !== "defaults";
    if (group) Object.assign(flat, flatten(value, `${prefix}${name}.`));
    else flat[prefix + name] = value;
  }
  return flat;
}

/**
 * {"lora.rank": 16} → {"lora": {"rank": 16}}
 * @param {Flat} flat
 */
export function unflatten(flat) {
  // Without a prototype: a link may name "__proto__", and that must stay a field like any other, for Python to refuse.
  /** @type {Record<string, any>} */
  const nested = Object.create(null);
  for (const [path, value] of Object.entries(flat)) {
    const [group, name] = path.split(".");
    if (name === undefined) nested[group] = value;
    else {
      const known = nested[group];
      const inner = known !== null && typeof known === "object" && !Array.isArray(known) ? known : Object.create(null);
      nested[group] = inner;
      inner[name] = value;
    }
  }
  return nested;
}
