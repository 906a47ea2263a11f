/**
 * The pages of the console and their URLs. A URL is in the fragment, so that the page works under any prefix and behind
 * any proxy without knowing its own path.
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

const routeOf = ([first = "", second, third]: readonly string[]): Route => {
  if (first === "" || (first === "deployments" && second === undefined)) return { page: "deployments" };
  if (first === "deploy" && second === undefined) return { page: "new-deploy" };
  if (first === "sql" && second === undefined) return { page: "sql" };
  if (first === "volumes" && third === undefined)
    return second === undefined ? { page: "volumes" } : { page: "volume", name: second };
  if (first === "deploys") return second === undefined ? { page: "deploys" } : { page: "deploy", id: second };
  if ((first === "cost" || first === "account") && second === undefined) return { page: first };
  if (first !== "deployments" || second === undefined) return { page: "unknown" };
  const section = third ?? "overview";
  return isSection(section) ? { page: "deployment", name: second, section } : { page: "unknown" };
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
