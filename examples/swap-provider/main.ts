/**
 * One variable selects where services run: `PORTSIDE_PROVIDER=memory|local|gcp|aws npm start`. The cloud providers
 * read their settings from the same environment variables as `portside serve`: see docs/providers/gcp.md and
 * docs/providers/aws.md.
 */
import { accountOf } from "portside";
import { buildPlatform, resolveSettings, SettingsError } from "portside/composition";

try {
  const settings = resolveSettings({}, process.env);
  const { controlPlane, close } = await buildPlatform(settings);
  const { cron, resources } = controlPlane.capabilities();
  console.log(`${settings.provider}: ${resources.length} sizes, cron up to ${cron.max_seconds} s`);
  const principal = { account: accountOf("demo"), credentialId: "swap" };
  const plan = await controlPlane.plan(principal, { fields: { function_name: "app", volumes: {}, memory: "8Gi" } });
  console.log(plan.isOk() ? plan.value.summary.join("\n") : plan.error.message);
  await close();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
