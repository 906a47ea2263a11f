/** How much of a file's mutants the tests of core have to kill, in percent. It is said here, and nowhere else. */

/** The rules that cost the most when they are wrong: what a deploy does, who mounts what, where a log goes on, whose it is. */
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

/** The least score of a file, by its path in the repository. */
export const boundOf = (file: string): number => (highFiles.includes(file) ? HIGH : REST);

/** Every file that has a bound of its own. */
export const boundedFiles: readonly string[] = highFiles;

/** Tables whose every row a golden test runs on real engines, outside core: nothing of core could notice a change in them. */
export const heldByEngines: readonly string[] = ["core/domain/sql/functions.ts"];
