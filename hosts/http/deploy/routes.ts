/** The endpoints of a deploy that are not plain JSON: forms in, record streams out. */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ControlPlane, DeployRequest, DeployRun, ReceivedSource } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import { hangUp } from "../disconnects.ts";
import { type ReadForm, readForm } from "./form.ts";

/** How a handler answers a refusal. */
export type Refuse = (reply: FastifyReply, error: ControlPlaneError) => unknown;

async function* lines(reply: FastifyReply, run: DeployRun, after: number, signal: AbortSignal): AsyncGenerator<string> {
  // A client that has seen every record so far learns at once that it follows, not with the next record.
  reply.raw.flushHeaders();
  for await (const record of run.follow(after, signal)) yield `${JSON.stringify(record)}\n`;
}

/** Streams a run's records, each flushed as it happens; a client that hangs up ends the following, not the run. */
const streamRun = (reply: FastifyReply, run: DeployRun, after: number): unknown => {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  reply.header("content-type", "application/x-ndjson");
  reply.header("cache-control", "no-store");
  reply.header("x-accel-buffering", "no");
  return reply.send(Readable.from(lines(reply, run, after, gone.signal), { objectMode: false, highWaterMark: 16_384 }));
};

const discard = async (archive: ReceivedSource | undefined): Promise<void> => {
  if (archive?.kind === "kept") await archive.source.discard();
};

/**
 * Why a form whose file could not be taken is refused. That the provider cannot take it is the last thing to say:
 * what the request itself breaks comes first, what the account may not do comes before that.
 */
const refusalOf = async (
  controlPlane: ControlPlane,
  principal: Principal,
  { fields, issues }: ReadForm,
  error: ControlPlaneError,
): Promise<ControlPlaneError> => {
  if (error.kind === "rate_limited") return error;
  const plan = await controlPlane.plan(principal, { fields, issues });
  return plan.isErr() ? plan.error : error;
};

/** Reads the form; undefined where there is nobody left to answer, or an answer was given already. */
const takeForm = async (
  controlPlane: ControlPlane,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply,
  refuse: Refuse,
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
    // Once the answer is out there is nothing more to say to a client that is still sending.
    reply.raw.once("finish", () => setTimeout(() => hangUp(request.raw), 500).unref());
  }
  if (form.error !== undefined) {
    await discard(form.archive);
    refuse(reply, await refusalOf(controlPlane, principal, form, form.error));
    return undefined;
  }
  const { fields, issues, archive } = form;
  return { fields, issues, ...(archive === undefined ? {} : { archive }) };
};

export const deployHandler = (controlPlane: ControlPlane, refuse: Refuse) =>
  async function handle(request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<unknown> {
    const form = await takeForm(controlPlane, principal, request, reply, refuse);
    if (form === undefined) return reply;
    const run = await controlPlane.deploy(principal, form);
    return run.isErr() ? refuse(reply, run.error) : streamRun(reply, run.value, 0);
  };

export const planHandler = (controlPlane: ControlPlane, refuse: Refuse) =>
  async function handle(request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<unknown> {
    const form = await takeForm(controlPlane, principal, request, reply, refuse);
    if (form === undefined) return reply;
    const plan = await controlPlane.plan(principal, form);
    await discard(form.archive);
    return plan.isErr() ? refuse(reply, plan.error) : reply.send(plan.value);
  };

export const resumeHandler = (controlPlane: ControlPlane, refuse: Refuse) =>
  async function handle(request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<unknown> {
    const query = request.query as Record<string, unknown>;
    const { deploy_id } = request.params as { deploy_id: string };
    const after = Object.hasOwn(query, "after") ? { after: query["after"] } : {};
    const found = controlPlane.resumeDeploy(principal, { deploy_id, ...after });
    if (found.isErr()) return refuse(reply, found.error);
    return streamRun(reply, found.value.run, found.value.after);
  };
