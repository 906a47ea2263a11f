/**
 * CORS rules and their evaluation: https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html
 * (`cors-eval-criteria`), .../userguide/ManageCorsUsing.html, .../API/API_PutBucketCors.html,
 * .../API/RESTOPTIONSobject.html.
 */
import type { AwsReply, AwsRequest } from "../server.ts";
import { childrenOf, parseXml, textOf, type XmlElement } from "../xml.ts";
import { failure, xmlReply } from "./failure.ts";
import type { CorsRule, FakeBucket } from "./world.ts";

const METHODS = ["GET", "PUT", "POST", "DELETE", "HEAD"];

const texts = (rule: XmlElement, name: string): string[] => childrenOf(rule, name).map(({ text }) => text.trim());

const ruleOf = (rule: XmlElement): CorsRule => {
  const [origins, methods] = [texts(rule, "AllowedOrigin"), texts(rule, "AllowedMethod")];
  if (origins.length === 0 || methods.length === 0)
    throw failure(400, "MalformedXML", "a rule needs an AllowedOrigin and an AllowedMethod");
  const unknown = methods.find((one) => !METHODS.includes(one));
  if (unknown !== undefined)
    throw failure(
      400,
      "InvalidRequest",
      `Found unsupported HTTP method in CORS config. Unsupported method is ${unknown}`,
    );
  const headers = texts(rule, "AllowedHeader");
  return { origins, methods, headers, exposed: texts(rule, "ExposeHeader"), maxAge: textOf(rule, "MaxAgeSeconds") };
};

/** "An XML document with up to 100 rules" */
export const parseCors = (xml: string): CorsRule[] => {
  const rules = childrenOf(parseXml(xml), "CORSRule").map(ruleOf);
  if (rules.length === 0 || rules.length > 100) throw failure(400, "MalformedXML", "1 to 100 rules");
  return rules;
};

export const printCors = (rules: readonly CorsRule[]): AwsReply => {
  if (rules.length === 0) throw failure(404, "NoSuchCORSConfiguration", "The CORS configuration does not exist");
  return xmlReply("CORSConfiguration", {
    CORSRule: rules.map(({ origins, methods, headers, exposed, maxAge }) => ({
      AllowedOrigin: origins,
      AllowedMethod: methods,
      AllowedHeader: headers,
      ExposeHeader: exposed,
      MaxAgeSeconds: maxAge,
    })),
  });
};

/** Each string may have one `*`. Header names ignore case. */
const matches = (pattern: string, value: string): boolean => {
  const [start = "", end] = pattern.split("*");
  return end === undefined
    ? pattern === value
    : value.length >= start.length + end.length && value.startsWith(start) && value.endsWith(end);
};

const listOf = (header: string | undefined): string[] =>
  (header ?? "").split(",").flatMap((one) => one.trim().toLowerCase() || []);

/** The first rule that matches the origin, the method and every requested header. */
const ruleFor = (bucket: FakeBucket | undefined, request: AwsRequest, method: string): CorsRule | undefined => {
  const { origin = "", "access-control-request-headers": requested } = request.headers;
  return bucket?.cors.find(
    ({ origins, methods, headers }) =>
      origins.some((one) => matches(one, origin)) &&
      methods.includes(method) &&
      listOf(requested).every((name) => headers.some((one) => matches(one.toLowerCase(), name))),
  );
};

const headersOf = ({ origins, methods, exposed }: CorsRule, origin: string): Record<string, string> => ({
  // With credentials only if the rule names the origin.
  ...(origins.includes("*")
    ? { "access-control-allow-origin": "*" }
    : { "access-control-allow-origin": origin, "access-control-allow-credentials": "true" }),
  "access-control-allow-methods": methods.join(", "),
  ...(exposed.length === 0 ? {} : { "access-control-expose-headers": exposed.join(", ") }),
  vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
});

/** Answers a preflight, which has no signature: "S3 will send only the allowed headers in a response that were requested". */
export const preflight = (bucket: FakeBucket, request: AwsRequest): AwsReply => {
  const { origin, "access-control-request-method": method, "access-control-request-headers": wanted } = request.headers;
  if (origin === undefined || method === undefined)
    throw failure(400, "BadRequest", "Insufficient information. Origin request header needed.");
  if (bucket.cors.length === 0)
    throw failure(403, "AccessForbidden", "CORSResponse: CORS is not enabled for this bucket.");
  const rule = ruleFor(bucket, request, method);
  if (rule === undefined) throw failure(403, "AccessForbidden", "CORSResponse: This CORS request is not allowed.");
  return {
    status: 200,
    headers: {
      ...headersOf(rule, origin),
      ...(wanted === undefined ? {} : { "access-control-allow-headers": listOf(wanted).join(", ") }),
      ...(rule.maxAge === undefined ? {} : { "access-control-max-age": rule.maxAge }),
    },
  };
};

/** Adds the headers of the first matching rule to the reply to a cross-origin request. */
export const withCors = (bucket: FakeBucket | undefined, request: AwsRequest, reply: AwsReply): AwsReply => {
  const { origin } = request.headers;
  const rule = origin === undefined || request.verb === "OPTIONS" ? undefined : ruleFor(bucket, request, request.verb);
  return rule === undefined ? reply : { ...reply, headers: { ...reply.headers, ...headersOf(rule, origin as string) } };
};
