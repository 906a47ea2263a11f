/** A span for each use case. The span of a deploy lasts until its last record. */
import type { Attributes, Span } from "@opentelemetry/api";
import type { ControlPlane, DeployRun } from "../../../core/control-plane.ts";
import { wrapPort } from "../decorate-port.ts";
import { context, SpanStatusCode } from "./open-telemetry.ts";
import { beginSpan, recordError, withSpan } from "./span.ts";

/** Calls that return immediately, that no request waits for, or that last until the client disconnects. */
const untraced: readonly string[] = [
  "capabilities",
  "check",
  "countRequest",
  "close",
  "followDeploy",
  "followLogs",
  "whenSignedOut",
];

/** Reads the account from the first argument, which is the principal in almost every use case. */
const callerOf = ([first]: readonly unknown[]): Attributes => {
  const account = (first as { account?: unknown } | undefined)?.account;
  return typeof account === "string" ? { "portside.account": account } : {};
};

/** Adds each record to the span as an event. Ends the span after the last record. */
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

const tracedRun =
  <A extends readonly unknown[]>(name: string, start: (...args: A) => ReturnType<ControlPlane["deploy"]>) =>
  (...args: A): ReturnType<ControlPlane["deploy"]> => {
    const active = beginSpan(`portside.${name}`, callerOf(args));
    if (active === undefined) return start(...args);
    const { span, within } = active;
    // The run starts inside this context, so its later port calls inherit the context.
    return context
      .with(within, () => start(...args))
      .andTee((run) => void follow(run, span))
      .orTee((error) => {
        recordError(span, error);
        span.end();
      });
  };

/**
 * Returns the control plane with a span around each use case. Without an OpenTelemetry SDK, calls run without spans.
 */
export const traceControlPlane = (controlPlane: ControlPlane): ControlPlane => {
  // A copy, because a proxy must return the original properties of a frozen object.
  const traced = wrapPort({ ...controlPlane }, (name, call, args) =>
    untraced.includes(name) ? call(...args) : withSpan(`portside.${name}`, callerOf(args), () => call(...args)),
  );
  return {
    ...traced,
    deploy: tracedRun("deploy", controlPlane.deploy),
    rollback: tracedRun("rollback", controlPlane.rollback),
    restartDeployment: tracedRun("restartDeployment", controlPlane.restartDeployment),
    setEnvironment: tracedRun("setEnvironment", controlPlane.setEnvironment),
  };
};
