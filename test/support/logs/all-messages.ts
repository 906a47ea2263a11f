/** Reads a whole log through the API. */
import type { Client } from "../http/served.ts";

/** Yields all messages of the log of `app`, oldest first, along the cursor. */
export async function* allMessages(client: Client): AsyncGenerator<string> {
  for (let since = "2020-01-01T00:00:00Z"; ; ) {
    const page = { deployment_name: "app", since, limit: 1000 };
    const { logs, cursor } = await client.post<{ logs: { message: string }[]; cursor: string }>(
      "/v1/deployment/logs",
      page,
    );
    if (logs.length === 0) return;
    for (const { message } of logs) yield message;
    since = cursor;
  }
}

/** Returns the numbers of each instance's lines. A service prints them as `n INSTANCE NUMBER`, counted from 0. */
export const numberedLines = async (client: Client): Promise<Map<string, number[]>> => {
  const lines = new Map<string, number[]>();
  for await (const message of allMessages(client)) {
    const [, instance, n] = /^n (\d+) (\d+)$/.exec(message) ?? [];
    if (instance !== undefined) lines.set(instance, [...(lines.get(instance) ?? []), Number(n)]);
  }
  return lines;
};
