/** `portside/simulation`: a simulated cloud with a simulated clock, and one deploy on it. Needs no test runner. */
export { type SimulatedDeploy, type SimulateOptions, simulateDeploy } from "./simulate-deploy.ts";
export {
  type CloudCall,
  createSimulatedCloud,
  type SimulatedCloud,
  type SimulatedCloudOptions,
} from "./simulated-cloud.ts";
