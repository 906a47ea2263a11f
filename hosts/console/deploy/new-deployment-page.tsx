/** Deploys a service under a new name. */
import { lazy } from "../components/lazy.tsx";

const DeployForm = lazy(() => import("./deploy-form.tsx").then((module) => module.DeployForm));

export const NewDeploymentPage = () => (
  <>
    <h1>New deployment</h1>
    <DeployForm current={undefined} />
  </>
);
