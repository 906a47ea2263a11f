/** The few lines of shell that stand in front of a command. */

import { threadsOf } from "../instances/proc.ts";
import type { ControlGroup } from "./cgroup.ts";
import { enterNetwork } from "./network/enter.ts";
import type { Job } from "./runner.ts";

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Beyond its memory limit a process may reserve this much; the watchdog sees what it really uses. */
const DATA_SLACK = 1024 ** 3;
/**
 * The kernel counts the processes of the whole user against each one's limit. Near the watchdog's own limit, one
 * command that forks would keep its neighbours from forking; this far off it only bounds what can come between two looks.
 */
const PROCESS_SLACK = 8;

/** Puts the command, and so all that comes from it, into its control group before it begins. */
export const joinGroup = (
  group: Pick<ControlGroup, "joinFiles"> | undefined,
  argv: readonly string[],
): readonly string[] => {
  if (group === undefined) return argv;
  const joins = group.joinFiles.map((file) => `echo 0 > ${quote(file)}`).join(" && ");
  return ["sh", "-c", `${joins} && exec "$@"`, "sh", ...argv];
};

/**
 * Puts the command into a network namespace, once the server says which; ends without it where the server closes the
 * descriptor instead.
 */
export const joinNetwork = (descriptor: number, argv: readonly string[]): string[] => {
  const enter = enterNetwork('"$folder"').join(" ");
  const script = `read -r folder <&${descriptor} && exec ${enter} "$@" ${descriptor}<&-`;
  return ["sh", "-c", script, "sh", ...argv];
};

/** Backstops where there are no control groups: setrlimit(2) for data and processes. */
export const limitResources = ({ limits, user, argv }: Pick<Job, "limits" | "user" | "argv">): string[] => {
  const dataKib = Math.ceil((limits.memory + DATA_SLACK) / 1024);
  const processes = limits.processes * PROCESS_SLACK + threadsOf(user ?? process.getuid?.());
  // bash calls the process limit -u, dash -p.
  const lines = [
    `ulimit -d ${dataKib} 2>/dev/null`,
    `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null`,
  ];
  return ["sh", "-c", `${lines.join("; ")}; exec "$@"`, "sh", ...argv];
};

/**
 * Runs the command only if the server still lives once bubblewrap has tied the sandbox to it. bubblewrap asks the kernel for
 * its parent's death late, and never learns of a death before that. Its first process installs the filter right after it has
 * asked, so a filter on process 1 proves that a later death of the server ends the sandbox.
 * https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
 * @param gate the descriptor at which the server answers each line with a line
 */
export const askServer = (gate: number, argv: readonly string[]): string[] => {
  const script = `tied() {
  while read -r name value; do [ "$name" != Seccomp: ] || break; done </proc/1/status
  [ "$value" = 2 ]
}
ask() { echo >&${gate} && read -r _ <&${gate} || exit 1; }
until tied; do ask; done
ask
exec "$@" ${gate}>&-`;
  return ["sh", "-c", script, "sh", ...argv];
};
