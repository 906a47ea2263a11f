/** Names of custom domains, such as `app.example.com`: the syntax, and the domains that no account may add. */
import { err, ok, type Result } from "../../result.ts";

declare const domainBrand: unique symbol;

/** A valid domain: lowercase ASCII, with at least two labels and without a trailing dot. */
export type DomainName = string & { readonly [domainBrand]: true };

/**
 * Maximum characters of a domain and of a label, and maximum labels. DNS permits 253 and 63 characters (RFC 1035,
 * section 2.3.4); the name of the ownership record is 10 characters longer than the domain. DNS permits 127 labels, but
 * a check may query each parent for CAA records, and Let's Encrypt issues for 10 labels at most.
 */
export const domainLimits = { chars: 243, labelChars: 63, labels: 10 } as const;

/** The part of the rules that JSON Schema can express. Uppercase and international names are normalized. */
export const domainShape = { maxLength: domainLimits.chars } as const;

const EXAMPLE = "such as app.example.com";

// `URL` would remove these characters or interpret them as parts of a URL.
const hasUrlSyntax = (text: string): boolean => /[\s\p{Cc}/\\@:?#%[\]]/u.test(text);

const isIpAddress = (text: string): boolean =>
  /^\d+(\.\d+){3}$/.test(text) || /^\[?[\da-f.]*:[\da-f:.]*\]?$/i.test(text);

/** Converts an international name to ASCII (UTS 46), as browsers do. Returns undefined for an invalid name. */
const toAscii = (text: string): string | undefined => {
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    return undefined;
  }
};

const labelProblem = (label: string): string | undefined => {
  if (label === "") return "must not contain empty labels; remove the extra dots";
  if (label.length > domainLimits.labelChars)
    return `must have at most ${domainLimits.labelChars} characters between two dots; '${label.slice(0, 20)}...' has ${label.length}`;
  return /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label)
    ? undefined
    : `must contain only letters, digits and '-', and no label may start or end with '-'; change '${label}'`;
};

/**
 * Parses a domain. Accepts uppercase letters, international names and one trailing dot, and returns the form that DNS
 * and certificates use. Fails with a message.
 */
export const parseDomainName = (text: string): Result<DomainName, string> => {
  const written = text.endsWith(".") ? text.slice(0, -1) : text;
  if (written === "") return err(`must be a domain, ${EXAMPLE}`);
  if (written.includes("*")) return err("must not be a wildcard; add each domain separately");
  if (isIpAddress(written)) return err(`must not be an IP address; use a domain, ${EXAMPLE}`);
  if (hasUrlSyntax(written)) return err(`must be a domain without a scheme, port, path or spaces, ${EXAMPLE}`);
  // A long name makes the conversion slow, and the result is never shorter than a quarter of the text.
  if (written.length > 4 * domainLimits.chars) return err(`must be at most ${domainLimits.chars} characters`);
  const domain = toAscii(written);
  if (domain === undefined) return err(`is not a valid domain; use a name ${EXAMPLE}`);
  if (isIpAddress(domain)) return err(`must not be an IP address; use a domain, ${EXAMPLE}`);
  if (domain.length > domainLimits.chars)
    return err(`must be at most ${domainLimits.chars} characters; got ${domain.length}`);
  const labels = domain.split(".");
  if (labels.length > domainLimits.labels)
    return err(`must have at most ${domainLimits.labels} labels; got ${labels.length}`);
  const problem = labels.map(labelProblem).find((one) => one !== undefined);
  if (problem !== undefined) return err(problem);
  return labels.length < 2 ? err(`must have at least two labels, ${EXAMPLE}`) : ok(domain as DomainName);
};

/**
 * Returns the part of a domain that someone can register, such as `example.co.uk` for `a.b.example.co.uk`, or undefined
 * if the domain is a public suffix, such as `co.uk` or `github.io`.
 */
export type RegisteredDomain = (domain: DomainName) => DomainName | undefined;

/** Returns whether a domain is `parent` or a subdomain of it. */
export const isWithin = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);

/**
 * Returns a message if no account may add the domain, because it is a public suffix or belongs to the platform.
 * @param platformDomains the domains under which the platform itself serves deployments
 */
export const domainProblem = (
  domain: DomainName,
  platformDomains: readonly string[],
  registeredDomain: RegisteredDomain,
): string | undefined => {
  const own = platformDomains.find((parent) => isWithin(domain, parent));
  if (own !== undefined)
    return `must not be '${own}' or one of its subdomains, because they belong to the platform; use your own domain`;
  return registeredDomain(domain) === undefined
    ? `must be a domain that you registered; '${domain}' is a public suffix, under which others register domains`
    : undefined;
};
