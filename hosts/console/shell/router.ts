/** The current page, from the URL's fragment. */
import { signal } from "@preact/signals";
import { fragmentOf, parseFragment, type Route } from "./routes.ts";

export const location = signal(parseFragment(globalThis.location.hash));

const read = (): void => {
  location.value = parseFragment(globalThis.location.hash);
};

globalThis.addEventListener("hashchange", read);
globalThis.addEventListener("popstate", read);

type Query = Readonly<Record<string, string | undefined>>;

/** Opens a page, and adds a history entry. */
export const navigate = (route: Route, query?: Query): void => {
  globalThis.location.hash = fragmentOf(route, query);
};

/** Opens a page, and replaces the current history entry. */
export const replaceRoute = (route: Route, query?: Query): void => {
  history.replaceState(null, "", fragmentOf(route, query));
  read();
};

/** Changes the parameters of the current page without adding a history entry. */
export const replaceQuery = (query: Query): void => {
  const { route, query: current } = location.value;
  replaceRoute(route, { ...current, ...query });
};
