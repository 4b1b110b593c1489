// Measures a JSONL, JSON or CSV file in the page: how long its examples are. Runs as a worker; nothing is uploaded.
//
//   page → worker   {file, ratio}     worker → page   {done: bytes} while reading, then {measured} or {trouble}

const BUCKETS = 40;

/**
 * @typedef {object} Measured
 * @property {number} examples
 * @property {number} mean tokens
 * @property {number} median
 * @property {number} p99
 * @property {number} longest
 * @property {[number, number][]} histogram tokens (upper end of a bucket), how many
 * @property {number} skipped rows that could not be read
 */

/**
 * Characters of all texts inside a value: messages, prompt and answer, whatever the fields are called.
 * @param {unknown} value
 * @returns {number}
 */
function characters(value) {
  if (typeof value === "string") return value.length;
  if (!value || typeof value !== "object") return 0;
  let sum = 0;
  for (const [name, item] of Object.entries(value)) if (name !== "role" && name !== "id") sum += characters(item);
  return sum;
}

/**
 * Rows of CSV text, quotes and line breaks inside quotes understood. Yields the characters of each row.
 * @param {AsyncIterable<string>} chunks
 */
async function* csvRows(chunks) {
  let [length, quoted, any] = [0, false, false];
  for await (const chunk of chunks) {
    for (const sign of chunk) {
      if (sign === '"') quoted = !quoted;
      else if (sign === "\n" && !quoted) {
        if (any) yield length;
        [length, any] = [0, false];
        continue;
      } else if (sign !== "\r" && !(sign === "," && !quoted)) length += 1;
      any = true;
    }
  }
  if (any) yield length;
}

/** @param {AsyncIterable<string>} chunks */
async function* lines(chunks) {
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.trim()) yield part;
  }
  if (rest.trim()) yield rest;
}

/**
 * @param {number[]} lengths tokens of each example
 * @param {number} skipped
 * @returns {Measured}
 */
export function summarizeLengths(lengths, skipped) {
  const sorted = Float64Array.from(lengths).sort();
  const count = sorted.length;
  const at = (/** @type {number} */ share) => sorted[Math.min(count - 1, Math.floor(share * count))];
  const longest = sorted[count - 1];
  // Buckets grow by a constant factor: short rows are many, long rows decide the memory.
  const factor = Math.max(longest / 16, 2) ** (1 / BUCKETS);
  /** @type {Map<number, {sum: number, count: number}>} */
  const buckets = new Map();
  for (const length of sorted) {
    const index = Math.max(0, Math.ceil(Math.log(length / 16) / Math.log(factor)));
    const bucket = buckets.get(index) ?? { sum: 0, count: 0 };
    buckets.set(index, { sum: bucket.sum + length, count: bucket.count + 1 });
  }
  /** @type {[number, number][]} */
  const histogram = [...buckets].sort(([a], [b]) => a - b).map(([, b]) => [Math.round(b.sum / b.count), b.count]);
  return {
    examples: count,
    mean: Math.round(sorted.reduce((sum, length) => sum + length, 0) / count),
    median: at(0.5),
    p99: at(0.99),
    longest,
    histogram,
    skipped,
  };
}

/**
 * @param {File} file
 * @param {number} ratio characters per token
 * @param {(bytes: number) => void} progress
 * @returns {Promise<Measured | null>} null when no row could be read
 */
export async function measure(file, ratio, progress) {
  const stream = file.stream().pipeThrough(new TextDecoderStream());
  async function* chunks() {
    const reader = stream.getReader();
    let done = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      done += part.value.length;
      progress(done);
      yield part.value;
    }
  }
  const tokens = (/** @type {number} */ count) => Math.max(1, Math.round(count / ratio));
  /** @type {number[]} */
  const lengths = [];
  let skipped = 0;
  if (/\.(csv|tsv)$/i.test(file.name)) {
    let header = true;
    for await (const count of csvRows(chunks())) {
      if (!header) lengths.push(tokens(count));
      header = false;
    }
  } else if (/\.json$/i.test(file.name)) {
    const rows = JSON.parse(await new Response(file.stream()).text());
    for (const row of Array.isArray(rows) ? rows : Object.values(rows).find(Array.isArray) ?? []) lengths.push(tokens(characters(row)));
  } else {
    for await (const line of lines(chunks())) {
      try {
        lengths.push(tokens(characters(JSON.parse(line))));
      } catch {
        skipped += 1;
      }
    }
  }
  return lengths.length ? summarizeLengths(lengths, skipped) : null;
}

if (typeof document === "undefined" && typeof self !== "undefined") {
  self.onmessage = async ({ data }) => {
    let told = 0;
    try {
      const measured = await measure(data.file, data.ratio, (done) => {
        if (done - told < 4e6) return;
        told = done;
        self.postMessage({ done });
      });
      self.postMessage(measured ? { measured } : { trouble: "empty" });
    } catch (error) {
      self.postMessage({ trouble: String(error) });
    }
  };
}
