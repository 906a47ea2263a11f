/** A fake Application Auto Scaling that stores targets and policies but scales nothing. Source: its client's model. */
import { ApplicationAutoScalingClient } from "@aws-sdk/client-application-auto-scaling";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";

const notFound = () =>
  new AwsError("ObjectNotFoundException", "No scalable target registered for service namespace: ecs");
const invalid = (message: string): never => {
  throw new AwsError("ValidationException", message);
};

/** `app/<name>/<id>/targetgroup/<name>/<id>` (PredefinedMetricSpecification). */
const LABEL = /^app\/[^/]+\/[^/]+\/targetgroup\/[^/]+\/[^/]+$/;

export const startFakeScaling = async () => {
  const faults = new Faults();
  const targets = new Map<string, Message>();
  const methods = {
    RegisterScalableTarget: ({ ResourceId, MinCapacity, MaxCapacity, ...rest }: Message) => {
      if (!/^service\/[^/]+\/[^/]+$/.test(ResourceId))
        invalid("Unsupported service namespace, resource type or scalable dimension");
      if (MinCapacity < 0) invalid("Minimum capacity cannot be negative");
      if (MinCapacity > MaxCapacity) invalid("Maximum capacity cannot be less than minimum capacity");
      targets.set(ResourceId, { ...targets.get(ResourceId), ...rest, ResourceId, MinCapacity, MaxCapacity });
      return {};
    },
    PutScalingPolicy: ({ ResourceId, TargetTrackingScalingPolicyConfiguration: tracking }: Message) => {
      const target = targets.get(ResourceId);
      // "Scalable target must be registered before": PutScalingPolicy, ObjectNotFoundException.
      if (target === undefined) throw notFound();
      if (!LABEL.test(tracking.PredefinedMetricSpecification.ResourceLabel ?? ""))
        invalid("ResourceLabel is not valid");
      target.policy = tracking;
      return { PolicyARN: "arn:aws:autoscaling:policy", Alarms: [] };
    },
    DeregisterScalableTarget: ({ ResourceId }: Message) => {
      if (!targets.delete(ResourceId)) throw notFound();
      return {};
    },
  };
  const server = await serveAws(faults, jsonProtocol(methods));
  const client = recorded("scaling", new ApplicationAutoScalingClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    endpoint: server.endpoint,
    targets: targets as ReadonlyMap<string, Message>,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
