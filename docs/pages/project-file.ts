/** The fields of `portside.json`, from the schema that parses it. */
import { fieldLimits } from "../../core/domain/accounts/limits.ts";
import { projectSchema } from "../../hosts/http/docs/openapi.ts";
import { fieldRow } from "./api.ts";
import type { Schema } from "./json-shape.ts";
import { GENERATED, table } from "./markdown.ts";

interface Bounded extends Schema {
  readonly minimum?: number;
  readonly maximum?: number;
}

const { properties, required } = projectSchema() as unknown as {
  readonly properties: Readonly<Record<string, Bounded>>;
  readonly required: readonly string[];
};

const rangeOf = ({ minimum, maximum }: Bounded): string => {
  if (minimum === undefined || maximum === undefined) return "";
  return maximum === Number.MAX_SAFE_INTEGER ? ` At least ${minimum}.` : ` ${minimum} to ${maximum}.`;
};

const row = ([name, schema]: [string, Bounded]): string[] => {
  const [field = "", type = "", needed = "", meaning = ""] = fieldRow(name, schema, required.includes(name));
  return [field, type, needed, meaning + rangeOf(schema)];
};

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

export const projectFilePage = (): string => `# portside.json

${GENERATED}

\`portside.json\` declares a service. It is in the top folder of the source, but is not deployed with it. \`portside init\`
writes one, and \`portside deploy\` and \`portside run\` read it.

${json({
  $schema: "https://unpkg.com/portside/schema/portside.json",
  name: "shop",
  memory: "512Mi",
  volumes: { "/data": "shop-data" },
  env: { LOG_LEVEL: "info" },
  schedule: { cron: "0 9 * * 1-5", timezone: "Europe/Paris" },
})}

The file declares the complete service. An omitted field gets its default instead of its current value, except \`env\`, \`min_instances\`, \`health\` and \`idle\`, which stay unchanged.
\`portside deploy --plan\` shows what a deploy would change.

${table(["field", "type", "required", "meaning"], Object.entries(properties).map(row))}

The file is JSON without comments. Unknown fields and repeated keys are errors. Portside reports all problems together. Every server
publishes the JSON Schema at \`/schema/portside.json\`, and the package contains it as \`portside/schema/portside.json\`.

## name

\`--name\` takes precedence. A new name creates a new deployment, and the deployment with the old name keeps running.

## volumes

Each key is an absolute path in the service. Each value is the name of a volume, or an object:

${json({
  name: "shop",
  volumes: {
    "/data": "shop-data",
    "/site": { name: "shop-data", sub_path: "www", read_only: true },
  },
})}

\`sub_path\` mounts one folder of the volume. With \`read_only\`, writes fail (except in plain processes). A service may have ${fieldLimits.mounts.max} mounts.
A mount must not be inside another mount. A deploy creates missing volumes. The field is required, because a deploy that omits it by
mistake would detach storage: \`{}\` declares a service without storage. See [volumes.md](../volumes.md).

## env

The environment variables of the service. If the field is absent, the service keeps its current variables; \`{}\` removes all. The flags
\`--env\` and \`--env-file\` add to the field and take precedence. Do not put passwords or keys into the file: refer to
a [secret](../secrets.md) with \`{"secret": NAME}\`.
[environment.md](../guides/environment.md) lists the reserved names.

## min_instances

The number of instances that run even without requests, for providers that support [\`min_instances\`](capabilities.md). They are neither
frozen nor stopped, so requests do not wait for a cold start. The number must not exceed \`max_instances\`. The minimums of all services of an account must
leave one of the account's instances for deploys. A deploy that lowers \`max_instances\` below the current minimum also lowers the minimum, and reports this.

## health

A health check, for providers that support [\`health\`](capabilities.md). Portside sends GET requests of \`path\` to each instance. A status from
200 to 399 is healthy; redirects are not followed.

${json({ name: "shop", volumes: {}, health: { path: "/healthz", interval: 30, timeout: 2, failures: 5 } })}

- A new revision receives traffic when the check passes. If it does not pass before the deadline, the deploy fails with the reason \`unhealthy\`,
  and the earlier revision continues to serve.
- Later, Portside replaces an instance that fails \`failures\` times in a row. Its open requests have the drain time to finish.
- \`interval\` and \`timeout\` are in seconds. \`host\` sets the \`Host\` header, for frameworks that accept only known host names.
- Checks neither wake a service nor keep it awake, and they are not in its request log.

Without a check, an instance is ready when it accepts connections. \`null\` removes the check. \`portside deploy --health PATH\` sets the path,
and \`--health none\` removes the check.

## idle

\`freeze\` or \`stop\`, for providers that support [\`idle\`](capabilities.md). A [frozen](../providers/local.md#idle-instances) instance keeps
its memory and pauses until its next request. \`null\` selects the platform's default.

## schedule

\`cron\` has five fields; \`timezone\` defaults to UTC. If the field is absent, a deploy removes the schedule.
[schedules.md](../schedules.md) describes the request that the service receives.

## source

The folder to pack, if it is not the folder of \`portside.json\`. It must exist before the deploy, so run your build first.

${json({ name: "shop", volumes: {}, source: "./dist" })}

## Without the file

Without \`portside.json\`, \`portside deploy\` uses the folder's name or \`--name\`, the defaults, and no storage. If a deployment of that
name has other settings, the deploy and its plan fail. The message lists these settings and contains a \`portside.json\` that keeps them.
`;
