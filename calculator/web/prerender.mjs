// Prints the form and the default answer into HTML that the pages include, and what the page's script must know.
//
//     node calculator/web/prerender.mjs build
//
// Reads  build/app/catalog.json, build/answers/*.json, build/coverage.json, what the browser will download (for its size)
// Makes  build/includes/calculator.{es,en}.html, answer-summary, oom-doctor, one embed-<name> for each of docs/embeds.toml,
//        build/app/names.json

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv, env } from "node:process";
import { gzipSync } from "node:zlib";

import { renderDoctor, renderEmbed } from "./embed-view.js";
import { flatten } from "./fields.js";
import { compact } from "./html.js";
import { renderDoor, renderPage } from "./page.js";
import { View } from "./text.js";

/** @typedef {import("./format.js").Language} Language */

const build = argv[2] ?? "build";
/** A page at any depth takes the include: assemble.py puts the way to the language's root here. */
const ANYWHERE = "%base%";
const repository = env.REPO_URL ?? "https://github.com/example/ajuste";

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

const catalog = readJson(join(build, "app", "catalog.json"));
const { answer } = readJson(join(build, "answers", "default.json"));
const { defaults, ...plan } = answer.plan;

/**
 * @param {any[]} rows
 * @param {(row: any) => object} pick
 */
const byId = (rows, pick) => Object.fromEntries(rows.map((row) => [row.id, pick(row)]));

const names = {
  models: byId(catalog.models, (m) => ({ name: m.name, family: m.family, hf_id: m.hf_id, parameters: m.published_parameters })),
  gpus: byId(catalog.gpus, (g) => ({ name: g.name, gb: g.memory_label_gb })),
  providers: byId(catalog.providers, (p) => ({ name: p.name })),
  coverage: readJson(join(build, "coverage.json")),
};

/**
 * What starting Python downloads: bytes as transferred and as unpacked, by file name.
 * @returns {Record<string, {sent: number, bytes: number}>}
 */
function downloads() {
  const pyodide = join(build, "pyodide");
  const paths = existsSync(pyodide) ? readdirSync(pyodide).map((name) => join(pyodide, name)) : [];
  const own = ["catalog.json", "ajuste.whl"].map((name) => join(build, "app", name)).filter(existsSync);
  return Object.fromEntries(
    [...paths, ...own].map((path) => {
      const content = readFileSync(path);
      return [path.split(/[\\/]/).pop(), { sent: gzipSync(new Uint8Array(content)).length, bytes: content.length }];
    }),
  );
}

const embeds = readdirSync(join(build, "answers"))
  .filter((name) => name.startsWith("embed-"))
  .map((name) => readJson(join(build, "answers", name)));

mkdirSync(join(build, "includes"), { recursive: true });
for (const language of /** @type {Language[]} */ (["es", "en"])) {
  const sentences = readJson(new URL(`strings/${language}.json`, import.meta.url).pathname);
  const view = (/** @type {string} */ base) => new View({ language, sentences, names, base, repository });
  const form = { plan: flatten(plan), sources: defaults, request: {} };
  const pages = {
    calculator: renderPage(answer, form, view("../")),
    "answer-summary": renderDoor(answer, view("")),
    "oom-doctor": renderDoctor(view(ANYWHERE)),
    ...Object.fromEntries(embeds.map(({ embed, answer: own }) => [`embed-${embed.name}`, renderEmbed(embed, own, view(ANYWHERE))])),
  };
  for (const [name, page] of Object.entries(pages)) {
    writeFileSync(join(build, "includes", `${name}.${language}.html`), `${compact(page)}\n`);
  }
}
const known = { ...names, plan: flatten(plan), sources: defaults, repository, downloads: downloads() };
writeFileSync(join(build, "app", "names.json"), JSON.stringify(known));
