/**
 * A server that services under test report to and wait on, so that tests need no sleeps.
 *
 * A service gets the address from its environment and calls the two functions of `callbackCode`.
 */
import { createServer, type ServerResponse } from "node:http";

export interface CallbackServer extends AsyncDisposable {
  /** For a service's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Reports under this name so far, oldest first. */
  seen(name: string): readonly string[];
  /** Resolves when the name has this many reports. */
  reported(name: string, count?: number): Promise<readonly string[]>;
  /** Releases current and future waiters of the name. */
  release(name: string): void;
}

/** `report(name, text)` and `hold(name)` for a service; `hold` resolves when the test releases the name. */
export const callbackCode = `
import { request as toCallbacks } from "node:http";
const ask = (path, text) => new Promise((resolve) => {
  const asked = toCallbacks(process.env.CALLBACK_URL + path, { method: "POST", agent: false }, (answer) => {
    answer.resume();
    answer.on("close", resolve);
  });
  asked.on("error", resolve);
  asked.end(text);
});
const report = (name, text = "") => ask("/report/" + name, String(text));
const hold = (name) => ask("/hold/" + name, "");
`;

export const startCallbackServer = async (): Promise<CallbackServer> => {
  const seen = new Map<string, string[]>();
  const watchers = new Set<() => void>();
  const released = new Set<string>();
  const held: { name: string; response: ServerResponse }[] = [];
  const note = (name: string, text: string) => {
    seen.set(name, [...(seen.get(name) ?? []), text]);
    for (const watch of watchers) watch();
  };
  const letGo = () => {
    for (const { name, response } of held) if (released.has(name)) response.end();
  };
  const server = createServer(async (request, response) => {
    const [, what, name = ""] = (request.url ?? "").split("/");
    const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    if (what === "report") {
      note(name, text);
      response.end();
    } else {
      held.push({ name, response });
      letGo();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    env: { CALLBACK_URL: `http://127.0.0.1:${port}` },
    seen: (name) => seen.get(name) ?? [],
    reported: (name, count = 1) =>
      new Promise((resolve) => {
        const watch = () => {
          const reports = seen.get(name) ?? [];
          if (reports.length < count) return;
          watchers.delete(watch);
          resolve(reports);
        };
        watchers.add(watch);
        watch();
      }),
    release: (name) => {
      released.add(name);
      letGo();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
