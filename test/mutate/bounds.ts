/** The percentage of a file's mutants that the tests of core must kill. This is the only place that sets it. */

/** The rules whose bugs cost the most: the effects of a deploy, mounts, log cursors, ownership. */
const HIGH = 90;
const highFiles = [
  "core/domain/accounts/account.ts",
  "core/domain/volumes/attachments.ts",
  "core/domain/schedules/cron-job.ts",
  "core/domain/deploy/plan.ts",
  "core/domain/logs/cursor.ts",
  "core/domain/volumes/mounts.ts",
  "core/domain/schedules/schedule.ts",
  "core/domain/volumes/write-condition.ts",
];

const REST = 80;

/** The minimum score of a file, by its path in the repository. */
export const boundOf = (file: string): number => (highFiles.includes(file) ? HIGH : REST);

/** Every file with a higher bound. */
export const highBoundFiles: readonly string[] = highFiles;

/** Tables that golden tests outside core compare with real engines. No test of core notices a change in them. */
export const excludedFiles: readonly string[] = ["core/domain/sql/functions.ts"];
