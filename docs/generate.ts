/** Generates pages from the code. `npm run docs` writes them, and a test compares them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { awsCapabilities, awsSettingsOf, type SharedResources } from "../adapters/aws/index.ts";
import { PROBE_SECONDS } from "../adapters/gcp/deploy/probes.ts";
import { gcpCapabilities, gcpConfigOf } from "../adapters/gcp/index.ts";
import { localCapabilities } from "../adapters/local/capabilities.ts";
import { localConfigSchema } from "../adapters/local/config.ts";
import { localTarget } from "../adapters/local/domains/settings.ts";
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
  secretLimits,
  sourceObjectBytes,
  sqlLimits,
  trashDays,
  unpackDeadlineMs,
} from "../core/domain/accounts/limits.ts";
import { formatMemory } from "../core/domain/deploy/resources.ts";
import type { Capabilities, Feature } from "../core/domain/wire/capabilities.ts";
import { DEPLOYMENT_NAME_MAX, reservedNames, VOLUME_NAME_MAX } from "../core/domain/wire/names.ts";
import { flagOf, serveShape, variableOf } from "../hosts/composition/settings.ts";
import { apiPage } from "./pages/api.ts";
import { commandsPage } from "./pages/commands.ts";
import { decisions } from "./pages/decisions.ts";
import { examplesPage } from "./pages/examples.ts";
import { GENERATED, table } from "./pages/markdown.ts";
import { projectFilePage } from "./pages/project-file.ts";
import { referencePages } from "./pages/reference.ts";

const presetOf = (key: string): string => {
  const text = String(serveShape[key as keyof typeof serveShape].safeParse(undefined).data ?? "");
  return text === "" ? "" : `\`${text}\``;
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

${GENERATED}

A flag takes precedence over a variable, a variable over a key of the configuration file, and a key over the default. The
configuration file is JSON. Its path is \`--config FILE\`, or by default \`portside.config.json\` in the data folder. The settings of
your own provider are in a section with its name: \`{"provider": "./mine.js", "./mine.js": {…}}\`.

${table(["flag", "variable", "key", "default", "meaning"], rows)}
`;
};

const range = (bounds: { readonly min: number; readonly max?: number; readonly default?: number }): string[] => [
  String(bounds.min),
  bounds.max === undefined ? "the provider's maximum" : String(bounds.max),
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
    ["max_instances (0: the platform's limit)", ...range(max_instances)],
    ["memory", formatMemory(memory.minBytes), "the provider's maximum", memory.default],
    ["limit (entries per page of logs)", ...range(logs)],
  ];
  const archive = [
    ["the file", formatMemory(archiveLimits.fileBytes)],
    ["the file, as an object of a volume (source_object)", formatMemory(sourceObjectBytes)],
    ["entries, including parent folders without an entry of their own", String(archiveLimits.entries)],
    ["unpacked size", formatMemory(archiveLimits.unpackedBytes)],
    ["one entry", formatMemory(archiveLimits.entryBytes)],
    ["parts per path, including the entry itself", String(archiveLimits.depth)],
    ["bytes per path", String(archiveLimits.pathBytes)],
    ["bytes per file or folder name", String(archiveLimits.partBytes)],
    ["time to unpack the archive, on one machine", seconds(unpackDeadlineMs)],
  ];
  const account = [
    ["deployments", String(accountLimits.deployments)],
    ["instances of a deployment; on one machine, of all deployments together", String(accountLimits.instances)],
    ["volumes", String(accountLimits.volumes)],
    ["custom domains", String(accountLimits.domains)],
    ["concurrent builds", String(accountLimits.buildsAtOnce)],
    ["concurrent uploads", String(accountLimits.uploadsAtOnce)],
    ["requests per minute", String(accountLimits.requestsPerMinute)],
  ];
  const secrets = [
    ["secrets of an account", String(secretLimits.count)],
    ["value of a secret", `1 byte to ${formatMemory(secretLimits.valueBytes)}`],
  ];
  const deploy = [
    [
      "duration of a build",
      `${seconds(deployLimits.buildDeadlineMs)}; on a cloud ${seconds(cloudDeadlines.buildDeadlineMs)}`,
    ],
    [
      "time until a service listens",
      `${seconds(deployLimits.listenDeadlineMs)}; on AWS ${seconds(cloudDeadlines.listenDeadlineMs)}, on Google Cloud ${PROBE_SECONDS.period} s`,
    ],
    [
      "duration of a rollout",
      `${seconds(deployLimits.rolloutDeadlineMs)}; on a cloud ${seconds(cloudDeadlines.rolloutDeadlineMs)}`,
    ],
    ["time to set the schedule", seconds(deployLimits.scheduleDeadlineMs)],
    ["interval of repeated records during a silent step", seconds(deployLimits.heartbeatMs)],
    ["waiting deploys of one name", String(deployLimits.queuedPerName)],
    ["time during which a client can follow a finished deploy", seconds(deployLimits.keptMs)],
    [
      "build output in the stream",
      `the first ${deployLimits.outputLines} lines or ${formatMemory(deployLimits.outputBytes)}, and the last ${deployLimits.lastOutputLines} lines or ${formatMemory(deployLimits.lastOutputBytes)}`,
    ],
  ];
  const reading = [
    ["entries per page", String(fieldLimits.logs.max)],
    ["characters per filter", String(logLimits.filterChars)],
    ["search time per page; a longer search returns a partial page", seconds(logLimits.timeoutMs)],
    ["wait for an entry", seconds(logLimits.waitSeconds * 1000)],
    ["requests of an account that wait for an entry", String(logLimits.waitingAtOnce)],
    ["buckets of a histogram", String(logLimits.buckets)],
    ["entries examined for a list of values", String(logLimits.valueEntries)],
  ];
  const queries = [
    ["characters per statement", String(sqlLimits.chars)],
    ["time", seconds(sqlLimits.timeoutMs)],
    ["rows per response", String(sqlLimits.rows)],
    ["bytes per response", formatMemory(sqlLimits.bytes)],
  ];
  const volumes = [
    ["bytes per object path", String(objectPathLimits.bytes)],
    ["bytes per part of the path", String(objectPathLimits.partBytes)],
    ["objects per page", String(fieldLimits.objects.max)],
    ["validity of an upload URL", `${grantMinutes.upload} min`],
    ["validity of a download URL", `${grantMinutes.download} min`],
    ["period in which a deleted volume can be restored", `${trashDays} days`],
  ];
  const fires = [
    ["delays before the retries of a failed scheduled call", fireLimits.retryDelays.map(seconds).join(", ")],
    ["maximum delay of a scheduled call; a later one is skipped", seconds(fireLimits.lateness)],
    ["requested runs of a schedule that have not ended", String(fireLimits.requested)],
  ];
  return `# Limits

${GENERATED}

## Names

A deployment's name has at most ${DEPLOYMENT_NAME_MAX} characters, and a volume's at most ${VOLUME_NAME_MAX}. Names may contain lower-case letters a-z,
digits and '-'. A name must begin with a letter (a volume's name may also begin with a digit), and must not end with '-'. Portside converts '_'
in a deployment's name to '-'. Reserved deployment names (a setting of the library): ${reservedNames.map((name) => `\`${name}\``).join(", ")}.

## Fields of a deploy

${table(["field", "minimum", "maximum", "default"], fields)}

A deploy may have at most ${mounts.max} mounts and ${formatMemory(env.maxBytes)} of environment variables. A JSON body may have at most 1 MiB.

## Source archive

${table(["limit", "maximum"], archive)}

## Accounts

An operator can change these quotas with settings.

${table(["quota", "maximum"], account)}

## Secrets

${table(["limit", "value"], secrets)}

## Deploys

An operator can change the time limits for building and listening, and the number of waiting deploys.

${table(["limit", "value"], deploy)}

## Reading logs

${table(["limit", "maximum"], reading)}

## SQL

${table(["limit", "maximum"], queries)}

## Volumes

${table(["limit", "value"], volumes)}

## Schedules

${table(["limit", "value"], fires)}
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
      localCapabilities(
        config,
        { runner, limits: "cgroup", containers, networks, reason: undefined },
        toolchain,
        localTarget(config, undefined),
      ),
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

${GENERATED}

This table shows the features in the response of \`GET /v1/capabilities\` for each provider. The column *local* describes a server
that runs as root on a machine with bubblewrap, npm and python3. On your machine, the response depends on the server's user and the
installed programs. The columns *gcp* ([gcp.md](../providers/gcp.md)) and *aws* ([aws.md](../providers/aws.md)) describe installations
with SQL but no billing table. The *aws* installation also has a certificate.

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
  return `# Blocked system calls

${GENERATED}

A bubblewrap sandbox blocks these system calls in services, builds and \`portside shell\`, on x86-64 and arm64. On other processors
the sandbox has no filter, and \`portside doctor\` reports this. A program that uses 32-bit system calls ends with \`SIGSYS\`.

${table(["call", "error", "reason"], [...groups, ...byArgument])}

Without control groups, Portside measures memory itself, and the sandbox also blocks these calls:

${table(["call", "error", "reason"], [uncounted])}
`;
};

/** Returns the generated pages that are committed, by path. */
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

/** Writes the pages that are only on the site and in the package: the exports of each subpath, and the examples. */
export const writeSitePages = (): void => {
  mkdirSync("docs/exports", { recursive: true });
  for (const [path, text] of Object.entries({ ...referencePages(), "docs/guides/examples.md": examplesPage() }))
    writeFileSync(path, text);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of Object.entries(await pages())) writeFileSync(path, text);
  if (process.argv[2] === "--site") writeSitePages();
}
