/** Digests of environment variables, which show whether a value has changed but not the value. */
import { createHmac } from "node:crypto";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";

/** @param key a secret of the installation; without it, a client cannot guess a value from its digest */
export const envDigestsOf = ({ owner, env }: Pick<ServiceTemplate, "owner" | "env">, key: string) =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      const digest = createHmac("sha256", key).update(`env\0${owner}\0${value}`).digest("hex");
      return [name, `hmac:${digest.slice(0, 32)}`];
    }),
  );
