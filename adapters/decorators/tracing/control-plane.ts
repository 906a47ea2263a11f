/** A span for each use case; a deploy's lasts until its last record. */
import type { Attributes, Span } from "@opentelemetry/api";
import type { ControlPlane, DeployRun } from "../../../core/control-plane.ts";
import { wrapPort } from "../decorate-port.ts";
import { context, SpanStatusCode } from "./open-telemetry.ts";
import { beginSpan, noteError, spanned } from "./span.ts";

/** Answers that are there already, or that no request waits for. */
const untraced: readonly string[] = ["capabilities", "check", "countRequest", "close"];

/** Use cases begin with who asks, except for the one that finds that out. */
const callerOf = ([first]: readonly unknown[]): Attributes => {
  const account = (first as { account?: unknown } | undefined)?.account;
  return typeof account === "string" ? { "portside.account": account } : {};
};

/** The records as events of the span, which ends with the last of them. */
const follow = async (run: DeployRun, span: Span): Promise<void> => {
  span.setAttribute("portside.deploy_id", run.deployId);
  for await (const { status, message, reason, seq } of run.follow()) {
    span.addEvent(status, { "portside.message": message, "portside.seq": seq });
    if (reason === undefined) continue;
    span.setAttribute("error.type", reason);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
};

const tracedDeploy =
  (controlPlane: ControlPlane): ControlPlane["deploy"] =>
  (principal, request, options) => {
    const begun = beginSpan("portside.deploy", callerOf([principal]));
    if (begun === undefined) return controlPlane.deploy(principal, request, options);
    const { span, within } = begun;
    // What the run asks of its ports later is asked within this context as well, because it begins here.
    return context
      .with(within, () => controlPlane.deploy(principal, request, options))
      .andTee((run) => void follow(run, span))
      .orTee((error) => {
        noteError(span, error);
        span.end();
      });
  };

export const traceControlPlane = (controlPlane: ControlPlane): ControlPlane => {
  // A copy: what a proxy shows of a frozen object is the object's own.
  const traced = wrapPort({ ...controlPlane }, (name, call, args) =>
    untraced.includes(name) ? call(...args) : spanned(`portside.${name}`, callerOf(args), () => call(...args)),
  );
  return { ...traced, deploy: tracedDeploy(controlPlane) };
};
