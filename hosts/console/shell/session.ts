/**
 * The session of the console. The cookie of a session has no effect without the request token, which is in
 * `localStorage` and in a header of each request.
 */
import { computed, signal } from "@preact/signals";
import { ApiError, type Client, createClient } from "../../client/index.ts";
import { replaceRoute } from "./router.ts";

/** The URL of the API: the folder above the console. */
export const apiUrl = new URL("..", new URL(".", document.baseURI)).href.replace(/\/$/, "");
const STORED = `portside-console ${new URL(apiUrl).pathname}`;
const TOKEN_HEADER = "x-portside-console";
/** Replaces the stored session when a user signs out, so that the other tabs of the browser can state the reason. */
const SIGNED_OUT = JSON.stringify({ signed_out: true });
/** How often to check whether the session of an idle page has ended. Also the deadline of each check. */
const CHECK_MS = 4000;

const SESSION_ENDED = "Your session ended. Sign in again.";
const LINK_IGNORED =
  "The link was not used, because the application has signed you in. Sign out of the application, and open a new link.";

/** A session that sign-in created, or the session of the application that embeds Portside. */
type Session =
  | { readonly kind: "console"; readonly token: string; readonly account: string }
  | { readonly kind: "application" };

/** Undefined until the page knows whether there is a session; null if there is none. */
const session = signal<Session | null | undefined>(undefined);
/** Why the user must sign in again, or why a link did not sign the user in. */
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

const begin = (started: Session | null): void => {
  session.value = started;
  signInNotice.value = "";
};

const end = (notice: string): void => {
  session.value = null;
  signInNotice.value = notice;
};

/** Ends a session that the platform rejected. Continues with the session that another tab has stored, if any. */
const replaceEnded = (ended: Session): void => {
  const stored = readStored();
  if (ended.kind === "console" && stored?.kind === "console" && stored.token !== ended.token) return begin(stored);
  localStorage.removeItem(STORED);
  end(SESSION_ENDED);
};

const sendAuthorized: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers);
  const current = session.value;
  if (current?.kind === "console") headers.set(TOKEN_HEADER, current.token);
  const response = await fetch(input, { ...init, headers, credentials: "same-origin" });
  if (response.status === 401 && current && session.value === current) replaceEnded(current);
  return response;
};

export const client: Client = createClient({ url: apiUrl, fetch: sendAuthorized });

const problemOf = (error: unknown): string => {
  if (!(error instanceof ApiError)) return "The platform does not respond. Check that it is running, and try again.";
  const [issue] = error.issues;
  return issue === undefined ? error.message : `The credential is not valid: ${issue.message}.`;
};

/** Signs in with a key or a one-time link. Returns the problem, or undefined if the user is signed in. */
export const signIn = async (
  credential: { readonly key: string } | { readonly link: string },
): Promise<string | undefined> => {
  try {
    const created = await client.signIn(credential);
    localStorage.setItem(STORED, JSON.stringify(created));
    begin(readStored());
    return undefined;
  } catch (error) {
    return problemOf(error);
  }
};

/** Continues with the session of the application, which the platform prefers to a session of the console. */
const useApplicationSession = (): void => {
  localStorage.removeItem(STORED);
  begin({ kind: "application" });
};

/** Ends the session. Returns the problem, or undefined if the user is signed out. */
export const signOut = async (): Promise<string | undefined> => {
  try {
    await client.signOut();
  } catch (error) {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status === 409) {
      useApplicationSession();
      return "The application has signed you in. Sign out there.";
    }
    if (status !== 401) return `You are still signed in: ${problemOf(error)}`;
  }
  localStorage.setItem(STORED, SIGNED_OUT);
  end("You are signed out.");
  return undefined;
};

/** Returns the token of a one-time link in the URL, and removes it from the URL and the history. */
const takeLink = (): string | undefined => {
  const link = /^#link=(.+)$/.exec(globalThis.location.hash)?.[1];
  if (link !== undefined) replaceRoute({ page: "deployments" });
  return link;
};

/**
 * Returns whether the embedding application has signed the user in. Sends no request token, so a session of the console
 * has no effect.
 */
const hasApplicationSession = (): Promise<boolean> =>
  fetch(`${apiUrl}/v1/capabilities`, { signal: AbortSignal.timeout(CHECK_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Returns whether an application embeds the console and can sign users in. */
const isEmbedded = (): Promise<boolean> =>
  fetch(`${apiUrl}/console/sign-in.json`, { signal: AbortSignal.timeout(CHECK_MS) })
    .then((response) => response.json())
    .then(
      ({ sign_in }: { readonly sign_in: readonly string[] }) => sign_in.includes("application"),
      () => false,
    );

/**
 * Signs in with a link, or offers it if it would replace a session. Ignores it if the application has signed the user
 * in, because the platform prefers the session of the application.
 */
const openLink = async (link: string): Promise<void> => {
  if (session.value?.kind === "console") {
    offeredLink.value = link;
    return;
  }
  if (await hasApplicationSession()) {
    session.value = { kind: "application" };
    signInNotice.value = LINK_IGNORED;
    return;
  }
  const problem = await signIn({ link });
  if (problem !== undefined) end(problem);
};

/**
 * Follows a sign-in or a sign-out of another tab. The other tab also removes the session if it prefers the session of
 * the application.
 */
const followStorage = async ({ key, newValue }: StorageEvent): Promise<void> => {
  // The key is null if the browser's storage was cleared.
  if (key !== STORED && key !== null) return;
  const stored = readStored();
  if (stored !== null) return begin(stored);
  const ended = session.value;
  if (ended?.kind !== "console") return;
  if (newValue === SIGNED_OUT) return end("You signed out in another tab.");
  const isApplication = (await isEmbedded()) && (await hasApplicationSession());
  if (session.value !== ended) return;
  if (isApplication) begin({ kind: "application" });
  else end(SESSION_ENDED);
};

/** Asks the platform whether the session of an idle page has ended. `sendAuthorized` handles a 401. */
const checkSession = async (): Promise<void> => {
  if (!isSignedIn.value) return;
  await client.capabilities({ signal: AbortSignal.timeout(CHECK_MS) }).catch(() => undefined);
};

/** Finds the session: of an earlier visit, of a one-time link, or of the embedding application. */
export const startSession = async (): Promise<void> => {
  globalThis.addEventListener("storage", (event) => void followStorage(event));
  globalThis.addEventListener("hashchange", () => {
    const link = takeLink();
    if (link !== undefined) void openLink(link);
  });
  globalThis.setInterval(() => void checkSession(), CHECK_MS);
  // Browsers delay the timers of hidden pages.
  document.addEventListener("visibilitychange", () => void checkSession());
  const link = takeLink();
  const stored = readStored();
  if (stored !== null) {
    session.value = stored;
    if ((await isEmbedded()) && (await hasApplicationSession())) useApplicationSession();
  }
  if (link !== undefined) return openLink(link);
  if (stored !== null) return;
  session.value = (await hasApplicationSession()) ? { kind: "application" } : null;
};
