/** Builds the console into `dist/console`, with a Brotli copy of each text file. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { projectSchema } from "../http/docs/openapi.ts";

const folder = import.meta.dirname;
const outDir = join(folder, "../../dist/console");

const compress: Plugin = {
  name: "compress",
  closeBundle() {
    for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
      if (!/\.(js|css|html|svg)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
    }
  },
};

const { $schema: _schema, ...properties } = projectSchema()["properties"] as Readonly<Record<string, unknown>>;
const SCHEMA = "virtual:deploy-schema";

/** The module with the JSON Schemas of the fields of `portside.json`, from which the page builds the deploy form. */
const deploySchema: Plugin = {
  name: "deploy-schema",
  resolveId: (id) => (id === SCHEMA ? `\0${SCHEMA}` : undefined),
  load: (id) => (id === `\0${SCHEMA}` ? `export const properties = ${JSON.stringify(properties)}` : undefined),
};

export default defineConfig({
  root: folder,
  // Relative URLs work under any prefix, even behind a proxy that removes one.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [deploySchema, compress],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // The content security policy forbids `data:` URLs and inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
