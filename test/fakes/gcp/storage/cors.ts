/**
 * CORS of the XML API: https://cloud.google.com/storage/docs/cross-origin, .../docs/xml-api/put-bucket-cors ("the first
 * Cors configuration matching the Origin and Method of the request used to determine any CORS response headers"),
 * .../docs/json_api/v1/buckets#resource. A request without a matching rule gets no CORS headers, so a browser refuses
 * it.
 */
import type { Reply } from "./failure.ts";
import type { FakeBucket } from "./world.ts";

interface CorsRule {
  readonly origin?: readonly string[];
  readonly method?: readonly string[];
  readonly responseHeader?: readonly string[];
  readonly maxAgeSeconds?: number;
}

type Headers = Readonly<Record<string, string | undefined>>;

const ruleFor = (bucket: FakeBucket | undefined, origin: string, method: string): CorsRule | undefined => {
  const rules = (bucket?.settings["cors"] ?? []) as readonly CorsRule[];
  return rules.find(
    ({ origin: origins = [], method: methods = [] }) =>
      origins.some((one) => one === "*" || one === origin) && methods.some((one) => one === "*" || one === method),
  );
};

const originOf = ({ origin = [] }: CorsRule, own: string): string => (origin.includes("*") ? "*" : own);

const listOf = (header: string | undefined): string[] =>
  (header ?? "").split(",").flatMap((one) => one.trim().toLowerCase() || []);

/** Answers a preflight, which has no signature. Every requested header must be one of the rule's `responseHeader`s. */
export const preflight = (bucket: FakeBucket, headers: Headers): Reply => {
  const { origin = "", "access-control-request-method": method = "" } = headers;
  const rule = ruleFor(bucket, origin, method);
  const known = (rule?.responseHeader ?? []).map((one) => one.toLowerCase());
  const isAllowed = listOf(headers["access-control-request-headers"]).every((one) => known.includes(one));
  if (rule === undefined || !isAllowed) return { status: 200 };
  return {
    status: 200,
    headers: {
      "access-control-allow-origin": originOf(rule, origin),
      "access-control-allow-methods": (rule.method ?? []).join(","),
      "access-control-allow-headers": (rule.responseHeader ?? []).join(","),
      "access-control-max-age": String(rule.maxAgeSeconds ?? 3600),
    },
  };
};

/** Adds the headers of the first matching rule to the reply to a cross-origin request. */
export const withCors = (bucket: FakeBucket | undefined, verb: string, headers: Headers, reply: Reply): Reply => {
  const { origin } = headers;
  const rule = origin === undefined || verb === "OPTIONS" ? undefined : ruleFor(bucket, origin, verb);
  if (rule === undefined) return reply;
  const exposed = (rule.responseHeader ?? []).join(",");
  const cors = { "access-control-allow-origin": originOf(rule, origin as string), vary: "Origin" };
  return {
    ...reply,
    headers: { ...reply.headers, ...cors, ...(exposed === "" ? {} : { "access-control-expose-headers": exposed }) },
  };
};
