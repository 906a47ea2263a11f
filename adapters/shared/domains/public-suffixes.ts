/** The public suffix list: https://publicsuffix.org */
import { getDomain } from "tldts";
import type { DomainName, RegisteredDomain } from "../../../core/domain/domains/domain-name.ts";

/** Includes the list's private section, such as `github.io`, because certificate authorities apply that section too. */
export const registeredDomain: RegisteredDomain = (domain) =>
  (getDomain(domain, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? undefined) as
    | DomainName
    | undefined;
