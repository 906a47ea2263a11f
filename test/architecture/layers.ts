/** The rules for imports between files, as a table that the layering test checks. */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "vite";

interface Rule {
  /** The importing files. */
  readonly from: RegExp;
  /** The permitted imports: resolved paths of the project, or package names. */
  readonly may: readonly RegExp[];
  readonly why: string;
}

const node = /^node:/;
const core = /^core\//;

/** The first rule whose `from` matches applies. */
const rules: readonly Rule[] = [
  { from: /^core\/result\.ts$/, may: [/^neverthrow$/], why: "the only import of neverthrow" },
  {
    from: /^core\/domain\//,
    may: [/^core\/domain\//, /^core\/(errors|result)\.ts$/, /^zod$/],
    why: "the domain is pure",
  },
  {
    from: /^core\/ports\//,
    may: [/^core\/(domain|ports)\//, /^core\/(errors|result)\.ts$/],
    why: "ports mention the domain only",
  },
  { from: /^core\//, may: [core, /^zod$/], why: "core imports zod and itself, and neverthrow through core/result.ts" },
  ...["memory", "local"].map((provider) => ({
    from: new RegExp(`^adapters/${provider}/`),
    may: [
      new RegExp(`^adapters/(${provider}|acme|shared|decorators|jwt)/`),
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(zod|tar|undici|semver|jose|tinypool|dockerode|@balena\/dockerignore)$/,
    ],
    why: "providers may import the ports, the domain and shared adapters, never each other",
  })),
  {
    from: /^adapters\/gcp\//,
    may: [
      /^adapters\/(gcp|cloud|shared)\//,
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(zod|tar|@google-cloud\/[a-z-]+|google-auth-library)$/,
    ],
    why: "only a cloud's adapter imports the cloud's packages",
  },
  {
    from: /^adapters\/aws\//,
    may: [
      /^adapters\/(aws|cloud|shared)\//,
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(zod|tar|@aws-sdk\/[a-z0-9-]+|@polyglot-sql\/sdk)$/,
    ],
    why: "only a cloud's adapter imports the cloud's packages",
  },
  {
    from: /^adapters\/decorators\//,
    may: [
      /^adapters\/(decorators|shared)\//,
      /^core\/(domain|ports)\//,
      /^core\/(control-plane|errors|result)\.ts$/,
      /^(prom-client|@opentelemetry\/api)$/,
    ],
    why: "decorators wrap ports and the control plane, and import no provider",
  },
  ...["acme", "jwt", "postgres", "stripe"].map((vendor) => ({
    from: new RegExp(`^adapters/${vendor}/`),
    may: [
      new RegExp(`^adapters/(${vendor}|shared)/`),
      ...(vendor === "postgres" ? [/^adapters\/jwt\//] : []),
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(zod|jose|stripe|undici)$/,
    ],
    why: "single-vendor adapters import vendor packages, and no provider",
  })),
  {
    from: /^adapters\/cloud\//,
    may: [
      /^adapters\/(cloud|shared)\//,
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(mime|zod)$/,
    ],
    why: "the common part of the clouds imports neither of them",
  },
  {
    from: /^adapters\/shared\//,
    may: [
      /^adapters\/shared\//,
      /^core\/(domain|ports)\//,
      /^core\/(errors|result)\.ts$/,
      node,
      /^(zod|tar|jose|re2js|tldts|mime|fresh|range-parser|semver|@duckdb\/node-api|@polyglot-sql\/sdk)$/,
    ],
    why: "shared adapters import no provider",
  },
  {
    from: /^hosts\/composition\//,
    may: [/^(core|adapters)\//, /^hosts\/composition\//, node, /^(zod|jose|pino|inversify|reflect-metadata|pg)$/],
    why: "composition imports the providers and the container, and no host",
  },
  {
    from: /^hosts\/http\//,
    may: [
      /^hosts\/http\//,
      /^core\/(domain|use-cases)\//,
      /^core\/(control-plane|errors|result)\.ts$/,
      node,
      /^(zod|fastify|@fastify\/busboy)$/,
    ],
    why: "the HTTP host imports the control plane, and no adapter or port",
  },
  {
    from: /^hosts\/client\//,
    may: [
      /^hosts\/client\//,
      /^hosts\/http\/(endpoints|error-response)\.ts$/,
      /^core\/domain\//,
      /^core\/errors\.ts$/,
      /^zod$/,
    ],
    why: "the client imports types, and rules that import nothing; test/hosts/client/bundle.test.ts lists those",
  },
  {
    from: /^hosts\/console\/vite\.config\.ts$/,
    may: [node, /^vite$/, /^hosts\/http\/docs\/openapi\.ts$/],
    why: "the build of the console is a script",
  },
  {
    from: /^hosts\/console\//,
    may: [
      /^hosts\/console\//,
      /^hosts\/(client\/index|client\/storage\/[a-z-]+|packer\/[a-z-]+)\.ts$/,
      /^core\/domain\/(wire\/(names|instant)|usage\/(decimal|month))\.ts$/,
      /^core\/domain\/(deploy\/source\/packing|sql\/(csv|functions)|volumes\/object-path)\.ts$/,
      /^virtual:deploy-schema$/,
      /^(preact|preact\/hooks|@preact\/signals|@tanstack\/virtual-core|uplot)$/,
      /^uplot\/dist\/uPlot\.min\.css$/,
      /^(@codemirror\/|@lezer\/highlight$)/,
    ],
    why: "the console uses the public API through the client, and rules that import no package of Node",
  },
  {
    from: /^hosts\/packer\//,
    may: [/^hosts\/packer\//, /^core\/domain\//, /^(fflate|ignore)$/],
    why: "the packer runs in browsers and in Node, and imports the rules of sources",
  },
  {
    from: /^hosts\/cli\//,
    may: [
      /^hosts\//,
      /^core\/domain\//,
      /^core\/control-plane\.ts$/,
      /^adapters\/shared\/runtime\/(loopback|packaged-script)\.ts$/,
      node,
      /^cli-table3$/,
    ],
    why: "the command line uses the API, and composition for local commands",
  },
  {
    from: /^test\/(contracts|arbitraries)\//,
    may: [/^test\/(contracts|arbitraries)\//, core, node, /^(vitest|fast-check|zod)$/],
    why: "published: contract suites and arbitraries import core, vitest and fast-check only",
  },
  {
    from: /^test\/simulation\//,
    may: [
      /^test\/simulation\//,
      core,
      /^adapters\/memory\/(index|manual-clock)\.ts$/,
      /^adapters\/shared\/logs\/re2\.ts$/,
    ],
    why: "published: the simulation is the memory provider with injected faults",
  },
];

export interface Violation {
  readonly file: string;
  readonly imports: string;
  readonly why: string;
}

/** Every module that a file names: imports, re-exports, dynamic imports, type imports. */
const specifiersOf = (file: string, code: string): string[] => {
  const { module } = parseSync(file, code);
  return [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap((one) => one.entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.flatMap((one) => {
      const text = code.slice(one.moduleRequest.start, one.moduleRequest.end);
      return /^["'`]/.test(text) ? [text.slice(1, -1)] : [];
    }),
  ];
};

const resolved = (file: string, specifier: string): string =>
  specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(file), specifier)) : specifier;

/** The project's files that a file imports, including type imports. */
export const importedFiles = (file: string): string[] =>
  specifiersOf(file, readFileSync(file, "utf8"))
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => resolved(file, specifier));

/** The imports of a file that break its rule. A file without a rule is a violation, too. */
export const violationsOf = (file: string, code: string): Violation[] => {
  const rule = rules.find(({ from }) => from.test(file));
  if (rule === undefined) return [{ file, imports: "", why: "no rule covers this file" }];
  return specifiersOf(file, code)
    .map((specifier) => resolved(file, specifier))
    .filter((target) => !rule.may.some((may) => may.test(target)))
    .map((imports) => ({ file, imports, why: rule.why }));
};
