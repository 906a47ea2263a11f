/** Handlers of the deploy endpoints that take a multipart form or return a stream of records. */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ControlPlane, DeployRequest, DeployRun, ReceivedSource } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import { hangUp } from "../disconnects.ts";
import type { RedeployEndpoint } from "../endpoint.ts";
import { type ReadForm, readForm } from "./form.ts";

export type Handler = (request: FastifyRequest, reply: FastifyReply, principal: Principal) => Promise<unknown>;

export type SendError = (reply: FastifyReply, error: ControlPlaneError) => unknown;

async function* lines(reply: FastifyReply, run: DeployRun, after: number, signal: AbortSignal): AsyncGenerator<string> {
  // A client that has every record so far must receive the response headers now, not with the next record.
  reply.raw.flushHeaders();
  for await (const record of run.follow(after, signal)) yield `${JSON.stringify(record)}\n`;
}

/** Streams a deploy's records as they occur. A disconnect ends the stream, not the deploy. */
const streamRun = (reply: FastifyReply, run: DeployRun, after: number): unknown => {
  const closed = new AbortController();
  reply.raw.once("close", () => closed.abort());
  reply.header("content-type", "application/x-ndjson");
  reply.header("cache-control", "no-store");
  reply.header("x-accel-buffering", "no");
  return reply.send(
    Readable.from(lines(reply, run, after, closed.signal), { objectMode: false, highWaterMark: 16_384 }),
  );
};

const discard = async (archive: ReceivedSource | undefined): Promise<void> => {
  if (archive?.kind === "accepted") await archive.source.discard();
};

/**
 * Returns the error for a form whose file the control plane could not receive. Errors of the account and issues of the
 * request take precedence over the file's error.
 */
const formError = async (
  controlPlane: ControlPlane,
  principal: Principal,
  { fields, issues }: ReadForm,
  error: ControlPlaneError,
): Promise<ControlPlaneError> => {
  if (error.kind === "rate_limited") return error;
  const plan = await controlPlane.plan(principal, { fields, issues });
  return plan.isErr() ? plan.error : error;
};

/** Reads the form. Returns undefined if the client disconnected or this function has already sent an error response. */
const receiveForm = async (
  controlPlane: ControlPlane,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
  sendError: SendError,
): Promise<DeployRequest | undefined> => {
  const form: ReadForm | undefined = await readForm(request.raw, (bytes, signal) =>
    controlPlane.receiveSource(principal, bytes, { signal }),
  );
  if (form === undefined) {
    reply.hijack();
    return undefined;
  }
  if (form.unread) {
    reply.header("connection", "close");
    // Leaves the client half a second to read the response.
    reply.raw.once("finish", () => setTimeout(() => hangUp(request.raw), 500).unref());
  }
  if (form.error !== undefined) {
    await discard(form.archive);
    sendError(reply, await formError(controlPlane, principal, form, form.error));
    return undefined;
  }
  const { fields, issues, archive } = form;
  return { fields, issues, ...(archive === undefined ? {} : { archive }) };
};

export const deployHandler = (controlPlane: ControlPlane, sendError: SendError): Handler =>
  async function handle(request, reply, principal) {
    const form = await receiveForm(controlPlane, principal, request, reply, sendError);
    if (form === undefined) return reply;
    const run = await controlPlane.deploy(principal, form);
    return run.isErr() ? sendError(reply, run.error) : streamRun(reply, run.value, 0);
  };

export const planHandler = (controlPlane: ControlPlane, sendError: SendError): Handler =>
  async function handle(request, reply, principal) {
    const form = await receiveForm(controlPlane, principal, request, reply, sendError);
    if (form === undefined) return reply;
    const plan = await controlPlane.plan(principal, form);
    await discard(form.archive);
    return plan.isErr() ? sendError(reply, plan.error) : reply.send(plan.value);
  };

export const resumeHandler = (controlPlane: ControlPlane, sendError: SendError): Handler =>
  async function handle(request, reply, principal) {
    const query = request.query as Record<string, unknown>;
    const { deploy_id } = request.params as { deploy_id: string };
    // The control plane validates the value.
    const after = Object.hasOwn(query, "after") ? { after: query["after"] as number } : {};
    const found = await controlPlane.resumeDeploy(principal, { deploy_id, ...after });
    if (found.isErr()) return sendError(reply, found.error);
    return streamRun(reply, found.value.run, found.value.after);
  };

export const redeployHandler = (
  controlPlane: ControlPlane,
  { start }: RedeployEndpoint,
  sendError: SendError,
): Handler =>
  async function handle(request, reply, principal) {
    const run = await start(controlPlane, principal, (request.body ?? {}) as Record<string, unknown>);
    return run.isErr() ? sendError(reply, run.error) : streamRun(reply, run.value, 0);
  };
