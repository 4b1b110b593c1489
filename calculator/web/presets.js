// The commonest questions were answered when the site was built (presets.py): no need to wait for Python, and where
// Python never comes they stand for the nearest question.

import { METHODS } from "./fields.js";
import { modelNamed } from "./models.js";

/**
 * The built answer of a question, or of the nearest; null where there is none.
 * @param {import("./question.js").Question} question
 * @param {URL} folder
 * @param {boolean} nearest whether another question's will do
 * @returns {Promise<{answer: any, exact: boolean} | null>}
 */
export async function presetOf(question, folder, nearest) {
  const { model, method } = question.asked;
  const exact = Object.keys(question.request).every((name) => name === "model" || name === "method");
  const id = typeof model === "string" && modelNamed(model, question.view.names.models);
  if (!id || !METHODS.includes(String(method)) || !(exact || nearest)) return null;
  const response = await fetch(new URL(`presets/${id}.${method}.json`, folder)).catch(() => null);
  return response?.ok ? { answer: await response.json(), exact } : null;
}
