/**
 * Starts a sandbox as another user. This user cannot enter the data folder, so bubblewrap could not mount folders from
 * there. Therefore root first mounts everything in a separate namespace, below a folder that the user can enter, and
 * then becomes the user. The mounts are invisible outside of the namespace and end with the sandbox.
 */
import type { Bind, Job } from "./runner.ts";

/** An empty folder inside the namespace. The path exists on every machine and contains no programs. */
const STAGE = "/tmp";

/**
 * Ends the sandbox when the server ends. bubblewrap drops its rights, so it cannot kill another user's processes when
 * it ends. `unshare` keeps its rights, and its pid namespace ends with the namespace's first process.
 */
const TIE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--mount-proc", "--kill-child"];

export interface Staged {
  /** The arguments that precede the sandbox's command line and run it as the user. */
  readonly argv: readonly string[];
  /** The job's binds and folders, at paths that the user can enter. */
  readonly binds: readonly Bind[];
}

/** @param firstFolder the descriptor of the job's first folder */
export const stageFor = (
  user: number,
  { binds, folders = [] }: Pick<Job, "binds" | "folders">,
  firstFolder: number,
): Staged => {
  const at = (index: number) => `${STAGE}/${index}`;
  const id = String(user);
  const argv = [
    ...TIE,
    ...["bwrap", "--dev-bind", "/", "/", "--tmpfs", STAGE],
    ...binds.flatMap(({ host, writable }, index) => [writable ? "--bind" : "--ro-bind", host, at(index)]),
    ...folders.flatMap(({ writable }, index) => [
      writable ? "--bind-fd" : "--ro-bind-fd",
      String(firstFolder + index),
      at(binds.length + index),
    ]),
    ...["--", "setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--inh-caps=-all"],
  ];
  const staged = [...binds, ...folders].map(({ inside, writable }, index) => ({ host: at(index), inside, writable }));
  return { argv, binds: staged };
};
