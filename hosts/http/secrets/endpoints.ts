/** Secrets. No response contains a value. */
import { z } from "zod";
import { secretSchema, setSecretSchema } from "../../../core/domain/secrets/secret.ts";
import { deleteSecretFields, setSecretFields } from "../../../core/domain/wire/requests.ts";
import { detailSchema } from "../../../core/domain/wire/responses.ts";
import { get, post } from "../endpoint.ts";

export const secretEndpoints = [
  post("/v1/secret/set", {
    operation: "setSecret",
    summary: "Create a secret, or give it a new value.",
    description:
      "Stores the value as a new version. If the newest version already has this value, creates no version. By " +
      "default, each deployment that uses the secret without a fixed version, and has an older version, gets a new " +
      "release without a build. The releases are rolled out one after another. Follow them with `GET " +
      "/v1/deploy/{deploy_id}`.",
    fields: setSecretFields,
    response: setSecretSchema,
    run: (controlPlane, principal, request, options) => controlPlane.setSecret(principal, request, options),
  }),
  get("/v1/secret/list", {
    operation: "listSecrets",
    summary: "List your secrets by name, with their versions and the deployments that use them.",
    description: "Returns digests, never values. Two versions with the same value have the same digest.",
    response: z.array(secretSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listSecrets(principal, options),
  }),
  post("/v1/secret/delete", {
    operation: "deleteSecret",
    summary: "Delete a secret, or one of its versions.",
    description:
      "Fails with 409 if a deployment uses it. A rollback to a release with a deleted version uses the newest version. " +
      "A deleted value cannot be restored.",
    fields: deleteSecretFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteSecret(principal, request, options),
  }),
] as const;
