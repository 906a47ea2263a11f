/**
 * The session of the console. The cookie of a session has no effect without the request token, which is in
 * `localStorage` and in a header of each request.
 */
import { computed, signal } from "@preact/signals";
import { type Client, createClient } from "../../client/index.ts";
import { replaceRoute } from "./router.ts";

/** The URL of the API: the folder above the console. */
export const apiUrl = new URL("..", new URL(".", document.baseURI)).href.replace(/\/$/, "");
const STORED = `portside-console ${new URL(apiUrl).pathname}`;
const TOKEN_HEADER = "x-portside-console";

/** A session that sign-in created, or the session of the application that embeds Portside. */
type Session =
  | { readonly kind: "console"; readonly token: string; readonly account: string }
  | { readonly kind: "application" };

/** Undefined until the page knows whether there is a session; null if there is none. */
const session = signal<Session | null | undefined>(undefined);
/** Why the user must sign in again. */
export const signInNotice = signal("");
/** The token of a link that would replace the session. The user must agree first, because anyone can create a link. */
export const offeredLink = signal<string | undefined>(undefined);

export const isSignedIn = computed(() => (session.value === undefined ? undefined : session.value !== null));
/** The signed-in account; undefined if the embedding application signs users in. */
export const account = computed(() => (session.value?.kind === "console" ? session.value.account : undefined));

const readStored = (): Session | null => {
  try {
    const { request_token: token, account = "" } = JSON.parse(localStorage.getItem(STORED) ?? "null") ?? {};
    return typeof token === "string" ? { kind: "console", token, account: String(account) } : null;
  } catch {
    return null;
  }
};

const forget = (notice: string): void => {
  localStorage.removeItem(STORED);
  session.value = null;
  signInNotice.value = notice;
};

const sendAuthorized: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers);
  const current = session.value;
  if (current?.kind === "console") headers.set(TOKEN_HEADER, current.token);
  const response = await fetch(input, { ...init, headers, credentials: "same-origin" });
  if (response.status === 401 && current && session.value === current) forget("Your session ended. Sign in again.");
  return response;
};

export const client: Client = createClient({ url: apiUrl, fetch: sendAuthorized });

const post = (path: string, body: unknown): Promise<Response> =>
  sendAuthorized(`${apiUrl}/v1/console/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const problemOf = async (response: Response): Promise<string> => {
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: unknown };
  if (typeof detail === "string") return detail;
  const first = Array.isArray(detail) ? (detail[0] as { msg?: unknown }) : undefined;
  return typeof first?.msg === "string"
    ? `The credential is not valid: ${first.msg}.`
    : `The platform responded with status ${response.status}.`;
};

/** Signs in with a key or a one-time link. Returns the problem, or undefined if the user is signed in. */
export const signIn = async (credential: { readonly key: string } | { readonly link: string }) => {
  const response = await post("sign-in", credential).catch(() => undefined);
  if (response === undefined) return "The platform does not respond. Check that it runs, and try again.";
  if (!response.ok) return problemOf(response);
  const created = (await response.json()) as { request_token: string; expires_at: string; account: string };
  localStorage.setItem(STORED, JSON.stringify(created));
  signInNotice.value = "";
  session.value = readStored();
  return undefined;
};

/** Ends the session. Returns the problem, or undefined if the user is signed out. */
export const signOut = async (): Promise<string | undefined> => {
  const response = await post("sign-out", {}).catch(() => undefined);
  if (response?.ok !== true && response?.status !== 401)
    return `You are still signed in: ${response === undefined ? "the platform does not respond." : await problemOf(response)}`;
  forget("You are signed out.");
  return undefined;
};

/** Returns the token of a one-time link in the URL, and removes it from the URL and the history. */
const takeLink = (): string | undefined => {
  const link = /^#link=(.+)$/.exec(globalThis.location.hash)?.[1];
  if (link !== undefined) replaceRoute({ page: "deployments" });
  return link;
};

/** Signs in with a link, or offers it if there is a session. */
const openLink = async (link: string): Promise<void> => {
  if (session.value?.kind === "console") {
    offeredLink.value = link;
    return;
  }
  const problem = await signIn({ link });
  if (problem !== undefined) forget(problem);
};

/** Finds the session: of an earlier visit, of a one-time link, or of the embedding application. */
export const startSession = async (): Promise<void> => {
  globalThis.addEventListener("storage", ({ key }) => {
    if (key === STORED) session.value = readStored();
  });
  globalThis.addEventListener("hashchange", () => {
    const link = takeLink();
    if (link !== undefined) void openLink(link);
  });
  const link = takeLink();
  const stored = readStored();
  if (stored !== null) session.value = stored;
  if (link !== undefined) return openLink(link);
  if (stored !== null) return;
  const response = await sendAuthorized(`${apiUrl}/v1/capabilities`).catch(() => undefined);
  session.value = response?.ok === true ? { kind: "application" } : null;
};
