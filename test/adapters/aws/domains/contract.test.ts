/** The store of domains fulfils its contract on AWS, which has domains only with an HTTPS listener. */
import { awsWith } from "../../../clouds/aws.ts";
import { openCloud } from "../../../clouds/cloud.ts";
import { contractTests, domainStoreCases, freshNames } from "../../../contracts/index.ts";
import { noneAdverse } from "../../../fakes/aws/adverse.ts";
import { nodeContractSources } from "../../../support/providers/contract-sources.ts";

const cloud = awsWith(noneAdverse, { scheme: "https" });

const start = async () => {
  const { ports, close } = await openCloud(cloud, "simulated");
  return { subject: { provider: ports.provider, sources: nodeContractSources, ...freshNames("aws") }, close };
};

const probe = await start();
await probe.close();
contractTests("aws domains", domainStoreCases, start, probe.subject.provider.capabilities);
