/**
 * Checks the commands of a recorded run with third-party programs: botocore, policy_sentry, and moto with the
 * template's policies. Exits with 1 if one finds a problem.
 *
 *     PORTSIDE_AWS_REQUESTS=/tmp/requests npm run test:cloud
 *     node test/fakes/aws/requests/judge.ts /tmp/requests [--complete]
 *
 * `--complete` also fails for a command or an action of `adapters/aws/requirements.ts` that was not recorded.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeCommands, neverRecorded } from "./judges.ts";
import type { RecordedCommand } from "./record.ts";

const [folder, option] = process.argv.slice(2);
if (folder === undefined) throw new Error("Missing folder of recorded commands.");
const lines = globSync(join(folder, "*.jsonl")).flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));
const records = [...new Set(lines)].map((line) => JSON.parse(line) as RecordedCommand);
const problems = [...judgeCommands(records), ...(option === "--complete" ? neverRecorded(records) : [])];
for (const problem of problems) console.log(problem);
const commands = new Set(records.map(({ client, command }) => `${client} ${command}`));
console.log(`${records.length} requests, ${commands.size} commands, ${problems.length} problems`);
if (records.length === 0 || problems.length > 0) process.exitCode = 1;
