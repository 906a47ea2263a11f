/** `portside deploy` */

import type { PlanResponse } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { resetsOf } from "../../../core/domain/deploy/plan.ts";
import { PROJECT_FILE } from "../../../core/domain/deploy/source/packing.ts";
import type { Client } from "../../client/client.ts";
import { deploySource, isLargeSource, SOURCE_VOLUME } from "../../client/storage/deploy-source.ts";
import { flag, option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { CommandError, type Io, say } from "../terminal/io.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import { ProgressBar } from "../volumes/transfer/progress-bar.ts";
import { followRecords, showPlan } from "./follow.ts";
import { mebibytes, packedSource, packFolder } from "./pack.ts";
import { resetLines } from "./plan.ts";
import { withSpinner } from "./progress.ts";
import {
  type Deployable,
  envOptions,
  idleChoices,
  messageOption,
  projectArguments,
  readDeployable,
  requestOf,
  secretOption,
} from "./project.ts";

const planOf = (client: Client, deployable: Deployable): Promise<PlanResponse> => client.plan(requestOf(deployable));

/**
 * Rejects a deploy without `portside.json` if it would reset settings of the deployment: a deploy is a complete
 * declaration, so an omitted setting gets its default, with few exceptions.
 */
const checkUndeclared = (io: Io, { name, folder }: Deployable, { changes }: PlanResponse): void => {
  const resets = resetsOf(changes);
  if (resets.length > 0) throw new CommandError(resetLines(name, folder, resets).join("\n"));
  say(io, `No ${PROJECT_FILE} found. Deploying as '${name}' without volumes.`);
};

const send = async (io: Io, client: Client, deployable: Deployable): Promise<AsyncIterable<DeployEvent>> => {
  await using packed = await withSpinner(io, "Packing", () => packFolder(deployable.folder));
  const start = (onUpload: (sentBytes: number) => void) =>
    deploySource(client, requestOf(deployable), packedSource(packed), { signal: io.signal, onUpload });
  const files = pluralize(packed.files, "file");
  if (!isLargeSource(packed.bytes))
    return await withSpinner(io, `Uploading ${files}, ${mebibytes(packed.bytes)}`, () => start(() => {}));
  say(io, `The packed source is ${mebibytes(packed.bytes)}. Uploading it to the volume '${SOURCE_VOLUME}'.`);
  using bar = new ProgressBar(io, `Uploading ${files}`, packed.bytes);
  let uploaded = 0;
  try {
    return await start((sent) => {
      bar.move(sent - uploaded);
      uploaded = sent;
    });
  } catch (error) {
    bar.end();
    if (io.signal.aborted && uploaded < packed.bytes)
      say(io, "Interrupted. Nothing was deployed, because the upload was incomplete. Run the command again.");
    throw error;
  }
};

const run = async (input: Input, io: Io): Promise<number> => {
  const deployable = readDeployable(projectArguments(input, io));
  const client = clientFor(input, io);
  const json = input.flag("json");
  const plan = input.flag("plan") || !deployable.declared ? await planOf(client, deployable) : undefined;
  if (plan !== undefined && !deployable.declared) checkUndeclared(io, deployable, plan);
  if (plan !== undefined && input.flag("plan")) return showPlan(io, plan, json);
  return followRecords(io, await send(io, client, deployable), json, deployable.name);
};

export const command: Command = {
  usage:
    "deploy [DIR] [--name N] [--env K=V]... [--env-file F] [--health PATH] [--idle MODE] [--message TEXT] [--plan]",
  options: {
    ...clientOptions,
    name: option("NAME", "Override the name in portside.json"),
    ...envOptions,
    secret: secretOption,
    health: option("PATH", "Check the service with GET requests to this path; 'none' removes the check"),
    idle: option("MODE", "Choose what happens to idle instances: freeze, stop or default", { choices: idleChoices }),
    message: messageOption,
    plan: flag("Show the changes without deploying"),
  },
  positionals: { min: 0, max: 1 },
  examples: ["deploy hello", "deploy hello --env GREETING=hi --plan"],
  notes: [
    "Flags take precedence over portside.json. A deploy omits node_modules, .git, .env files, and files that match",
    ".gitignore or .portsideignore.",
  ],
  run,
};
