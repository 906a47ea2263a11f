/** Cloud Storage keeps every promise of the VolumeStore, on the loopback fake with all of its documented behaviour. */
import { contractTests, volumeObjectCases, volumeStoreCases } from "../../../contracts/index.ts";
import { startSubject, storageCapabilities } from "./subject.ts";

contractTests("Cloud Storage", [...volumeStoreCases, ...volumeObjectCases], startSubject, storageCapabilities);
