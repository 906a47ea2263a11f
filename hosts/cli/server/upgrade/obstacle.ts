/** Detects environments in which the server cannot hand over to a new process. */

/** Returns why the new process would end together with this one; undefined if it would keep running. */
export const upgradeObstacle = ({ pid, env }: Pick<NodeJS.Process, "pid" | "env">): string | undefined => {
  // The kernel ends a PID namespace with its first process.
  if (pid === 1)
    return "Portside is the first process of its container, so replacing it would stop the container. Start a container of the new version instead.";
  // https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#%24SYSTEMD_EXEC_PID
  if (env["SYSTEMD_EXEC_PID"] === String(pid) && env["NOTIFY_SOCKET"] === undefined)
    return "systemd would stop the service when this process exits. Add Type=notify and NotifyAccess=all to the unit, and restart it.";
  return undefined;
};
