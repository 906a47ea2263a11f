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

/** Opens a page. */
export const navigate = (route: Route, query?: Query): void => {
  globalThis.location.hash = fragmentOf(route, query);
};

/** Opens a page in place of the current entry of the history. */
export const replaceRoute = (route: Route, query?: Query): void => {
  history.replaceState(null, "", fragmentOf(route, query));
  read();
};

/** Changes the parameters of the current page without a new entry in the history. */
export const replaceQuery = (query: Query): void => {
  const { route, query: current } = location.value;
  replaceRoute(route, { ...current, ...query });
};
