/** Which CORS rules of a bucket let web pages use signed URLs. */
import { expect, test } from "vitest";
import { type CorsRule, covers, storageCors } from "../../../../adapters/shared/volumes/cors.ts";

const own: CorsRule = {
  origins: ["*"],
  methods: storageCors.methods,
  requestHeaders: storageCors.requestHeaders,
  exposedHeaders: storageCors.exposedHeaders,
};

test.each<[string, readonly CorsRule[]]>([
  ["Portside's own rule", [own]],
  ["a wider rule after one for another origin", [{ ...own, origins: ["https://app.example"] }, own]],
  ["wildcards", [{ ...own, methods: ["*"], requestHeaders: ["content-*", "if-*", "range"], exposedHeaders: ["*"] }]],
  [
    "a rule for each method",
    [...storageCors.methods, "DELETE"].map((method) => ({
      ...own,
      methods: [method],
      origins: ["https://a.example", "*"],
    })),
  ],
  ["headers in other cases", [{ ...own, exposedHeaders: ["etag", "CONTENT-RANGE"] }]],
])("%s suffices", (_, rules) => {
  expect(covers(rules)).toBe(true);
});

test.each<[string, readonly CorsRule[]]>([
  ["no rule", []],
  ["one origin", [{ ...own, origins: ["https://app.example"] }]],
  ["a pattern of origins", [{ ...own, origins: ["https://*"] }]],
  ["no POST", [{ ...own, methods: ["GET", "HEAD", "PUT"] }]],
  ["no request headers", [{ ...own, requestHeaders: [] }]],
  ["a pattern that one header does not match", [{ ...own, requestHeaders: ["if-*", "range"] }]],
  ["no ETag to read", [{ ...own, exposedHeaders: ["Content-Range"] }]],
  [
    "headers in different rules",
    [
      { ...own, requestHeaders: [] },
      { ...own, exposedHeaders: [] },
    ],
  ],
])("%s does not suffice", (_, rules) => {
  expect(covers(rules)).toBe(false);
});
