/** A signed-in page of the console: the cookie, the request token, and the headers that a browser adds. */
import type { ApiResponse, CallOptions, TestApi } from "./api.ts";

export interface BrowserSession {
  readonly cookie: string;
  readonly requestToken: string;
  /** The headers of a request from the page. */
  readonly headers: Readonly<Record<string, string>>;
  call(method: string, path: string, options?: CallOptions): Promise<ApiResponse>;
}

/** Returns the part of `Set-Cookie` that a browser sends back. */
export const cookieOf = ({ headers }: ApiResponse): string => headers.get("set-cookie")?.split(";")[0] ?? "";

/** Signs in with a key of the account. */
export const signIn = async (api: TestApi, key: string): Promise<BrowserSession> => {
  const answer = await api.call("POST", "/v1/console/sign-in", { key: null, json: { key } });
  if (answer.status !== 200) throw new Error(`sign-in failed with ${answer.status}: ${answer.text}`);
  const cookie = cookieOf(answer);
  const requestToken = answer.json.request_token as string;
  const headers = { cookie, "x-portside-console": requestToken, "sec-fetch-site": "same-origin" };
  const call: BrowserSession["call"] = (method, path, options = {}) =>
    api.call(method, path, { ...options, key: null, headers: { ...headers, ...options.headers } });
  return { cookie, requestToken, headers, call };
};
