/** Reports this process to systemd, for units with `Type=notify`. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * Reports that this process is the main process of its unit and is ready. Does nothing without systemd. Node cannot
 * send datagrams to a Unix socket, so this function runs `systemd-notify`, which requires `NotifyAccess=all` in the
 * unit: https://www.freedesktop.org/software/systemd/man/latest/systemd-notify.html
 * @param warn receives the reason if the report fails, for example in a container without that program
 */
export const reportReady = async (warn: (message: string) => void): Promise<void> => {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  await promisify(execFile)("systemd-notify", ["--ready", `--pid=${process.pid}`]).catch((cause: Error) =>
    warn(`Could not report to systemd that the server is ready: ${cause.message}`),
  );
};
