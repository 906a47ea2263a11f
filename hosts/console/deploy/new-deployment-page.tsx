/** Deploys a service under a new name. */
import { lazy } from "../components/lazy.tsx";

const DeployForm = lazy(async () => (await import("./deploy-form.tsx")).DeployForm, "Loading the page…");

export const NewDeploymentPage = () => (
  <>
    <h1>New deployment</h1>
    <DeployForm current={undefined} />
  </>
);
