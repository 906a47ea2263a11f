/** `portside.json` field by field, from the schema that reads it. */
import { fieldLimits } from "../../core/domain/accounts/limits.ts";
import { projectSchema } from "../../hosts/http/docs/openapi.ts";
import { fieldRow } from "./api.ts";
import type { Schema } from "./json-shape.ts";
import { MADE, table } from "./markdown.ts";

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

${MADE}

\`portside.json\` declares a service. It stands at the top of the folder that you deploy, and it is not deployed itself.
\`portside deploy\` and \`portside run\` read it. \`portside init\` writes one.

${json({
  $schema: "https://unpkg.com/portside/schema/portside.json",
  name: "shop",
  memory: "512Mi",
  volumes: { "/data": "shop-data" },
  env: { LOG_LEVEL: "info" },
  schedule: { cron: "0 9 * * 1-5", timezone: "Europe/Paris" },
})}

The file declares the whole service. A field that you leave out has its default, whatever the running deployment has;
\`env\` alone is kept. \`portside deploy --plan\` shows what a deploy would change.

${table(["field", "type", "needed", "meaning"], Object.entries(properties).map(row))}

The file is JSON without comments. Unknown fields and repeated keys are errors. All broken rules are reported together. A server
publishes the schema at \`/schema/portside.json\`; the package has it as \`portside/schema/portside.json\`.

## name

\`--name\` takes precedence. A new name makes a new deployment and leaves the one with the old name running.

## volumes

Each key is an absolute path in the service. Each value is the name of a volume, or an object:

${json({
  name: "shop",
  volumes: {
    "/data": "shop-data",
    "/site": { name: "shop-data", sub_path: "www", read_only: true },
  },
})}

\`sub_path\` mounts one folder of the volume. \`read_only\` refuses writes. A service may have ${fieldLimits.mounts.max} mounts, and none inside
another one. A volume that does not exist is created. The field is needed so that no deploy drops storage by mistake:
\`{}\` declares a service without storage. [volumes.md](../volumes.md) has the rest.

## env

Variables of the service. If the field is absent, the service keeps the variables that it has; \`{}\` removes them all. The flags
\`--env\` and \`--env-file\` add to the field and take precedence. Keep secrets out of the file: pass them with the flags.
[environment.md](../guides/environment.md) lists the names that Portside reserves.

## schedule

\`cron\` has five fields; \`timezone\` defaults to UTC. Without the field a deploy removes the schedule.
[schedules.md](../schedules.md) describes what the service receives.

## source

The folder to pack, if it is not the one of \`portside.json\`. It must exist before the deploy: run your build first.

${json({ name: "shop", volumes: {}, source: "./dist" })}

## Without the file

A folder without \`portside.json\` is deployed under its own name, or under \`--name\`, with the defaults and without storage. If a
deployment of that name has other settings, the deploy is refused, and so is its plan: the message lists the settings and
the file that keeps them.
`;
