// One look-up on the Hugging Face hub, only after a click on a button that names it: the model's config.json.

export const HUB = "https://huggingface.co";

/** Why a look-up brought nothing; each has its sentence. */
/** @typedef {"gated" | "missing" | "offline" | "limited"} HubTrouble */

/**
 * "org/name", or its address on the hub.
 * @param {string} text
 * @returns {string | null}
 */
export function hubName(text) {
  const name = text.trim().replace(/^https:\/\/(www\.)?huggingface\.co\//, "").replace(/\/+$/, "");
  return /^[\w.-]+\/[\w.-]+$/.test(name) ? name : null;
}

/**
 * @param {string} name
 * @returns {Promise<{config: object} | {trouble: HubTrouble}>}
 */
export async function fetchConfig(name) {
  try {
    const response = await fetch(`${HUB}/${name}/resolve/main/config.json`, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (response.ok) return { config: await response.json() };
    const { status } = response;
    return { trouble: status === 401 || status === 403 ? "gated" : status === 429 ? "limited" : "missing" };
  } catch {
    return { trouble: "offline" };
  }
}
