/** Runs commands as plain processes of this user. This runner works on every machine and isolates nothing. */
import type { ControlGroups } from "./cgroup.ts";
import { launch } from "./launch.ts";
import type { Job, Runner } from "./runner.ts";
import { joinGroup, limitResources } from "./shell-wrappers.ts";
import type { Watchdog } from "./watchdog.ts";

export const createProcessRunner = (groups: ControlGroups | undefined, watchdog: Watchdog): Runner => ({
  kind: "process",
  mapsPaths: false,
  mountsFolders: false,
  setsUser: "plain processes run as the platform's user",
  ownNetwork: false,
  start: (job: Job, onLine) => {
    const group = groups?.create(job.id, job.limits);
    const argv = joinGroup(group, group === undefined ? limitResources(job) : job.argv);
    return launch({ job, argv, env: job.env, cwd: job.cwd, group, watchdog }, onLine);
  },
});
