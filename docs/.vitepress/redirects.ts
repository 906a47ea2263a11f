/** Redirects the old addresses of pages that moved, so that links to the site keep working. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { subpaths } from "./navigation.ts";

const exportPages = subpaths.map((name) => (name === "" ? "portside" : `portside-${name}`));

/** Old page to new page, both below docs/ and without an extension. */
export const redirects: Readonly<Record<string, string>> = {
  ...Object.fromEntries(exportPages.map((page) => [`reference/${page}`, `exports/${page}`])),
  api: "reference/api",
  aws: "providers/aws",
  bundling: "guides/bundling",
  capabilities: "reference/capabilities",
  commands: "reference/commands",
  configuration: "reference/configuration",
  cost: "usage",
  "decisions/0022-assumptions-of-the-fakes": "providers/gcp",
  "decisions/0027-assumptions-of-amazons-fakes": "providers/aws",
  embedding: "guides/embedding",
  environment: "guides/environment",
  errors: "reference/errors",
  examples: "guides/examples",
  gcp: "providers/gcp",
  limits: "reference/limits",
  "local-engine": "providers/local",
  mutation: "contributing/mutation",
  nestjs: "guides/nestjs",
  observability: "operations/observability",
  operations: "operations/running",
  "portside-json": "reference/project-file",
  python: "guides/python",
  "running-on-clouds": "operations/clouds",
  sandbox: "reference/sandbox",
  security: "operations/security",
  testing: "contributing/testing",
  "testing-deploy-rules": "guides/testing-deploy-rules",
};

/** @param outDir the folder of the built site */
export const writeRedirects = (outDir: string): void => {
  for (const [from, to] of Object.entries(redirects)) {
    const file = join(outDir, "docs", `${from}.html`);
    const target = `${posix.relative(posix.dirname(from), to)}.html`;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      `<!doctype html><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url=${target}"><main class="main"><a href="${target}">This page has moved.</a></main>\n`,
    );
  }
};
