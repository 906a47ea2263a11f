/** Prints a domain with its DNS records, and waits until it is active. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DomainRow } from "../../../core/domain/domains/domain.ts";
import type { Client } from "../../client/client.ts";
import { isTemporary, retryPause } from "../../client/streams.ts";
import { flag } from "../arguments.ts";
import { Spinner } from "../deploy/progress.ts";
import { paint } from "../terminal/colour.ts";
import { type Io, print, say } from "../terminal/io.ts";
import { printTable } from "../terminal/table.ts";

const colours = { active: "green", pending: "yellow", failing: "red" } as const;

/** `active`, in the colour of the status. */
export const formatStatus = (io: Io, { status }: DomainRow): string => paint(io, colours[status], status);

/** Prints the state of a domain. If the domain is not active, also prints its records. */
export const printDomain = async (io: Io, row: DomainRow): Promise<void> => {
  print(io, `${row.domain} is ${formatStatus(io, row)}. ${row.detail}`);
  if (row.status === "active") return;
  print(io);
  await printTable(
    io,
    ["TYPE", "NAME", "VALUE", "PURPOSE"],
    row.records.map(({ type, name, value, purpose }) => [type, name, value, purpose]),
  );
};

export const waitOption = { wait: flag("Check until the domain is active; Ctrl-C ends the wait") };

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;

/**
 * Checks the domain until it is active. Prints each new detail. Throws if the signal aborts, or if the first check
 * fails. Later checks continue after a temporary error, because DNS changes and certificates can take hours, and a
 * server may restart meanwhile.
 */
export const waitUntilActive = async (
  io: Io,
  client: Pick<Client, "checkDomain">,
  domain: string,
): Promise<DomainRow> => {
  using spinner = new Spinner(io);
  let row: DomainRow | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    let retryMs = pause;
    try {
      const checked = await client.checkDomain({ domain }, { signal: io.signal });
      if (checked.status === "active") return checked;
      if (checked.detail !== row?.detail) {
        spinner.clear();
        say(io, checked.detail);
      }
      row = checked;
    } catch (error) {
      io.signal.throwIfAborted();
      if (row === undefined || !isTemporary(error)) throw error;
      retryMs = retryPause(error, pause);
    }
    spinner.begin(`Waiting until ${domain} is active`);
    await sleep(retryMs, undefined, { signal: io.signal });
  }
};
