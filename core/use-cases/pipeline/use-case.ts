/**
 * The pipeline of every use case: parse the request, check the capability, authorize the caller, run.
 *
 * ```ts
 * export const revokeKey = useCase({
 *   fields: revokeKeyFields,
 *   run: ({ context, principal, input, options }) =>
 *     context.ports.identity.keys.revoke(principal.account, input.id, options),
 * });
 * ```
 *
 * The fixed order determines the error of a request with several faults: 422, then 501, then 403 or 404, then the
 * failures of the use case.
 */
import { isAccount, type Principal } from "../../domain/accounts/account.ts";
import { type Capabilities, type Feature, refusal } from "../../domain/wire/capabilities.ts";
import { type Fields, parseFields, type RawFields, type RequestFields, type Values } from "../../domain/wire/fields.ts";
import type { Issue } from "../../domain/wire/issue.ts";
import { type ControlPlaneError, internal, invalidInput } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../result.ts";
import { catchBugs } from "./catch-bugs.ts";
import type { Context } from "./context.ts";

/** The options of a call of a use case. */
export interface RequestOptions extends CallOptions {
  /**
   * Authenticates the request again. A use case that has waited calls this function before it returns, because the
   * credential may have become invalid.
   */
  readonly reauthenticate?: () => PromiseLike<Result<Principal, ControlPlaneError>>;
}

/** The principal of a call, with the context and the call's options. */
export interface Caller {
  readonly context: Context;
  readonly principal: Principal;
  readonly options: RequestOptions;
}

/** One call of a use case, after parsing. */
export interface Call<I> extends Caller {
  readonly input: I;
}

type StageResult<T> =
  | Result<T, ControlPlaneError>
  | ResultAsync<T, ControlPlaneError>
  | Promise<Result<T, ControlPlaneError>>;

interface Stages<I, R, T> {
  /** The required capability. The use case fails with `unsupported` if the provider lacks it. */
  readonly requires?: (capabilities: Capabilities) => Feature;
  /**
   * Fails if the principal lacks permission. Returns the resource that `run` uses, such as the account's own volume.
   */
  readonly authorize?: (call: Call<I>) => StageResult<R>;
  readonly run: (call: Call<I>, resource: R) => StageResult<T>;
}

interface Declaration<F extends Fields, X extends object, R, T> extends Stages<Values<F> & X, R, T> {
  readonly fields: F;
  /** A rule that involves several fields, as in `parseFields`. The values that it returns become part of the input. */
  readonly check?: (valid: Partial<Values<F>>, context: Context, raw: RawFields) => Result<X, readonly Issue[]>;
}

/** A use case that `bindUseCase` binds to a context. */
export type UseCase<A extends readonly unknown[], T> = (
  context: Context,
  principal: Principal,
  ...args: A
) => Promise<Result<T, ControlPlaneError>>;

const runStages = async <I, R, T>(
  { requires, authorize, run }: Stages<I, R, T>,
  call: Call<I>,
): Promise<Result<T, ControlPlaneError>> => {
  const unsupported = requires === undefined ? undefined : refusal(requires(call.context.ports.provider.capabilities));
  if (unsupported !== undefined) return err(unsupported);
  // `R` is undefined for a use case without `authorize`.
  const authorized = authorize === undefined ? ok(undefined as R) : await authorize(call);
  return authorized.isErr() ? err(authorized.error) : await run(call, authorized.value);
};

/** Declares a use case that parses the fields of a request. The error lists all issues of the request. */
export const useCase =
  <F extends Fields, T, X extends object = object, R = undefined>({
    fields,
    check,
    ...stages
  }: Declaration<F, X, R, T>): UseCase<[request: RequestFields<F>, options?: RequestOptions], T> =>
  async (context, principal, request, options = {}) => {
    const raw = request as RawFields;
    const input = parseFields(fields, raw, check && ((valid) => check(valid, context, raw)));
    if (input.isErr()) return err(invalidInput(input.error));
    return await runStages(stages, { context, principal, input: input.value, options });
  };

/** Declares a use case whose input is already parsed or does not consist of fields. */
export const parsedUseCase =
  <I, T, R = undefined>(stages: Stages<I, R, T>): UseCase<[input: I, options?: CallOptions], T> =>
  (context, principal, input, options = {}) =>
    runStages(stages, { context, principal, input, options });

/** Declares a use case whose only input is the account. */
export const accountUseCase =
  <T, R = undefined>(stages: Stages<undefined, R, T>): UseCase<[options?: CallOptions], T> =>
  (context, principal, options = {}) =>
    runStages(stages, { context, principal, input: undefined, options });

/**
 * Binds use cases to a context. A bound use case never throws: it logs a bug and fails with `internal`.
 *
 * Fails for a principal without a valid account, because all such principals would share one account.
 */
export const bindUseCase =
  (context: Context) =>
  <A extends readonly unknown[], T>(run: UseCase<A, T>) =>
  (principal: Principal, ...args: A): ResultAsync<T, ControlPlaneError> => {
    const call = async (): Promise<Result<T, ControlPlaneError>> => {
      const result = await catchBugs<T, ControlPlaneError>(async () =>
        isAccount(principal.account)
          ? await run(context, principal, ...args)
          : err(internal(`'${principal.account}' is not an account. Create accounts with accountOf().`)),
      );
      if (result.isErr() && result.error.kind === "internal") {
        const { message: bug, cause } = result.error;
        context.ports.logger.error("a use case failed with a bug", { bug, cause });
      }
      return result;
    };
    // Does not chain methods of ResultAsync: they allocate objects that live until the next full garbage collection.
    return new ResultAsync(catchBugs(call));
  };
