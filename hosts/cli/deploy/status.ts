/** `portside status NAME` */
import type { DeploymentDetails } from "../../../core/domain/deploy/deployment-details.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { formatLastFire, formatNextFires } from "../schedules/fires.ts";
import { paint } from "../terminal/colour.ts";
import { indentLines } from "../terminal/control-characters.ts";
import { type Io, print, printJson } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { ago, printTable } from "../terminal/table.ts";
import { formatSize } from "../volumes/transfer/format.ts";

type Instance = NonNullable<DeploymentDetails["instances"]>[number];

const colours = { READY: "green", DEPLOYING: "yellow", FAILED: "red" } as const;
const stateColours = { starting: "yellow", ready: "green", frozen: "dim", draining: "dim", unhealthy: "red" } as const;

const serving = ({ revision, release }: DeploymentDetails): string =>
  [revision ?? "-", ...(release === null ? [] : [`(release ${release})`])].join(" ");

const lastDeployLines = (io: Io, { last_deploy: last }: DeploymentDetails): string[] => {
  if (last === null) return ["-"];
  const outcome = last.reason === null ? last.status : `${last.status} (${last.reason})`;
  const when = last.finished_at === null ? "running" : `${ago(last.finished_at)} ago`;
  return [
    `${outcome}, ${when}, ${last.deploy_id}`,
    ...(last.message === null ? [] : [safeText(io, last.message)]),
    ...last.log_tail.map((line) => `| ${safeText(io, line)}`),
  ];
};

const scheduleLines = (io: Io, { schedule, cron }: DeploymentDetails): string[] =>
  schedule === null
    ? ["-"]
    : [
        `${schedule.cron} (${schedule.timezone})`,
        `next: ${formatNextFires(schedule) ?? "-"}`,
        `last: ${formatLastFire(io, { cron: cron ?? undefined })}`,
      ];

const fieldsOf = (io: Io, details: DeploymentDetails): readonly (readonly [string, readonly string[]])[] => [
  ["status", [paint(io, colours[details.status], details.status)]],
  ["url", [details.url || "-"]],
  ...(details.certificate_problem === undefined
    ? []
    : [["certificate", [safeText(io, details.certificate_problem)]] as const]),
  ["revision", [serving(details)]],
  ["size", [`${details.cpu} × ${details.memory}`]],
  ["env", [details.env.join(", ") || "-"]],
  [
    "volumes",
    [
      Object.entries(details.volumes)
        .map(([path, { name }]) => `${path} → ${name}`)
        .join(", ") || "-",
    ],
  ],
  ["schedule", scheduleLines(io, details)],
  ["last deploy", lastDeployLines(io, details)],
];

const instanceRow = (io: Io, { id, revision, state, started_at, memory_bytes, cpu_percent }: Instance): string[] => [
  id,
  revision,
  paint(io, stateColours[state], state),
  ago(started_at),
  memory_bytes === null ? "-" : formatSize(memory_bytes),
  cpu_percent === null ? "-" : `${cpu_percent} %`,
];

const instancesText = ({ instances }: DeploymentDetails): string => {
  if (instances === null) return "The provider cannot list the instances.";
  return instances.length === 0 ? "No instances are running." : "";
};

export const command: Command = {
  usage: "status NAME [--json]",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  examples: ["status hello"],
  run: async (input, io) => {
    const details = await clientFor(input, io).getDeployment({ name: input.positionals[0] ?? "" });
    if (input.flag("json")) {
      printJson(io, details);
      return 0;
    }
    for (const [label, lines] of fieldsOf(io, details))
      print(
        io,
        `${label.padEnd(12)} ${lines.map((line) => indentLines(line, " ".repeat(13))).join(`\n${" ".repeat(13)}`)}`,
      );
    print(io);
    const text = instancesText(details);
    if (text !== "") print(io, text);
    else
      await printTable(
        io,
        ["INSTANCE", "REVISION", "STATE", "AGE", "MEMORY", "CPU"],
        (details.instances ?? []).map((one) => instanceRow(io, one)),
      );
    return 0;
  },
};
