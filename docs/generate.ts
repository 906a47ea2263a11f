/** The pages that are made from the code. `npm run docs` writes them; a test holds them to it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { awsCapabilities, awsSettingsOf, type SharedResources } from "../adapters/aws/index.ts";
import { gcpCapabilities, gcpConfigOf } from "../adapters/gcp/index.ts";
import { localCapabilities } from "../adapters/local/capabilities.ts";
import { localConfigSchema } from "../adapters/local/config.ts";
import { refusedArguments, refusedGroups, uncountedMemory } from "../adapters/local/sandbox/refused-calls.ts";
import { memoryCapabilities } from "../adapters/memory/capabilities.ts";
import {
  accountLimits,
  archiveLimits,
  cloudDeadlines,
  deployLimits,
  fieldLimits,
  fireLimits,
  grantMinutes,
  logLimits,
  objectPathLimits,
  sourceObjectBytes,
  sqlLimits,
  trashDays,
  unpackDeadline,
} from "../core/domain/accounts/limits.ts";
import { formatMemory } from "../core/domain/deploy/resources.ts";
import type { Capabilities, Feature } from "../core/domain/wire/capabilities.ts";
import { DEPLOYMENT_NAME_MAX, reservedNames, VOLUME_NAME_MAX } from "../core/domain/wire/names.ts";
import { flagOf, serveShape, variableOf } from "../hosts/composition/settings.ts";
import { apiPage } from "./pages/api.ts";
import { commandsPage } from "./pages/commands.ts";
import { decisions } from "./pages/decisions.ts";
import { examplesPage } from "./pages/examples.ts";
import { MADE, table } from "./pages/markdown.ts";
import { projectFilePage } from "./pages/project-file.ts";
import { referencePages } from "./pages/reference.ts";

const presetOf = (key: string): string => {
  const preset = serveShape[key as keyof typeof serveShape].safeParse(undefined);
  return preset.success && preset.data !== undefined ? `\`${preset.data}\`` : "";
};

const configuration = (): string => {
  const rows = Object.entries(serveShape).map(([key, schema]) => [
    `\`--${flagOf(key)}\``,
    `\`${variableOf(key)}\``,
    `\`${key}\``,
    presetOf(key),
    schema.description ?? "",
  ]);
  return `# Configuration of \`portside serve\`

${MADE}

The first that is given wins: a flag, a variable, a key of the configuration file, the default. The file is JSON; it is
\`--config FILE\`, else \`portside.config.json\` in the data folder. Another provider's settings stand in a section of
its name: \`{"provider": "./mine.js", "./mine.js": {…}}\`.

${table(["flag", "variable", "key", "default", "meaning"], rows)}
`;
};

const range = (bounds: { readonly min: number; readonly max?: number; readonly default?: number }): string[] => [
  String(bounds.min),
  bounds.max === undefined ? "the provider's most" : String(bounds.max),
  bounds.default === undefined ? "" : String(bounds.default),
];

const seconds = (millis: number): string => `${millis / 1000} s`;

const limits = (): string => {
  const { port, timeout, cpu, concurrency, max_instances, memory, env, mounts, logs } = fieldLimits;
  const fields = [
    ["port", ...range(port)],
    ["timeout (seconds)", ...range(timeout)],
    ["cpu", ...range(cpu)],
    ["concurrency", ...range(concurrency)],
    ["max_instances (0: the platform's own)", ...range(max_instances)],
    ["memory", formatMemory(memory.minBytes), "the provider's most", memory.default],
    ["logs limit", ...range(logs)],
  ];
  const archive = [
    ["the file", formatMemory(archiveLimits.fileBytes)],
    ["the file, as an object of a volume (source_object)", formatMemory(sourceObjectBytes)],
    ["entries, and folders that only paths name", String(archiveLimits.entries)],
    ["unpacked", formatMemory(archiveLimits.unpackedBytes)],
    ["one entry", formatMemory(archiveLimits.entryBytes)],
    ["depth of folders", String(archiveLimits.depth)],
    ["bytes of a path", String(archiveLimits.pathBytes)],
    ["bytes of a file or folder name", String(archiveLimits.partBytes)],
    ["unpacking it, on one machine", seconds(unpackDeadline)],
  ];
  const account = [
    ["deployments", String(accountLimits.deployments)],
    ["instances at once", String(accountLimits.instances)],
    ["volumes", String(accountLimits.volumes)],
    ["builds at once", String(accountLimits.buildsAtOnce)],
    ["uploads at once", String(accountLimits.uploadsAtOnce)],
    ["requests a minute", String(accountLimits.requestsPerMinute)],
  ];
  const deploy = [
    ["build", `${seconds(deployLimits.buildDeadline)}; on a cloud ${seconds(cloudDeadlines.buildDeadline)}`],
    [
      "until a service listens",
      `${seconds(deployLimits.listenDeadline)}; on a cloud ${seconds(cloudDeadlines.listenDeadline)}`,
    ],
    [
      "rollout as a whole",
      `${seconds(deployLimits.rolloutDeadline)}; on a cloud ${seconds(cloudDeadlines.rolloutDeadline)}`,
    ],
    ["setting its schedule", seconds(deployLimits.scheduleDeadline)],
    ["a silent step repeats its status after", seconds(deployLimits.heartbeat)],
    ["deploys of one name that wait", String(deployLimits.queuedPerName)],
    ["an ended deploy can be followed for", seconds(deployLimits.kept)],
    [
      "build output in the stream",
      `the first ${deployLimits.outputLines} lines or ${formatMemory(deployLimits.outputBytes)}, and the last ${deployLimits.lastOutputLines} lines or ${formatMemory(deployLimits.lastOutputBytes)}`,
    ],
  ];
  const reading = [
    ["entries of a page", String(fieldLimits.logs.max)],
    ["characters of a filter", String(logLimits.filterChars)],
    ["scanning for one page, then the page is partial", seconds(logLimits.timeoutMs)],
  ];
  const queries = [
    ["characters of a statement", String(sqlLimits.chars)],
    ["time", seconds(sqlLimits.deadline)],
    ["rows of an answer", String(sqlLimits.rows)],
    ["bytes of an answer", formatMemory(sqlLimits.bytes)],
  ];
  const volumes = [
    ["bytes of an object's path", String(objectPathLimits.bytes)],
    ["bytes of a part of it", String(objectPathLimits.partBytes)],
    ["objects of a page", String(fieldLimits.objects.max)],
    ["a URL to put an object", `${grantMinutes.upload} min`],
    ["a URL to get an object", `${grantMinutes.download} min`],
    ["a deleted volume can be restored for", `${trashDays} days`],
  ];
  const fires = [
    ["a failed fire is tried again after", fireLimits.retryDelays.map(seconds).join(", ")],
    ["a fire that is found later is left out", seconds(fireLimits.lateness)],
  ];
  return `# Limits

${MADE}

## Names

A deployment's name has at most ${DEPLOYMENT_NAME_MAX} characters, a volume's at most ${VOLUME_NAME_MAX}: lower-case letters a-z, digits
and '-', beginning with a letter (a volume's with a digit as well), and not ending in '-'; of a deployment '_' is read as '-'. Reserved, by a setting of the library: ${reservedNames.map((name) => `\`${name}\``).join(", ")}.

## Fields of a deploy

${table(["field", "least", "most", "default"], fields)}

At most ${mounts.max} mounts; at most ${formatMemory(env.maxBytes)} of environment; a JSON body of at most 1 MiB.

## Source archive

${table(["what", "most"], archive)}

## An account (settings)

${table(["what", "most"], account)}

## A deploy (the first two and the queue are settings)

${table(["what", "bound"], deploy)}

## Reading logs

${table(["what", "most"], reading)}

## SQL

${table(["an answer", "most"], queries)}

## Volumes

${table(["what", "most"], volumes)}

## Schedules

${table(["what", "bound"], fires)}
`;
};

const said = (one: Feature): string =>
  one.supported ? (one.note === undefined ? "yes" : `yes, ${one.note}`) : `no: ${one.reason}`;

const featuresOf = (capabilities: Capabilities): [string, string][] => {
  const rows: [string, string][] = [];
  const visit = (name: string, value: unknown): void => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    if ("supported" in value) rows.push([name, said(value as Feature)]);
    else for (const [key, inner] of Object.entries(value)) visit(name === "" ? key : `${name}.${key}`, inner);
  };
  visit("", capabilities);
  return rows;
};

const capabilities = (): string => {
  const config = localConfigSchema.parse({ dataDir: "/" });
  const runner = { kind: "bubblewrap", mapsPaths: true, mountsFolders: true, ownNetwork: true } as never;
  const containers = { engine: { name: "Docker", version: "or Podman" } } as never;
  const networks = {} as never;
  const toolchain = { node: "node", npm: "npm", shims: "", python: "python3" };
  const local = new Map(
    featuresOf(
      localCapabilities(config, { runner, limits: "cgroup", containers, networks, reason: undefined }, toolchain),
    ),
  );
  const gcp = new Map(
    featuresOf(
      gcpCapabilities(
        gcpConfigOf({
          project: "my-project",
          region: "europe-west1",
          dataDir: "data",
          logDataset: "my-project.logs",
        }),
      ),
    ),
  );
  const https = { scheme: "https" } as SharedResources;
  const aws = new Map(
    featuresOf(
      awsCapabilities({
        ...awsSettingsOf({
          region: "eu-west-1",
          dataDir: "data",
          athenaWorkgroup: "portside",
          logTable: "portside.logs",
        }),
        shared: https,
      }),
    ),
  );
  const rows = featuresOf(memoryCapabilities).map(([name, memory]) => [
    `\`${name}\``,
    memory,
    local.get(name) ?? "",
    gcp.get(name) ?? "",
    aws.get(name) ?? "",
  ]);
  return `# Capabilities

${MADE}

What each provider offers, in the words of \`GET /v1/capabilities\`. The local provider is shown as root with bubblewrap,
npm and python3 installed; what it finds on your machine, it says itself. The providers gcp ([gcp.md](../providers/gcp.md)) and aws
([aws.md](../providers/aws.md)) are shown with SQL set up and without billing, aws with a certificate.

${table(["feature", "memory", "local", "gcp", "aws"], rows)}
`;
};

const sandbox = (): string => {
  const names = (calls: readonly string[]) => calls.map((call) => `\`${call}\``).join(", ");
  const groups = refusedGroups.map(({ calls, answer, reason }) => [names(Object.keys(calls)), `\`${answer}\``, reason]);
  const byArgument = refusedArguments.map(({ call, answer, reason }) => [`\`${call}\``, `\`${answer}\``, reason]);
  const uncounted = [
    names(Object.keys(uncountedMemory.calls)),
    `\`${uncountedMemory.answer}\``,
    uncountedMemory.reason,
  ];
  return `# Kernel calls that a sandbox refuses

${MADE}

A bubblewrap sandbox refuses the calls below to services, builds and \`portside shell\`, on x86-64 and arm64. On other machines
there is no filter, and \`portside doctor\` says so. A program that calls the kernel as a 32-bit program does ends with \`SIGSYS\`.

${table(["call", "error", "why"], [...groups, ...byArgument])}

Without control groups, where Portside counts memory itself, the sandbox refuses these as well:

${table(["call", "error", "why"], [uncounted])}
`;
};

/** The generated pages that are committed, by path. */
export const pages = async (): Promise<Readonly<Record<string, string>>> => ({
  "docs/reference/api.md": apiPage(),
  "docs/reference/commands.md": await commandsPage(),
  "docs/reference/configuration.md": configuration(),
  "docs/reference/limits.md": limits(),
  "docs/reference/project-file.md": projectFilePage(),
  "docs/reference/capabilities.md": capabilities(),
  "docs/reference/sandbox.md": sandbox(),
  "docs/decisions/README.md": decisions(),
});

/** Writes the pages that only the site and the package contain: the exports of each subpath, and the examples. */
export const writeSitePages = (): void => {
  mkdirSync("docs/exports", { recursive: true });
  for (const [path, text] of Object.entries({ ...referencePages(), "docs/guides/examples.md": examplesPage() }))
    writeFileSync(path, text);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of Object.entries(await pages())) writeFileSync(path, text);
  if (process.argv[2] === "--site") writeSitePages();
}
