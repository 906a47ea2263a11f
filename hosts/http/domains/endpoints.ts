/** Custom domains. */
import { z } from "zod";
import { domainSchema } from "../../../core/domain/domains/domain.ts";
import { addDomainFields, domainFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema } from "../../../core/domain/wire/responses.ts";
import { get, post } from "../endpoint.ts";

export const domainEndpoints = [
  post("/v1/domain/add", {
    operation: "addDomain",
    summary: "Add a domain to a deployment.",
    description:
      "Returns the DNS records that the domain needs. Create them at your DNS provider, then call " +
      "`/v1/domain/check`. If your account owns the domain already, moves it to the deployment. Fails with 409 if " +
      "another account owns it. The message of the 409 contains the TXT record that a new owner must create to take " +
      "over the domain.",
    fields: addDomainFields,
    response: domainSchema,
    run: (controlPlane, principal, request, options) => controlPlane.addDomain(principal, request, options),
  }),
  get("/v1/domain/list", {
    operation: "listDomains",
    summary: "List your domains with their deployments and the DNS records that they need.",
    description: "Does not read DNS: `status` and `detail` describe the last check.",
    response: z.array(domainSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listDomains(principal, options),
  }),
  post("/v1/domain/check", {
    operation: "checkDomain",
    summary: "Check the DNS records of a domain.",
    description:
      "Reads the records at the authoritative DNS servers. The status becomes `active` if all are correct and, if the " +
      "platform orders certificates, the domain has a valid one. Otherwise, `detail` states each problem.",
    fields: domainFields,
    response: domainSchema,
    run: (controlPlane, principal, request, options) => controlPlane.checkDomain(principal, request, options),
  }),
  post("/v1/domain/remove", {
    operation: "removeDomain",
    summary: "Remove a domain from its deployment.",
    description:
      "The deployment continues to serve its other addresses. The deletion of a deployment also removes its domains.",
    fields: domainFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.removeDomain(principal, request, options),
  }),
] as const;
