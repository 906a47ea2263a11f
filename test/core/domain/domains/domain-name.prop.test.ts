/** Domains: the accepted spellings and their normal form, and the domains that no account may add. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type DomainName,
  domainLimits,
  domainProblem,
  isWithin,
  parseDomainName,
  type RegisteredDomain,
} from "../../../../core/domain/domains/domain-name.ts";
import { domainName } from "../../../arbitraries/domains.ts";
import { nastyString } from "../../../arbitraries/nasty-strings.ts";

const problemOf = (text: string): string => parseDomainName(text)._unsafeUnwrapErr();

describe("a domain", () => {
  test("is its own normal form, and any letter case and a trailing dot change nothing", () => {
    fc.assert(
      fc.property(domainName(), fc.boolean(), (domain, isUpper) => {
        const written = `${isUpper ? domain.toUpperCase() : domain}.`;
        expect(parseDomainName(domain)._unsafeUnwrap()).toBe(domain);
        expect(parseDomainName(written)._unsafeUnwrap()).toBe(domain);
      }),
    );
  });

  test("from any text is normal, or the text is refused with a message", () => {
    const part = fc.oneof(nastyString(), fc.constantFrom("app", "ü", "例え", "com", "xn--"));
    const text = fc.array(part, { maxLength: 5 }).map((parts) => parts.join("."));
    fc.assert(
      fc.property(text, (written) => {
        const parsed = parseDomainName(written);
        if (parsed.isErr()) {
          expect(parsed.error).toMatch(/^(must|is not) /);
          return;
        }
        expect(parsed.value).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
        expect(parsed.value.length).toBeLessThanOrEqual(domainLimits.chars);
        for (const label of parsed.value.split(".")) expect(label).toMatch(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/);
        expect(parseDomainName(parsed.value)._unsafeUnwrap()).toBe(parsed.value);
      }),
    );
  });

  test.each([
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["例え。テスト", "xn--r8jz45g.xn--zckzah"],
    ["faß.de", "xn--fa-hia.de"],
  ])("'%s' is stored as '%s'", (written, domain) => {
    expect(parseDomainName(written)._unsafeUnwrap()).toBe(domain);
  });

  test("may have 243 characters and labels of 63, and no more", () => {
    const label = "a".repeat(63);
    const longest = [label, label, label, "a".repeat(51)].join(".");
    expect(parseDomainName(longest)._unsafeUnwrap()).toHaveLength(243);
    expect(problemOf(`${longest}a`)).toBe("must be at most 243 characters; got 244");
    expect(problemOf(`a${label}.com`)).toContain("at most 63 characters between two dots");
  });

  test("may have 10 labels, and no more", () => {
    const longest = `${"a.".repeat(8)}example.com`;
    expect(parseDomainName(`${longest}.`)._unsafeUnwrap()).toBe(longest);
    expect(problemOf(`a.${longest}`)).toBe("must have at most 10 labels; got 11");
  });

  test.each([
    ["", "must be a domain, such as app.example.com"],
    [".", "must be a domain, such as app.example.com"],
    ["a..b", "must not contain empty labels"],
    ["localhost", "must have at least two labels"],
    ["*.example.com", "must not be a wildcard"],
    ["203.0.113.10", "must not be an IP address"],
    ["0x7f.1", "must not be an IP address"],
    ["2001:db8::1", "must not be an IP address"],
    ["[::1]", "must not be an IP address"],
    ["https://app.example.com", "without a scheme, port, path or spaces"],
    ["app.example.com:443", "without a scheme, port, path or spaces"],
    ["app.example.com/a", "without a scheme, port, path or spaces"],
    ["user@example.com", "without a scheme, port, path or spaces"],
    ["app .example.com", "without a scheme, port, path or spaces"],
    ["app\n.example.com", "without a scheme, port, path or spaces"],
    ["app%2eexample.com", "without a scheme, port, path or spaces"],
    ["_dmarc.example.com", "change '_dmarc'"],
    ["-app.example.com", "change '-app'"],
    ["\uFFFD.example", "is not a valid domain"],
  ])("'%s' is refused: %s", (written, message) => {
    expect(problemOf(written)).toContain(message);
  });
});

describe("a domain that no account may add", () => {
  const registered: RegisteredDomain = (domain) =>
    domain === "co.uk" ? undefined : (domain.split(".").slice(-2).join(".") as DomainName);
  const problem = (domain: string) => domainProblem(domain as DomainName, ["apps.example.com"], registered);

  test("is a public suffix, or a domain of the platform with its subdomains", () => {
    expect(problem("co.uk")).toContain("'co.uk' is a public suffix");
    expect(problem("apps.example.com")).toContain("'apps.example.com' or one of its subdomains");
    expect(problem("a.b.apps.example.com")).toContain("use your own domain");
  });

  test("is neither a parent of the platform's domain nor a name that ends like it", () => {
    for (const domain of ["example.com", "myapps.example.com", "apps.example.com.au", "www.example.com"])
      expect(problem(domain), domain).toBeUndefined();
  });

  test("is within a parent only if it equals the parent or ends with a dot and the parent", () => {
    fc.assert(
      fc.property(domainName(), domainName(), (domain, parent) => {
        expect(isWithin(`${domain}.${parent}`, parent)).toBe(true);
        expect(isWithin(parent, parent)).toBe(true);
        expect(isWithin(`x${parent}`, parent)).toBe(false);
      }),
    );
  });
});
