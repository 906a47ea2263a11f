/** The console in an application on a loopback port, with the memory provider and sessions. */
import Fastify from "fastify";
import { createMemoryProvider, type MemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { ImageBuilder } from "../../../core/ports/image-builder.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import { type Client, createClient } from "../../../hosts/client/index.ts";
import { portside } from "../../../hosts/http/index.ts";
import { sourceOf } from "../archives/archives.ts";
import { type ShiftedClock, shiftedClock } from "../clocks/shifted-clock.ts";

export interface ServedConsole extends AsyncDisposable {
  /** The URL of the application, with the prefix. */
  readonly url: string;
  readonly key: string;
  readonly account: AccountId;
  readonly client: Client;
  /** Creates a sign-in link, and returns its token. */
  link(): Promise<string>;
  /** Ends every session. */
  signOutAll(): Promise<void>;
  /** Deploys a service, and returns the id of the deploy. */
  deploy(name: string, fields?: Partial<Parameters<Client["deploy"]>[0]>): Promise<string>;
}

/** Serves the API and the console of a platform. */
export const serveConsole = async (ports: Ports, prefix = ""): Promise<ServedConsole> => {
  const account = parseAccount("acme") as AccountId;
  const controlPlane = createControlPlane(ports);
  const app = Fastify({ forceCloseConnections: true });
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane, prefix });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const url = `http://127.0.0.1:${port}${prefix}`;
  const { key } = (await ports.identity.keys.create(account, "console test"))._unsafeUnwrap();
  const client = createClient({ url, key });
  return {
    url,
    key,
    account,
    client,
    link: async () => new URL((await client.createConsoleLink()).url).hash.replace("#link=", ""),
    signOutAll: async () => {
      const { sessions } = await client.listSessions();
      for (const { id } of sessions) await client.revokeSession({ id });
    },
    deploy: async (name, fields = {}) => {
      const source_archive = new Blob([new Uint8Array(sourceOf({ "index.js": "run()" }))]);
      let id = "";
      for await (const record of await client.deploy({ function_name: name, volumes: {}, source_archive, ...fields }))
        id = record.deploy_id;
      return id;
    },
    [Symbol.asyncDispose]: async () => {
      await controlPlane.close();
      await app.close();
    },
  };
};

export interface MemoryConsole extends ServedConsole {
  readonly memory: MemoryProvider;
  readonly clock: ShiftedClock;
}

/** The output of a build that fails, with markup, colours and characters that reorder text. */
export const hostileOutput = [
  "<script>document.title='executed'</script><img src=x onerror=\"document.title='executed'\">",
  "\u001b[31mError:\u001b[0m \u001b[1mcannot find module\u001b[22m './\u202egnp.exe'",
  `${"wide".repeat(400)}`,
];

/** Builds of services whose name begins with `broken` fail; builds of `slow` wait until they are cancelled. */
const withFailures = (builder: ImageBuilder): ImageBuilder => ({
  async *build(request, options) {
    if (request.name.startsWith("broken")) {
      for (const message of hostileOutput) yield { kind: "progress", message };
      yield {
        kind: "failed",
        failure: {
          reason: "build_failed",
          message: "npm run build exited with code 1.",
          exitCode: 1,
          logTail: hostileOutput,
        },
      };
      return;
    }
    if (request.name.startsWith("slow"))
      await new Promise<void>((resolve) => options?.signal?.addEventListener("abort", () => resolve()));
    yield* builder.build(request, options);
  },
});

/** Serves the console of a new memory provider. */
export const serveMemoryConsole = async (prefix = ""): Promise<MemoryConsole> => {
  const clock = shiftedClock(createMemoryProvider().ports.clock);
  const memory = createMemoryProvider({ clock });
  const provider = { ...memory.provider, builder: withFailures(memory.provider.builder) };
  return { ...(await serveConsole({ ...memory.ports, provider }, prefix)), memory, clock };
};
