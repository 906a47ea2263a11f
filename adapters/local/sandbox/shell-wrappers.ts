/** Shell scripts that set up a command's process and then `exec` the command. */

import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import { threadsOf } from "../instances/proc.ts";
import type { ControlGroup } from "./cgroup.ts";
import { enterNetwork } from "./network/enter-network.ts";
import type { Job } from "./runner.ts";

/**
 * RLIMIT_DATA exceeds the memory limit by this many bytes, because it also counts memory that is reserved but not used.
 * The watchdog measures the memory in use.
 */
const DATA_SLACK = 1024 ** 3;
/**
 * The factor by which RLIMIT_NPROC exceeds the job's process limit. The kernel compares RLIMIT_NPROC with the number of
 * processes of the whole user. With a lower factor, one command that forks would stop the user's other commands from
 * forking. The watchdog enforces the job's limit; RLIMIT_NPROC only bounds the growth between two of its polls.
 */
const PROCESS_SLACK = 8;

/** Runs the command in the control group. */
export const joinGroup = (
  group: Pick<ControlGroup, "joinFiles"> | undefined,
  argv: readonly string[],
): readonly string[] => {
  if (group === undefined) return argv;
  const joins = group.joinFiles.map((file) => `echo 0 > ${quoteForShell(file)}`).join(" && ");
  return ["sh", "-c", `${joins} && exec "$@"`, "sh", ...argv];
};

/**
 * Runs the command in a network. Reads the path of the network's namespaces from the descriptor, and exits if the
 * server closes the descriptor first.
 */
export const joinNetwork = (descriptor: number, argv: readonly string[]): string[] => {
  const enter = enterNetwork('"$folder"').join(" ");
  const script = `read -r folder <&${descriptor} && exec ${enter} "$@" ${descriptor}<&-`;
  return ["sh", "-c", script, "sh", ...argv];
};

/** Limits data and processes with setrlimit(2), as a backstop if the machine has no control groups. */
export const limitResources = ({ limits, user, argv }: Pick<Job, "limits" | "user" | "argv">): string[] => {
  const dataKib = Math.ceil((limits.memory + DATA_SLACK) / 1024);
  const processes = limits.processes * PROCESS_SLACK + threadsOf(user ?? process.getuid?.());
  // The process limit is `-u` in bash and `-p` in dash.
  const lines = [
    `ulimit -d ${dataKib} 2>/dev/null`,
    `ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes} 2>/dev/null`,
  ];
  return ["sh", "-c", `${lines.join("; ")}; exec "$@"`, "sh", ...argv];
};

/**
 * Runs the command only if the server is still alive after bubblewrap has set its parent-death signal. If the server
 * dies earlier, the kernel sends no signal. bubblewrap's first process installs its seccomp filter right after it has
 * set the signal. Therefore, if process 1 has a seccomp filter, the sandbox ends when the server dies.
 * https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
 * @param gate the descriptor on which the server replies to each line
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
