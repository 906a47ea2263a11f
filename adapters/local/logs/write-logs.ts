/** The thread of `LogThread`, which writes the log files. */
import { parentPort, workerData } from "node:worker_threads";
import type { Logger } from "../../../core/ports/system.ts";
import { noTelemetry } from "../../../core/ports/telemetry.ts";
import { lowerThreadPriority } from "../../shared/runtime/low-priority.ts";
import { createSystemClock } from "../../shared/runtime/system.ts";
import type { FromLogThread, LogCall, LogItem, LogThreadData, ToLogThread } from "./log-thread.ts";
import { inOwnThread, LogWriter } from "./log-writer.ts";

// Writing logs must not delay requests.
lowerThreadPriority();

const port = parentPort as NonNullable<typeof parentPort>;
const send = (message: FromLogThread): void => port.postMessage(message);

const logTo =
  (level: keyof Logger): Logger["error"] =>
  (message, fields) =>
    send({ kind: "logged", level, message, fields });

const writer: LogWriter = new LogWriter(
  {
    ...(workerData as LogThreadData),
    clock: createSystemClock(),
    logger: { debug: logTo("debug"), info: logTo("info"), warn: logTo("warn"), error: logTo("error") },
    telemetry: {
      ...noTelemetry,
      logStored: (entries, lagSeconds) => send({ kind: "stored", entries, lagSeconds, waiting: writer.waiting }),
      logLost: (entries) => send({ kind: "lost", entries, waiting: writer.waiting }),
    },
  },
  inOwnThread,
);

const queue = (item: LogItem): Promise<void> | undefined => {
  if ("entry" in item) return writer.push(item.entry, item.at);
  const { lines } = item.output;
  return writer.pushOutput({ ...item.output, lines: Buffer.from(lines.buffer, 0, lines.length) }, item.at);
};

const answer = async (call: LogCall): Promise<boolean> => {
  if (call.name === "append") return (await writer.append(call.entries)).isOk();
  if (call.name === "isLosing") return writer.isLosing();
  if (call.name === "writeAll") await writer.writeAll(call.owner);
  else if (call.name === "repair") await writer.repair(call.owner, call.damaged);
  else await writer.close();
  return true;
};

port.on("message", async (message: ToLogThread) => {
  if (message.kind === "items") {
    let room: Promise<void> | undefined;
    for (const item of message.items) room = queue(item) ?? room;
    if (room !== undefined) await room;
    send({ kind: "taken", ...message.size, waiting: writer.waiting });
  } else send({ kind: "result", id: message.id, result: await answer(message).catch(() => false) });
});
