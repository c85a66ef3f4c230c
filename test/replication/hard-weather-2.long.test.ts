import { testHardSeeds } from "./simulated-seeds.ts";

testHardSeeds(2);
