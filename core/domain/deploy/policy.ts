/**
 * Policies: an operator's rules about deploys. A policy rejects a deploy or changes a field, with a message.
 *
 * ```ts
 * const readOnlyInProduction: Policy = {
 *   name: "production mounts are read-only",
 *   judge: ({ declaration: { name, mounts } }) =>
 *     name.startsWith("prod-") && mounts.some(({ readOnly }) => !readOnly)
 *       ? [veto("volumes", "must be read_only in production")]
 *       : [],
 * };
 * ```
 *
 * Policies run in order, and each receives the declaration with the changes of the previous ones. An adjusted
 * declaration must follow the same rules as a client's declaration, so Portside validates it again.
 */
import { type Internal, internal } from "../../errors.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Principal } from "../accounts/account.ts";
import { type Issue, issue } from "../wire/issue.ts";
import { type DeclareContext, type DeployDeclaration, declareDeploy } from "./declaration.ts";
import type { deployFields } from "./fields.ts";
import { changedFields, formatValue } from "./plan.ts";
import type { Adjustment } from "./resources.ts";
import { type Declared, type ServiceSpec, writtenFields } from "./service-template.ts";

/** The fields that a policy may change: all fields of a service except those that keep their value if omitted. */
export type PolicyFields = Omit<Declared, "env" | "secrets" | "minInstances" | "health" | "idle">;

/** The deploy that a policy judges. */
export interface PolicyQuestion {
  readonly declaration: DeployDeclaration;
  /** The template of the serving revision, or else the last attempted template; null if no service has the name. */
  readonly current: ServiceSpec | null;
  /** The caller of the deploy. */
  readonly principal: Principal;
}

/** A new value for one field. */
export type FieldChange = {
  readonly [K in keyof PolicyFields]: { readonly field: K; readonly value: PolicyFields[K] };
}[keyof PolicyFields];

/** A decision of a policy. Create it with `veto` or `adjust`. */
export type Ruling =
  | { readonly kind: "veto"; readonly field: string; readonly message: string }
  | { readonly kind: "adjust"; readonly change: FieldChange; readonly message: string };

/** An operator's rule about deploys. */
export interface Policy {
  /** Appended to the message of each ruling. */
  readonly name: string;
  /**
   * Returns the rulings. An empty list, `null` and `undefined` mean no objection. Must be pure, because it runs for a
   * plan, before a deploy, and again during the deploy.
   */
  judge(question: PolicyQuestion): readonly Ruling[] | null | undefined;
}

/**
 * Rejects the deploy with 422. Policies run again during a deploy; a veto then ends the deploy with an error.
 * @param field the wire name, such as `volumes` or `memory`
 * @param message the problem and the fix; clients see it after the field's name
 */
export const veto = (field: keyof typeof deployFields, message: string): Ruling => ({ kind: "veto", field, message });

/**
 * Changes a field. The plan and the stream report the change.
 *
 * @example adjust("memory", 512 * 1024 * 1024, "this platform gives every service 512Mi")
 * @param field the name in `DeployDeclaration`; values use its units: memory in bytes, times in seconds
 */
export const adjust = <K extends keyof PolicyFields>(field: K, value: PolicyFields[K], message: string): Ruling => ({
  kind: "adjust",
  change: { field, value } as FieldChange,
  message,
});

/** The result of `applyPolicies`. */
export interface Ruled {
  readonly declaration: DeployDeclaration;
  /** In the order of the rulings. */
  readonly adjustments: readonly Adjustment[];
}

const adjustmentsBetween = (before: DeployDeclaration, after: DeployDeclaration, message: string): Adjustment[] =>
  changedFields(before, after).map(({ field, from, to }) => ({
    field,
    from: formatValue(from),
    to: formatValue(to),
    message,
  }));

const words = ({ name }: Policy, message: string): string => `${message} (policy '${name}')`;

/** Returns the rules that an adjusted declaration breaks, with the policy's name. */
const brokenBy = (policy: Policy, declaration: DeployDeclaration, context: DeclareContext): Issue[] => {
  const written = { ...writtenFields(declaration), function_name: declaration.name };
  const read = declareDeploy(written, { ...context, sourceOptional: true });
  return read.isOk() ? [] : read.error.map((one) => ({ ...one, message: words(policy, one.message) }));
};

/** Fields that a policy must not change. The types already exclude them, but a JavaScript caller has no types. */
const kept: readonly string[] = [
  "name",
  "writtenName",
  "source",
  "env",
  "secretReferences",
  "minInstances",
  "health",
  "idle",
  "message",
];

const isChange = ({ field, value }: FieldChange, declaration: DeployDeclaration): boolean =>
  Object.hasOwn(declaration, field) && !kept.includes(field) && typeof value === typeof declaration[field];

const failure = ({ name }: Policy, problem: string, cause?: unknown): Internal =>
  internal(`Policy '${name}' failed: ${problem}`, cause);

const rulingsOf = (policy: Policy, question: PolicyQuestion): Result<readonly Ruling[], Internal> => {
  try {
    const rulings = policy.judge(question) ?? [];
    return Array.isArray(rulings) ? ok(rulings) : err(failure(policy, "it did not return a list of rulings"));
  } catch (cause) {
    return err(failure(policy, cause instanceof Error ? cause.message : String(cause), cause));
  }
};

/**
 * Runs all policies in order. Fails with all vetoes and all rules that adjusted declarations break. Fails with
 * `internal` if a policy throws or returns an invalid ruling.
 */
export const applyPolicies = (
  policies: readonly Policy[],
  question: PolicyQuestion,
  context: DeclareContext,
): Result<Ruled, readonly Issue[] | Internal> => {
  let { declaration } = question;
  const adjustments: Adjustment[] = [];
  const issues: Issue[] = [];
  for (const policy of policies) {
    const before = declaration;
    const rulings = rulingsOf(policy, { ...question, declaration });
    if (rulings.isErr()) return err(rulings.error);
    for (const ruling of rulings.value) {
      const message = words(policy, ruling.message);
      if (ruling.kind === "veto") {
        issues.push(issue([ruling.field], message, "value_error"));
        continue;
      }
      if (!isChange(ruling.change, declaration))
        return err(failure(policy, `it made an invalid change to '${ruling.change.field}'`));
      const adjusted = { ...declaration, [ruling.change.field]: ruling.change.value };
      adjustments.push(...adjustmentsBetween(declaration, adjusted, message));
      declaration = adjusted;
    }
    // Validate all changes of a policy together, because one change may depend on another.
    if (declaration !== before) issues.push(...brokenBy(policy, declaration, context));
  }
  return issues.length > 0 ? err(issues) : ok({ declaration, adjustments });
};
