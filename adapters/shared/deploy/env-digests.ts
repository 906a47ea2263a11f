/** Digests of environment variables, which show whether a value has changed without revealing it. */
import { createHmac } from "node:crypto";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";

/**
 * A digest also depends on the deployment and the variable, so equal values of two variables have different digests.
 * @param key a secret of the installation, which prevents others from guessing a value from its digest
 */
export const envDigestsOf = (
  { owner, name: service, env }: Pick<ServiceTemplate, "owner" | "name" | "env">,
  key: string,
) =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      const digest = createHmac("sha256", key).update(`env\0${owner}\0${service}\0${name}\0${value}`).digest("hex");
      return [name, `hmac:${digest.slice(0, 32)}`];
    }),
  );
