/** The HTTP API on a loopback port, with the memory provider or a given platform, and a client for it. */
import { createMemoryProvider, type MemoryProvider } from "../../../adapters/memory/index.ts";
import { type ControlPlane, createControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import type { SettingsInput } from "../../../core/use-cases/pipeline/context.ts";
import { createPino } from "../../../hosts/composition/logger.ts";
import { createServer, type ServerOptions } from "../../../hosts/http/server/server.ts";

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
  readonly json: any;
}

export interface TestApi extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly controlPlane: ControlPlane;
  /** A new key of the account. */
  key(account?: string): Promise<string>;
  /** A call with a key of the account; pass `key: null` for none. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiResponse>;
  /** Sends a deploy form; resolves when the stream has ended. */
  deploy(
    fields: Readonly<Record<string, string>>,
    archive?: Uint8Array,
    options?: CallOptions & { path?: string },
  ): Promise<ApiResponse>;
}

export interface CallOptions {
  readonly account?: string;
  readonly key?: string | null;
  readonly json?: unknown;
  readonly body?: FormData | string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const serveApi = async (
  ports: Ports,
  settings: SettingsInput = {},
  server: Pick<ServerOptions, "trustProxy"> = {},
): Promise<TestApi> => {
  const controlPlane = createControlPlane(ports, settings);
  const app = await createServer({ controlPlane, logger: createPino("silent"), ...server });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const keys = new Map<string, string>();
  const key: TestApi["key"] = async (account = "acme") => {
    const made = await ports.identity.keys.create(parseAccount(account) as AccountId, "test");
    return made._unsafeUnwrap().key;
  };
  const keyOf = async ({ account = "acme", key: given }: CallOptions): Promise<string | null> => {
    if (given !== undefined) return given;
    const known = keys.get(account) ?? (await key(account));
    keys.set(account, known);
    return known;
  };
  const call: TestApi["call"] = async (method, path, options = {}) => {
    const headers = new Headers(options.headers);
    const secret = await keyOf(options);
    if (secret !== null) headers.set("x-api-key", secret);
    if (options.json !== undefined) headers.set("content-type", "application/json");
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  };
  return {
    url,
    port,
    controlPlane,
    key,
    call,
    deploy: (fields, archive, options = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      if (archive !== undefined)
        form.set("source_archive", new Blob([archive as Uint8Array<ArrayBuffer>]), "source.tar.gz");
      return call("POST", options.path ?? "/v1/deploy", { ...options, body: form });
    },
    [Symbol.asyncDispose]: async () => {
      await controlPlane.close();
      await app.close();
    },
  };
};

/** The records of a finished stream. */
// biome-ignore lint/suspicious/noExplicitAny: tests check responses of any type
export const recordsOf = (answer: ApiResponse): any[] =>
  answer.text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

export const serveMemory = async (
  config: Parameters<typeof createMemoryProvider>[0] = {},
  settings: SettingsInput = {},
): Promise<TestApi & { readonly memory: MemoryProvider }> => {
  const memory = createMemoryProvider(config);
  return { ...(await serveApi(memory.ports, settings)), memory };
};
