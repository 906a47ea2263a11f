/** Generators of custom domains. */
import fc from "fast-check";
import { type DomainName, domainLimits } from "../../core/domain/domains/domain-name.ts";

/** A valid domain in its normal form. */
export const domainName = (): fc.Arbitrary<DomainName> =>
  fc
    .domain()
    .filter((domain) => domain.length <= domainLimits.chars && domain.split(".").length <= domainLimits.labels)
    .map((domain) => domain.toLowerCase() as DomainName);
