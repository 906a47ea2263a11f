/** The domain of services: its setting, the URLs below it, and clients' host names. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answersOnLoopback,
  type Domain,
  readDomain,
  requestScheme,
  serviceOfHost,
  serviceUrl,
} from "../../../../adapters/local/ingress/domain.ts";

const read = (text: string): Domain => readDomain(text) as Domain;

describe("readDomain", () => {
  test.each([
    ["apps.example.com", "http://hello.apps.example.com:8080"],
    ["Apps.Example.COM", "http://hello.apps.example.com:8080"],
    ["localhost", "http://hello.localhost:8080"],
    ["https://apps.example.com", "https://hello.apps.example.com"],
    ["HTTPS://Apps.example.com/", "https://hello.apps.example.com"],
    ["https://apps.example.com:8443", "https://hello.apps.example.com:8443"],
    ["http://apps.example.com", "http://hello.apps.example.com"],
  ])("%s makes %s", (text, url) => {
    expect(serviceUrl(read(text), "hello", { shared: 8080 })).toBe(url);
  });

  test.each([
    "",
    " ",
    ".",
    "apps.example.com.",
    "apps..example",
    "apps_example.com",
    "apps example.com",
    "a/b",
    "a?b",
    "a#b",
    "apps.example.com:8443",
    "127.0.0.1",
    "[::1]",
    "https://127.0.0.1",
    "https://",
    "https://a.example/path",
    "https://a.example?b",
    "https://a.example#b",
    "https://user@a.example",
    "ftp://a.example",
    "//a.example",
    "*.a.example",
  ])("refuses %j", (text) => {
    expect(readDomain(text)).toBeUndefined();
  });

  test("makes URLs with the host of the setting only, for any text", () => {
    const parts = fc.array(
      fc.constantFrom("a", "B", ".", "-", ":", "/", "@", "?", "#", "\\", "1", "https://", "http:", " "),
    );
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,5}$/);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          parts.map((some) => some.join("")),
        ),
        label,
        (text, service) => {
          const domain = readDomain(text);
          if (domain === undefined) return;
          const url = new URL(serviceUrl(domain, service, { shared: 8080 }));
          expect(url.hostname).toBe(`${service}.${domain.name}`);
          expect(url.href).toBe(`${url.protocol}//${url.host}/`);
          // The reverse: a request to that URL reaches that service.
          expect(serviceOfHost(url.host, domain)).toBe(service);
        },
      ),
    );
  });
});

describe("serviceOfHost and requestScheme", () => {
  test.each([
    ["one.localhost", "one"],
    ["ONE.LocalHost.:8080", "one"],
    ["one.apps.example", "one"],
    ["one.Apps.Example:443", "one"],
    ["one.apps.example:", "one"],
    ["apps.example", undefined],
    ["one.other.example", undefined],
    ["localhost", undefined],
    ["", undefined],
  ])("%s belongs to %s", (host, service) => {
    expect(serviceOfHost(host, read("apps.example"))).toBe(service);
  });

  test("supports a domain below localhost", () => {
    expect(serviceOfHost("one.apps.localhost", read("apps.localhost"))).toBe("one");
    expect(serviceOfHost("one.localhost", read("apps.localhost"))).toBe("one");
  });

  test("returns https only for names below a domain with an https proxy", () => {
    const behindTls = read("https://apps.example");
    expect(requestScheme("one.apps.example", behindTls, false)).toBe("https");
    expect(requestScheme("ONE.apps.example.:443", behindTls, false)).toBe("https");
    for (const host of ["one.localhost:8080", "127.0.0.1:4000", "apps.example", "oneapps.example", undefined])
      expect(requestScheme(host, behindTls, false)).toBe("http");
    for (const domain of [read("apps.example"), read("http://apps.example"), undefined])
      expect(requestScheme("one.apps.example", domain, false)).toBe("http");
  });
});

test.each([
  ["apps.example.com", [], true],
  ["https://apps.example.com", [80], false],
  ["https://apps.example.com", [443], true],
  ["http://apps.example.com", [443], false],
  ["http://apps.example.com", [80], true],
  ["https://apps.example.com:8443", [443], false],
  ["https://apps.example.com:8443", [443, 8443], true],
])("%s with open ports %j is reachable on the loopback address: %s", (text, opened, answers) => {
  expect(answersOnLoopback(read(text), opened)).toBe(answers);
});
