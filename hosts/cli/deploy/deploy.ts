/** `portside deploy` */

import type { PlanResponse } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { resetsOf } from "../../../core/domain/deploy/plan.ts";
import { PROJECT_FILE } from "../../../core/domain/deploy/project-file.ts";
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { flag, option } from "../arguments.ts";
import { type Client, clientFor } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { CommandError, type Io, print, printJson, say } from "../terminal/io.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import { mebibytes, packFolder } from "./pack.ts";
import { planLines, resetLines } from "./plan.ts";
import { recordPrinter, Spinner, withSpinner } from "./progress.ts";
import { type Deployable, envOptions, formFields, idleChoices, projectArguments, readDeployable } from "./project.ts";
import { deployRecords } from "./records.ts";
import { formBody } from "./upload.ts";

const planOf = (client: Client, deployable: Deployable): Promise<PlanResponse> =>
  client.call("/v1/deploy/plan", { body: formBody(formFields(deployable)) });

/**
 * Rejects a deploy without `portside.json` if it would reset settings of the deployment. A deploy is a complete
 * declaration, so it would reset every setting that differs from the default.
 */
const checkUndeclared = (io: Io, { name, folder }: Deployable, { changes }: PlanResponse): void => {
  const resets = resetsOf(changes);
  if (resets.length > 0) throw new CommandError(resetLines(name, folder, resets).join("\n"));
  say(io, `No ${PROJECT_FILE} found. Deploying as '${name}' without volumes.`);
};

const showPlan = (io: Io, plan: PlanResponse, json: boolean): number => {
  if (json) printJson(io, plan);
  else for (const line of planLines(plan)) print(io, line);
  return 0;
};

const follow = async (io: Io, client: Client, response: Response, name: string, json: boolean): Promise<number> => {
  const spinner = new Spinner(io);
  const printRecord = recordPrinter(io);
  let final: DeployEvent | undefined;
  try {
    for await (const record of deployRecords(client, response, name, io.signal)) {
      spinner.begin(record.message);
      if (json) printJson(io, record);
      else printRecord(record);
      final = record;
    }
  } catch (error) {
    if (!io.signal.aborted) throw error;
    throw new CommandError(`Interrupted. The deploy continues. Run 'portside logs ${name}' to see how it ends.`);
  } finally {
    spinner.end();
  }
  if (final?.status !== "DONE") return 1;
  if (!json) print(io, `\n${final.url}`);
  return 0;
};

const send = async (io: Io, client: Client, deployable: Deployable): Promise<Response> => {
  await using packed = await withSpinner(io, "Packing", () => packFolder(deployable.folder));
  const body = formBody(formFields(deployable), packed);
  return await withSpinner(io, `Uploading ${pluralize(packed.files, "file")}, ${mebibytes(packed.bytes)}`, () =>
    client.expectOk("/v1/deploy", { body, signal: io.signal }),
  );
};

const run = async (input: Input, io: Io): Promise<number> => {
  const deployable = readDeployable(projectArguments(input, io));
  const client = clientFor(input, io);
  const json = input.flag("json");
  const plan = input.flag("plan") || !deployable.declared ? await planOf(client, deployable) : undefined;
  if (plan !== undefined && !deployable.declared) checkUndeclared(io, deployable, plan);
  if (plan !== undefined && input.flag("plan")) return showPlan(io, plan, json);
  const response = await send(io, client, deployable);
  return follow(io, client, response, normalizeDeploymentName(deployable.name), json);
};

export const command: Command = {
  usage: "deploy [DIR] [--name N] [--env K=V]... [--env-file F] [--health PATH] [--idle MODE] [--plan]",
  options: {
    ...clientOptions,
    name: option("NAME", "Override the name in portside.json"),
    ...envOptions,
    health: option("PATH", "Check the service with GET requests to this path; 'none' removes the check"),
    idle: option("MODE", "Choose what happens to idle instances: freeze, stop or default", { choices: idleChoices }),
    plan: flag("Show the changes without deploying"),
  },
  positionals: { min: 0, max: 1 },
  examples: ["deploy hello", "deploy hello --env GREETING=hi --plan"],
  notes: ["Flags take precedence over portside.json. Files that match .gitignore or .portsideignore are not deployed."],
  run,
};
