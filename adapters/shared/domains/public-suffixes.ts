/** The public suffix list: https://publicsuffix.org */
import { getDomain } from "tldts";
import type { DomainName, RegisteredDomain } from "../../../core/domain/domains/domain-name.ts";

/** Includes the list's private section, such as `github.io`, because certificate authorities also apply that section. */
export const registeredDomain: RegisteredDomain = (domain) =>
  (getDomain(domain, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? undefined) as
    | DomainName
    | undefined;
