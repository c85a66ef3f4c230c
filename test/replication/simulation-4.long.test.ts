import { testSeeds } from "./simulated-seeds.ts";

testSeeds(4);
