/** Creates a valid example request for each endpoint, as data and as a curl command. */
import { type Endpoint, isStream, needsCredential, takesForm } from "../../hosts/http/endpoints.ts";
import type { Schema } from "./json-shape.ts";

/** Optional fields that an example should show. */
const WORTH_SHOWING: Readonly<Record<string, readonly string[]>> = {
  "/v1/console/sign-in": ["link"],
  "/v1/volume/upload": ["object"],
  "/v1/deployment/env": ["set"],
  "/v1/deployment/logs": ["query"],
};

export type Values = Readonly<Record<string, unknown>>;

/** Returns the first example of each required field. */
export const exampleValues = (
  path: string,
  fields: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Values => {
  const shown = Object.entries(fields).filter(
    ([name]) => required.includes(name) || WORTH_SHOWING[path]?.includes(name),
  );
  return Object.fromEntries(
    shown.map(([name, { examples }]) => {
      if (examples === undefined) throw new Error(`the field '${name}' of ${path} has no example`);
      return [name, examples[0]];
    }),
  );
};

/** Returns the path of a request, including the ids and the query. */
export const addressOf = ({ path, method }: Pick<Endpoint, "path" | "method">, values: Values): string => {
  const named = path.replace(/:(\w+)/g, (_, name: string) => String(values[name]));
  if (method !== "GET") return named;
  const query = Object.entries(values).filter(([name]) => !path.includes(`:${name}`));
  return query.length === 0 ? named : `${named}?${new URLSearchParams(query as [string, string][])}`;
};

const KEY = '-H "X-API-Key: $PORTSIDE_API_KEY"';

const formValue = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const curlOf = (endpoint: Endpoint, values: Values): string => {
  const { kind, method } = endpoint;
  const curl = `curl${isStream(endpoint) ? " -N" : ""}${needsCredential(endpoint) ? ` ${KEY}` : ""}`;
  const url = `"$PORTSIDE_URL${addressOf(endpoint, values)}"`;
  if (takesForm(endpoint)) {
    const fields = Object.entries(values).map(([name, value]) => `-F '${name}=${formValue(value)}'`);
    const archive = kind === "deploy" ? " -F source_archive=@source.tar.gz" : "";
    return `${curl} ${fields.join(" ")}${archive} \\\n  ${url}`;
  }
  if (method === "GET") return `${curl} ${url}`;
  return `${curl} -H 'Content-Type: application/json' -d '${JSON.stringify(values)}' \\\n  ${url}`;
};
