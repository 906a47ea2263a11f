/** The capability of custom domains. */
import { type Feature, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { AwsConfig } from "../config.ts";

export const awsDomainsFeature = ({ shared }: Pick<AwsConfig, "shared">): Feature =>
  shared.scheme === "https"
    ? offered("with certificates of AWS Certificate Manager, and at most four domains per deployment")
    : missing(
        "custom domains need HTTPS, and the load balancer's listener uses HTTP; set the stack's parameter CertificateArn to a certificate of AWS Certificate Manager for the domain of the services",
      );
