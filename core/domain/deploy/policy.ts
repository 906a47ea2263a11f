/**
 * An operator's own rules over deploys: pure functions that veto what is declared or change a field of it, with words.
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
 * They are asked in their order, each about what those before it made of the declaration. What they make of it has to
 * be something that a client could have declared: it is read by the same rules again.
 */
import { type Internal, internal } from "../../errors.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Principal } from "../accounts/account.ts";
import { type Issue, issue } from "../wire/issue.ts";
import { type DeclareContext, type DeployDeclaration, declareDeploy } from "./declaration.ts";
import type { deployFields } from "./fields.ts";
import { changedFields, said } from "./plan.ts";
import type { Adjustment } from "./resources.ts";
import { type Declared, type ServiceSpec, writtenFields } from "./service-template.ts";

/** What a policy may change: everything that is declared of the service but its name, its source and its environment. */
export type PolicyFields = Omit<Declared, "env">;

export interface PolicyQuestion {
  readonly declaration: DeployDeclaration;
  /** What serves under the name now, or was tried last; null where there is nothing. */
  readonly current: ServiceSpec | null;
  /** Who deploys. */
  readonly principal: Principal;
}

/** One field that is given another value. */
export type FieldChange = {
  readonly [K in keyof PolicyFields]: { readonly field: K; readonly value: PolicyFields[K] };
}[keyof PolicyFields];

export type Ruling =
  | { readonly kind: "veto"; readonly field: string; readonly message: string }
  | { readonly kind: "adjust"; readonly change: FieldChange; readonly message: string };

export interface Policy {
  /** Said with everything that it rules. */
  readonly name: string;
  /** Nothing where it has nothing to say. It must be pure: it is asked for a plan, before a deploy, and in its turn. */
  judge(question: PolicyQuestion): readonly Ruling[];
}

/**
 * Refuses the deploy: 422, or the end of one whose service has changed meanwhile.
 * @param field by its wire name, such as `volumes` or `memory`
 * @param message what is wrong and what would be right, as a client reads it behind the field
 */
export const veto = (field: keyof typeof deployFields, message: string): Ruling => ({ kind: "veto", field, message });

/**
 * Gives a field another value; the plan and the stream say so.
 * @param field by its name in `DeployDeclaration`; values as there: memory in bytes, times in seconds
 */
export const adjust = <K extends keyof PolicyFields>(field: K, value: PolicyFields[K], message: string): Ruling => ({
  kind: "adjust",
  change: { field, value } as FieldChange,
  message,
});

export interface Ruled {
  readonly declaration: DeployDeclaration;
  /** In the order in which they were made. */
  readonly adjustments: readonly Adjustment[];
}

const adjustmentsBetween = (before: DeployDeclaration, after: DeployDeclaration, message: string): Adjustment[] =>
  changedFields(before, after).map(({ field, from, to }) => ({ field, from: said(from), to: said(to), message }));

const words = ({ name }: Policy, message: string): string => `${message} (policy '${name}')`;

/** The rules that a declaration of a policy's making breaks. */
const brokenBy = (policy: Policy, declaration: DeployDeclaration, context: DeclareContext): Issue[] => {
  const written = { ...writtenFields(declaration), function_name: declaration.name };
  const read = declareDeploy(written, { ...context, sourceOptional: true });
  return read.isOk() ? [] : read.error.map((one) => ({ ...one, message: words(policy, one.message) }));
};

/** Fields that a policy may read and not change; the types say so, to those who have them. */
const kept: readonly string[] = ["name", "writtenName", "source", "env"];

const isChange = ({ field, value }: FieldChange, declaration: DeployDeclaration): boolean =>
  Object.hasOwn(declaration, field) && !kept.includes(field) && typeof value === typeof declaration[field];

const failure = ({ name }: Policy, problem: string, cause?: unknown): Internal =>
  internal(`Policy '${name}' failed: ${problem}`, cause);

const rulingsOf = (policy: Policy, question: PolicyQuestion): Result<readonly Ruling[], Internal> => {
  try {
    const rulings = policy.judge(question);
    return Array.isArray(rulings) ? ok(rulings) : err(failure(policy, "it returned no list of rulings"));
  } catch (cause) {
    return err(failure(policy, cause instanceof Error ? cause.message : String(cause), cause));
  }
};

/**
 * Asks each policy in turn. Fails with every veto and with every rule that an adjusted declaration breaks, or with
 * `internal` if a policy throws or returns something that is not a ruling.
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
        return err(failure(policy, `it gave '${ruling.change.field}' a value that the field cannot have`));
      const adjusted = { ...declaration, [ruling.change.field]: ruling.change.value };
      adjustments.push(...adjustmentsBetween(declaration, adjusted, message));
      declaration = adjusted;
    }
    // All that it has changed together: one change may need another.
    if (declaration !== before) issues.push(...brokenBy(policy, declaration, context));
  }
  return issues.length > 0 ? err(issues) : ok({ declaration, adjustments });
};
