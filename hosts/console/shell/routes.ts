/**
 * The pages of the console and their URLs. The fragment contains the page, so the console works under any prefix and
 * behind any proxy without knowing its own path.
 */

/** The parts of a deployment's page. */
export const sections = ["overview", "releases", "deploys", "logs", "settings"] as const;
export type Section = (typeof sections)[number];

export type Route =
  | { readonly page: "deployments" }
  | { readonly page: "deployment"; readonly name: string; readonly section: Section }
  | { readonly page: "new-deploy" }
  | { readonly page: "volumes" }
  | { readonly page: "volume"; readonly name: string }
  | { readonly page: "domains" }
  | { readonly page: "sql" }
  | { readonly page: "deploys" }
  | { readonly page: "deploy"; readonly id: string }
  | { readonly page: "cost" }
  | { readonly page: "account" }
  | { readonly page: "unknown" };

/** A page with its parameters, such as the filter of a log. */
export interface Location {
  readonly route: Route;
  readonly query: Readonly<Record<string, string>>;
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const isSection = (word: string): word is Section => (sections as readonly string[]).includes(word);

/** The pages whose path is one word. */
const simplePages: Readonly<Record<string, Route>> = {
  "": { page: "deployments" },
  deployments: { page: "deployments" },
  deploy: { page: "new-deploy" },
  deploys: { page: "deploys" },
  volumes: { page: "volumes" },
  domains: { page: "domains" },
  sql: { page: "sql" },
  cost: { page: "cost" },
  account: { page: "account" },
};

const routeOf = ([first = "", second, third]: readonly string[]): Route => {
  if (second === undefined)
    return Object.hasOwn(simplePages, first) ? (simplePages[first] as Route) : { page: "unknown" };
  if (first === "deploys") return { page: "deploy", id: second };
  if (first === "volumes" && third === undefined) return { page: "volume", name: second };
  const section = third ?? "overview";
  if (first !== "deployments" || !isSection(section)) return { page: "unknown" };
  return { page: "deployment", name: second, section };
};

/** Returns the page of a URL's fragment, such as `#/deployments/my-app/logs?query=severity%3E%3DERROR`. */
export const parseFragment = (fragment: string): Location => {
  const [path = "", search = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  return {
    route: routeOf(path.split("/").filter(Boolean).map(decode)),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
};

const pathOf = (route: Route): string => {
  switch (route.page) {
    case "deployment": {
      const path = `deployments/${encodeURIComponent(route.name)}`;
      return route.section === "overview" ? path : `${path}/${route.section}`;
    }
    case "new-deploy":
      return "deploy";
    case "volumes":
    case "domains":
    case "sql":
    case "deploys":
      return route.page;
    case "volume":
      return `volumes/${encodeURIComponent(route.name)}`;
    case "deploy":
      return `deploys/${encodeURIComponent(route.id)}`;
    case "cost":
    case "account":
      return route.page;
    default:
      return "";
  }
};

/** Returns the fragment of a page. Omits empty parameters. */
export const fragmentOf = (route: Route, query: Readonly<Record<string, string | undefined>> = {}): string => {
  const given = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(given).toString();
  return `#/${pathOf(route)}${search === "" ? "" : `?${search}`}`;
};
