/** The local log store with the writer of its files, as when the engine and the server share a process. */
import { LocalLogs } from "../../../adapters/local/logs/log-store.ts";
import { LogWriter, type LogWriterConfig } from "../../../adapters/local/logs/log-writer.ts";

export class WrittenLogs extends LocalLogs {
  readonly #writer: LogWriter;

  constructor(config: LogWriterConfig) {
    const writer = new LogWriter(config);
    super({ folder: config.folder, writer });
    this.#writer = writer;
  }

  push(...[entry, at]: Parameters<LogWriter["push"]>): ReturnType<LogWriter["push"]> {
    return this.#writer.push(entry, at);
  }

  flush(): void {
    this.#writer.flush();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#writer.close();
  }
}
