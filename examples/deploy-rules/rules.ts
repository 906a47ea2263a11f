/** A team's own rules about deploys, as policies of the control plane. */
import { adjust, type Policy, veto } from "portside";

const GiB = 1024 ** 3;

/** Production services must mount their volumes read-only. */
export const readOnlyInProduction: Policy = {
  name: "production mounts are read-only",
  judge: ({ declaration: { name, mounts } }) =>
    name.startsWith("prod-")
      ? mounts.filter(({ readOnly }) => !readOnly).map(({ path }) => veto("volumes", `${path} must be read_only`))
      : [],
};

/** Large services need an owner. An omitted environment keeps the current one. */
export const largeHasOwner: Policy = {
  name: "deployments over 8Gi have an owner",
  judge: ({ declaration: { memory, env }, current }) =>
    memory > 8 * GiB && (env ?? current?.env)?.["OWNER"] === undefined
      ? [veto("env", "set OWNER to a team: memory over 8Gi needs one")]
      : [],
};

/** The first version of the rule above. The property in rules.test.ts finds its bug. */
export const largeHasOwnerAtFirst: Policy = {
  name: "deployments over 8Gi have an owner",
  judge: ({ declaration: { memory, env } }) =>
    memory > 8 * GiB && env?.["OWNER"] === undefined ? [veto("env", "set OWNER to a team")] : [],
};

/** No request needs more than ten minutes. */
export const tenMinutes: Policy = {
  name: "ten minutes",
  judge: ({ declaration: { timeout } }) => (timeout > 600 ? [adjust("timeout", 600, "Timeout lowered to 600 s")] : []),
};
