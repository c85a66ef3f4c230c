import { testPutBackSeeds } from "./simulated-seeds.ts";

testPutBackSeeds(1);
