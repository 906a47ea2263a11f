/** Calls Google's REST APIs for the setup checks. */
import { ResultAsync } from "../../core/result.ts";
import type { ClientSource } from "./clients.ts";

export const SERVICE_USAGE = "https://serviceusage.googleapis.com";

/** Fails with the client's error. */
export type Get = <T>(url: string, body?: unknown) => ResultAsync<T, unknown>;

/**
 * Timeout of one response, in milliseconds. By default, gaxios has no timeout, and the platform starts only after these
 * checks.
 */
const CALL_TIMEOUT_MS = 20_000;

export const requester =
  (clients: ClientSource): Get =>
  <T>(url: string, body?: unknown) => {
    const request = async (): Promise<T> => {
      const auth = await clients("auth");
      const data = body === undefined ? {} : { method: "POST" as const, data: body };
      return (await auth.request<T>({ url, timeout: CALL_TIMEOUT_MS, ...data })).data;
    };
    return ResultAsync.fromPromise(request(), (error) => error);
  };

/** Returns the message of the client's error, with its code. */
export const problemOf = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: string };
  return `${message ?? String(error)}${code === undefined ? "" : ` (${String(code)})`}`;
};
